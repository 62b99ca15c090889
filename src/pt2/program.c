#include "pt2/parser.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "io/json.h"
#include "io/pt2_file.h"
#include "pt2/images.h"
#include "pt2/inline.h"
#include "pt2/lifted.h"
#include "pt2/outputs.h"

enum { SCHEMA_MAJOR = 8, LAYOUT_STRIDED = 7, DIM_MAX = 1 << 30 };

#define ELEMENTS_MAX ((uint64_t)1 << 40)

/* Keys of the text of a checkpoint: the path; names of weights that are an earlier one. */
#define ARCHIVE "archive"
#define TIED    "tied"

/* ---- nodes ---- */

/* Returns the module's path from "KEY,PATH,CLASS;KEY,PATH,CLASS": the last one. */
static const char *module_of(struct pt2_parser *c, json_t *metadata)
{
    const char *s = json_string_value(json_object_get(metadata, "nn_module_stack"));
    const char *last = s ? strrchr(s, ';') : NULL, *path;

    if (last)
        s = last + 1;
    path = s ? strchr(s, ',') : NULL;
    return path ? arena_printf(&c->p->mem, "%.*s", (int)strcspn(path + 1, ","), path + 1)
                : "";
}

static bool parse_node(struct pt2_parser *c, json_t *v, struct pt2_node *n)
{
    static const char torch[] = "torch.ops.";
    json_t *in = json_object_get(v, "inputs"), *out = json_object_get(v, "outputs");
    const char *target = json_string_value(json_object_get(v, "target"));
    const char *name = json_string_value(json_object_get(v, "name"));

    if (!target || !json_is_array(in) || !json_is_array(out))
        return pt2_fail(c, "a node without target, inputs, or outputs");
    if (!strncmp(target, torch, sizeof(torch) - 1))
        target += sizeof(torch) - 1;
    n->target = arena_strdup(&c->p->mem, target);
    n->module = module_of(c, json_object_get(v, "metadata"));
    n->nin = (int)json_array_size(in);
    n->nout = (int)json_array_size(out);
    n->in = pt2_room(c, (size_t)n->nin, sizeof(*n->in));
    n->out = pt2_room(c, (size_t)n->nout, sizeof(*n->out));
    for (int i = 0; i < n->nin; i++) {
        json_t *one = json_array_get(in, (size_t)i);

        n->in[i].name = pt2_text_of(c, json_object_get(one, "name"));
        if (!pt2_parse_arg(c, json_object_get(one, "arg"), &n->in[i].arg))
            return pt2_fail(c, "argument %d of a node '%s' is not read", i, target);
        if (!n->in[i].name)
            n->in[i].name = "";
    }
    for (int i = 0; i < n->nout; i++)
        if (!pt2_parse_arg(c, json_array_get(out, (size_t)i), &n->out[i]))
            return pt2_fail(c, "result %d of a node '%s' is not read", i, target);
    n->name = name                                      ? arena_strdup(&c->p->mem, name)
              : n->nout && n->out[0].kind == PT2_TENSOR ? n->out[0].name
                                                        : n->target;
    return true;
}

static bool parse_nodes(struct pt2_parser *c, json_t *list)
{
    struct pt2_program *p = c->p;
    size_t n = json_array_size(list);

    if (!json_is_array(list))
        return pt2_fail(c, "the graph has no nodes");
    p->node = pt2_room(c, n, sizeof(*p->node));
    for (; p->nnode < (int)n; p->nnode++)
        if (!parse_node(c, json_array_get(list, (size_t)p->nnode), &p->node[p->nnode]))
            return false;
    return true;
}

/* ---- values ---- */

static bool parse_meta(struct pt2_parser *c, const char *name, json_t *v)
{
    struct pt2_meta *m = pt2_room(c, 1, sizeof(*m));
    json_t *sizes = json_object_get(v, "sizes");
    size_t n = json_array_size(sizes);
    uint64_t all = 1;

    m->dtype = (int)json_integer_value(json_object_get(v, "dtype"));
    m->requires_grad = json_is_true(json_object_get(v, "requires_grad"));
    if (!json_is_array(sizes) || n > PT2_DIMS)
        return pt2_fail(c, "the value '%s' has more than %d dims", name, PT2_DIMS);
    if (json_integer_value(json_object_get(v, "layout")) != LAYOUT_STRIDED)
        return pt2_fail(c, "the value '%s' is sparse", name);
    m->ndim = (int)n;
    for (size_t i = 0; i < n; i++) {
        const char *tag;
        json_t *d = pt2_tagged(json_array_get(sizes, i), &tag);

        m->dim[i] = !strcmp(tag, "as_int") ? json_integer_value(d) : -1;
        if (m->dim[i] < (strcmp(tag, "as_int") ? -1 : 0) || m->dim[i] > DIM_MAX)
            return pt2_fail(c, "a dim of the value '%s' is out of range", name);
        if (m->dim[i] > 0 &&
            (!checked_mul(all, (uint64_t)m->dim[i], &all) || all > ELEMENTS_MAX))
            return pt2_fail(c, "the value '%s' is too large", name);
    }
    strmap_put(&c->p->meta, name, m);
    return true;
}

static bool parse_values(struct pt2_parser *c, json_t *values)
{
    const char *name;
    json_t *v;

    json_object_foreach(values, name, v)
    {
        if (!parse_meta(c, name, v))
            return false;
    }
    return json_is_object(values) || pt2_fail(c, "the graph has no values");
}

/* ---- signature ---- */

static const char *tied_to(struct pt2_parser *c, const char *name)
{
    return pt2_text_of(c, json_object_get(c->tied, name));
}

static bool add_weight(struct pt2_parser *c, enum pt2_weight_kind kind, const char *value,
                       const char *name)
{
    struct pt2_program *p = c->p;
    struct pt2_weight *w = &p->weight[p->nweight];

    if (!value || !name)
        return pt2_fail(c, "an input of the signature has no name");
    *w = (struct pt2_weight){.kind = kind,
                             .value = arena_strdup(&p->mem, value),
                             .name = arena_strdup(&p->mem, name),
                             .tied = tied_to(c, name),
                             .meta = pt2_program_meta(p, value)};
    p->nweight++;
    return w->meta || pt2_fail(c, "the input '%s' has no type", value);
}

static bool parse_input(struct pt2_parser *c, json_t *spec)
{
    const char *tag, *kind;
    json_t *v = pt2_tagged(spec, &tag), *arg = json_object_get(v, "arg");
    const char *value = json_string_value(json_object_get(arg, "name"));

    if (!strcmp(tag, "parameter"))
        return add_weight(c, PT2_PARAMETER, value,
                          json_string_value(json_object_get(v, "parameter_name")));
    if (!strcmp(tag, "buffer"))
        return add_weight(
            c, json_is_true(json_object_get(v, "persistent")) ? PT2_BUFFER : PT2_CONSTANT,
            value, json_string_value(json_object_get(v, "buffer_name")));
    if (!strcmp(tag, "tensor_constant"))
        return add_weight(c, PT2_CONSTANT, value,
                          json_string_value(json_object_get(v, "tensor_constant_name")));
    if (strcmp(tag, "user_input") != 0)
        return pt2_fail(c, "an input of the kind '%s' (%s) is not supported yet", tag,
                        value ? value : "?");
    arg = pt2_tagged(arg, &kind);
    if (c->p->input || strcmp(kind, "as_tensor") != 0)
        return pt2_fail(c, "it has other inputs than one tensor of images");
    c->p->input = pt2_text_of(c, json_object_get(arg, "name"));
    return c->p->input || pt2_fail(c, "its input has no name");
}

static bool parse_signature(struct pt2_parser *c, json_t *root, json_t *s)
{
    struct pt2_program *p = c->p;
    json_t *in = json_object_get(s, "input_specs");

    p->weight = pt2_room(c, json_array_size(in), sizeof(*p->weight));
    for (size_t i = 0; i < json_array_size(in); i++)
        if (!parse_input(c, json_array_get(in, i)))
            return false;
    p->input_meta = p->input ? pt2_program_meta(p, p->input) : NULL;
    if (!p->input_meta)
        return pt2_fail(c, p->input ? "its input has no type" : "it has no input");
    return pt2_outputs_parse(c, root, json_object_get(s, "output_specs"));
}

/* ---- the program ---- */

static bool check_version(struct pt2_parser *c, json_t *root)
{
    json_t *v = json_object_get(root, "schema_version");
    json_int_t major = json_integer_value(json_object_get(v, "major"));
    const char *torch = pt2_text_of(c, json_object_get(root, "torch_version"));

    c->p->torch = torch ? torch : "?";
    return major == SCHEMA_MAJOR ||
           pt2_fail(c,
                    "its format has the version %lld, of PyTorch %s, and version %d is "
                    "supported: export it with PyTorch 2.6 to 2.15",
                    (long long)major, c->p->torch, SCHEMA_MAJOR);
}

static bool parse_additions(struct pt2_parser *c, json_t *root)
{
    const char *wrong = pt2_lifted_parse(c->p, root);

    if (!wrong)
        wrong = pt2_images_parse(c->p, root);
    return !wrong || pt2_fail(c, "%s", wrong);
}

static bool parse_root(struct pt2_parser *c, json_t *root)
{
    json_t *module = json_object_get(root, "graph_module"),
           *graph = json_object_get(module, "graph");

    c->tied = json_object_get(root, TIED);
    return check_version(c, root) &&
           parse_values(c, json_object_get(graph, "tensor_values")) &&
           parse_additions(c, root) &&
           parse_signature(c, root, json_object_get(module, "signature")) &&
           parse_nodes(c, json_object_get(graph, "nodes"));
}

/* Returns the program as JSON without stack traces and the like, most of its size, but
 * with the path of its archive. */
static char *compact(const struct pt2_program *p, json_t *root)
{
    static const char *const needless[] = {"stack_trace", "torch_fn", "from_node"};
    json_t *module = json_object_get(root, "graph_module"), *node;
    size_t i;

    (void)json_object_set_new(root, ARCHIVE, json_string(p->path));
    (void)json_object_del(module, "module_call_graph");
    (void)json_object_del(root, "guards_code");
    json_array_foreach(json_object_get(json_object_get(module, "graph"), "nodes"), i,
                       node)
    {
        for (size_t k = 0; k < sizeof(needless) / sizeof(needless[0]); k++)
            (void)json_object_del(json_object_get(node, "metadata"), needless[k]);
    }
    return json_dumps(root, JSON_COMPACT);
}

/* Adds the names of weights that share all of an earlier one. */
static void note_tied(json_t *root, const struct pt2_file *file)
{
    json_t *tied = json_object();

    for (size_t i = 0; i < file->n; i++) {
        const char *first = pt2_file_tied(file, &file->tensor[i]);

        if (first)
            (void)json_object_set_new(tied, file->tensor[i].name, json_string(first));
    }
    (void)json_object_set_new(root, TIED, tied);
}

/* `file`, `path`: the archive; NULL: the text says it. */
static struct pt2_program *parse(const struct pt2_file *file, const char *path,
                                 const char *text, size_t len, struct strbuf *why)
{
    struct strbuf reason = STRBUF_INIT;
    struct pt2_parser c = {.p = xcalloc(1, sizeof(*c.p)), .why = &reason};
    json_t *root = json_parse(text, len, &reason);

    c.p->path = path ? arena_strdup(&c.p->mem, path)
                     : pt2_text_of(&c, json_object_get(root, ARCHIVE));
    if (root && path) {
        const char *wrong = pt2_inline(root);

        if (wrong)
            strbuf_addstr(&reason, wrong);
    }
    if (root && path) {
        note_tied(root, file);
        pt2_outputs_embed(root);
    }
    if (root && path && !reason.len)
        (void)(pt2_images_embed(root, file, &reason) &&
               pt2_lifted_embed(root, path, &reason));
    if (root && !reason.len && c.p->path && parse_root(&c, root))
        c.p->text = compact(c.p, root);
    else if (!reason.len)
        strbuf_addstr(&reason, "it is not an exported program");
    json_decref(root);
    if (reason.len) {
        strbuf_addstr(why, reason.buf);
        pt2_program_free(c.p);
        c.p = NULL;
    }
    strbuf_release(&reason);
    return c.p;
}

struct pt2_program *pt2_program_parse(const char *text, size_t len, struct strbuf *why)
{
    return parse(NULL, NULL, text, len, why);
}

struct pt2_program *pt2_program_read(const char *path, struct strbuf *why)
{
    struct strbuf text = STRBUF_INIT, reason = STRBUF_INIT;
    const struct safetensors_tensor *tied, *other;
    struct pt2_program *p = NULL;
    struct pt2_file file;

    if (!pt2_file_open(&file, path, why) && !pt2_file_program(&file, &text, why)) {
        tied = pt2_file_shared(&file, &other);
        if (tied)
            strbuf_addf(&reason, "'%s' and '%s' share memory, which is not supported yet",
                        tied->name, other->name);
        else
            p = parse(&file, path, text.buf, text.len, &reason);
        if (!p)
            (void)input_refuse(&file.in, why, "%s", reason.buf);
    }
    pt2_file_close(&file);
    strbuf_release(&text);
    strbuf_release(&reason);
    return p;
}

void pt2_program_free(struct pt2_program *p)
{
    if (!p)
        return;
    strmap_release(&p->meta);
    strmap_release(&p->lifted);
    arena_release(&p->mem);
    free(p->text);
    free(p);
}

const struct pt2_meta *pt2_program_meta(const struct pt2_program *p, const char *value)
{
    return strmap_get(&p->meta, value);
}

const struct pt2_weight *pt2_weight_named(const struct pt2_program *p, const char *name,
                                          int hint)
{
    for (int i = 0; i < p->nweight; i++) {
        const struct pt2_weight *w = &p->weight[(hint + i) % p->nweight];

        if (w->kind != PT2_CONSTANT && !strcmp(w->name, name))
            return w;
    }
    return NULL;
}
