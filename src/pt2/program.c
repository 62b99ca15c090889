#include "pt2/program.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "io/json.h"
#include "io/pt2_file.h"

enum { SCHEMA_MAJOR = 8, LAYOUT_STRIDED = 7, DIM_MAX = 1 << 30 };

#define ELEMENTS_MAX ((uint64_t)1 << 40)

#define ARCHIVE "archive" /* key of the path in the text of a checkpoint */

struct parser {
    struct pt2_program *p;
    struct strbuf *why;
};

static const char *text_of(struct parser *c, json_t *v)
{
    const char *s = json_string_value(v);

    return s ? arena_strdup(&c->p->mem, s) : NULL;
}

static void *room(struct parser *c, size_t n, size_t each)
{
    return arena_new(&c->p->mem, (n + 1) * each);
}

/* Keeps the first reason. */
__attribute__((format(printf, 2, 3))) static bool refuse(struct parser *c,
                                                         const char *fmt, ...)
{
    char text[256];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (!c->why->len)
        strbuf_addstr(c->why, text);
    return false;
}

/* Returns the only member of an object, a tagged union, and sets its tag; or NULL. */
static json_t *tagged(json_t *v, const char **tag)
{
    void *it = json_object_size(v) == 1 ? json_object_iter(v) : NULL;

    *tag = it ? json_object_iter_key(it) : "";
    return it ? json_object_iter_value(it) : NULL;
}

/* ---- arguments ---- */

/* Parses a number: plain, or {"as_int": 3}, or {"as_name": "sym_size"}. */
static bool parse_int(struct parser *c, json_t *v, struct pt2_int *to)
{
    const char *tag;

    if (json_is_object(v)) {
        v = tagged(v, &tag);
        to->name = !strcmp(tag, "as_name") ? text_of(c, v) : NULL;
        if (to->name)
            return true;
    }
    to->value = json_integer_value(v);
    return json_is_integer(v);
}

static bool parse_ints(struct parser *c, json_t *list, struct pt2_arg *to)
{
    size_t n = json_array_size(list);

    to->kind = PT2_INTS;
    to->n = (int)n;
    to->ints = room(c, n, sizeof(*to->ints));
    for (size_t i = 0; i < n; i++)
        if (!parse_int(c, json_array_get(list, i), &to->ints[i]))
            return false;
    return json_is_array(list);
}

static bool parse_number(json_t *v, double *to)
{
    const char *s = json_string_value(v);

    *to = json_number_value(v);
    if (s && !strcmp(s, "Infinity"))
        *to = INFINITY;
    else if (s && !strcmp(s, "-Infinity"))
        *to = -INFINITY;
    else if (s && !strcmp(s, "NaN"))
        *to = NAN;
    else if (!json_is_number(v))
        return false;
    return true;
}

/* Parses {"name": "conv2d"}, or {"as_tensor": {"name": ...}}, or {"as_none": true}. */
static bool parse_name(struct parser *c, json_t *v, const char **to)
{
    const char *tag;

    *to = text_of(c, json_object_get(v, "name"));
    if (*to)
        return true;
    v = tagged(v, &tag);
    if (!strcmp(tag, "as_none"))
        return true;
    *to = !strcmp(tag, "as_tensor") ? text_of(c, json_object_get(v, "name")) : NULL;
    return *to != NULL;
}

static bool parse_names(struct parser *c, json_t *list, struct pt2_arg *to)
{
    size_t n = json_array_size(list);

    to->kind = PT2_TENSORS;
    to->n = (int)n;
    to->names = room(c, n, sizeof(*to->names));
    for (size_t i = 0; i < n; i++)
        if (!parse_name(c, json_array_get(list, i), &to->names[i]))
            return false;
    return json_is_array(list);
}

static bool parse_arg(struct parser *c, json_t *v, struct pt2_arg *to)
{
    const char *tag;

    v = tagged(v, &tag);
    *to = (struct pt2_arg){.kind = PT2_NONE};
    if (!strcmp(tag, "as_none"))
        return true;
    if (!strcmp(tag, "as_tensor")) {
        to->kind = PT2_TENSOR;
        return parse_name(c, v, &to->name) && to->name;
    }
    if (!strcmp(tag, "as_tensors") || !strcmp(tag, "as_optional_tensors"))
        return parse_names(c, v, to);
    if (!strcmp(tag, "as_int") || !strcmp(tag, "as_sym_int") ||
        !strcmp(tag, "as_scalar_type")) {
        to->kind = PT2_INT;
        to->n = 1;
        to->ints = room(c, 1, sizeof(*to->ints));
        return parse_int(c, v, to->ints);
    }
    if (!strcmp(tag, "as_ints") || !strcmp(tag, "as_sym_ints"))
        return parse_ints(c, v, to);
    if (!strcmp(tag, "as_float")) {
        to->kind = PT2_FLOAT;
        return parse_number(v, &to->number);
    }
    if (!strcmp(tag, "as_floats")) {
        to->kind = PT2_FLOATS;
        to->n = (int)json_array_size(v);
        to->floats = room(c, (size_t)to->n, sizeof(*to->floats));
        for (int i = 0; i < to->n; i++)
            if (!parse_number(json_array_get(v, (size_t)i), &to->floats[i]))
                return false;
        return json_is_array(v);
    }
    if (!strcmp(tag, "as_bool")) {
        to->kind = PT2_FLAG;
        to->flag = json_is_true(v);
        return json_is_boolean(v);
    }
    if (!strcmp(tag, "as_string")) {
        to->kind = PT2_TEXT;
        to->name = text_of(c, v);
        return to->name != NULL;
    }
    to->kind = PT2_OTHER;
    to->name = arena_strdup(&c->p->mem, tag);
    return *tag;
}

/* ---- nodes ---- */

/* Returns the module's path from "KEY,PATH,CLASS;KEY,PATH,CLASS": the last one. */
static const char *module_of(struct parser *c, json_t *metadata)
{
    const char *s = json_string_value(json_object_get(metadata, "nn_module_stack"));
    const char *last = s ? strrchr(s, ';') : NULL, *path;

    if (last)
        s = last + 1;
    path = s ? strchr(s, ',') : NULL;
    return path ? arena_printf(&c->p->mem, "%.*s", (int)strcspn(path + 1, ","), path + 1)
                : "";
}

static bool parse_node(struct parser *c, json_t *v, struct pt2_node *n)
{
    static const char torch[] = "torch.ops.";
    json_t *in = json_object_get(v, "inputs"), *out = json_object_get(v, "outputs");
    const char *target = json_string_value(json_object_get(v, "target"));
    const char *name = json_string_value(json_object_get(v, "name"));

    if (!target || !json_is_array(in) || !json_is_array(out))
        return refuse(c, "a node without target, inputs, or outputs");
    if (!strncmp(target, torch, sizeof(torch) - 1))
        target += sizeof(torch) - 1;
    n->target = arena_strdup(&c->p->mem, target);
    n->module = module_of(c, json_object_get(v, "metadata"));
    n->nin = (int)json_array_size(in);
    n->nout = (int)json_array_size(out);
    n->in = room(c, (size_t)n->nin, sizeof(*n->in));
    n->out = room(c, (size_t)n->nout, sizeof(*n->out));
    for (int i = 0; i < n->nin; i++) {
        json_t *one = json_array_get(in, (size_t)i);

        n->in[i].name = text_of(c, json_object_get(one, "name"));
        if (!parse_arg(c, json_object_get(one, "arg"), &n->in[i].arg))
            return refuse(c, "argument %d of a node '%s' is not read", i, target);
        if (!n->in[i].name)
            n->in[i].name = "";
    }
    for (int i = 0; i < n->nout; i++)
        if (!parse_arg(c, json_array_get(out, (size_t)i), &n->out[i]))
            return refuse(c, "result %d of a node '%s' is not read", i, target);
    n->name = name                                      ? arena_strdup(&c->p->mem, name)
              : n->nout && n->out[0].kind == PT2_TENSOR ? n->out[0].name
                                                        : n->target;
    return true;
}

static bool parse_nodes(struct parser *c, json_t *list)
{
    struct pt2_program *p = c->p;
    size_t n = json_array_size(list);

    if (!json_is_array(list))
        return refuse(c, "the graph has no nodes");
    p->node = room(c, n, sizeof(*p->node));
    for (; p->nnode < (int)n; p->nnode++)
        if (!parse_node(c, json_array_get(list, (size_t)p->nnode), &p->node[p->nnode]))
            return false;
    return true;
}

/* ---- values ---- */

static bool parse_meta(struct parser *c, const char *name, json_t *v)
{
    struct pt2_meta *m = room(c, 1, sizeof(*m));
    json_t *sizes = json_object_get(v, "sizes");
    size_t n = json_array_size(sizes);
    uint64_t all = 1;

    m->dtype = (int)json_integer_value(json_object_get(v, "dtype"));
    m->requires_grad = json_is_true(json_object_get(v, "requires_grad"));
    if (!json_is_array(sizes) || n > PT2_DIMS)
        return refuse(c, "the value '%s' has more than %d dims", name, PT2_DIMS);
    if (json_integer_value(json_object_get(v, "layout")) != LAYOUT_STRIDED)
        return refuse(c, "the value '%s' is sparse", name);
    m->ndim = (int)n;
    for (size_t i = 0; i < n; i++) {
        const char *tag;
        json_t *d = tagged(json_array_get(sizes, i), &tag);

        m->dim[i] = !strcmp(tag, "as_int") ? json_integer_value(d) : -1;
        if (m->dim[i] < (strcmp(tag, "as_int") ? -1 : 0) || m->dim[i] > DIM_MAX)
            return refuse(c, "a dim of the value '%s' is out of range", name);
        if (m->dim[i] > 0 &&
            (!checked_mul(all, (uint64_t)m->dim[i], &all) || all > ELEMENTS_MAX))
            return refuse(c, "the value '%s' is too large", name);
    }
    strmap_put(&c->p->meta, name, m);
    return true;
}

static bool parse_values(struct parser *c, json_t *values)
{
    const char *name;
    json_t *v;

    json_object_foreach(values, name, v)
    {
        if (!parse_meta(c, name, v))
            return false;
    }
    return json_is_object(values) || refuse(c, "the graph has no values");
}

/* ---- signature ---- */

static bool add_weight(struct parser *c, enum pt2_weight_kind kind, const char *value,
                       const char *name)
{
    struct pt2_program *p = c->p;
    struct pt2_weight *w = &p->weight[p->nweight];

    if (!value || !name)
        return refuse(c, "an input of the signature has no name");
    *w = (struct pt2_weight){.kind = kind,
                             .value = arena_strdup(&p->mem, value),
                             .name = arena_strdup(&p->mem, name),
                             .meta = pt2_program_meta(p, value)};
    p->nweight++;
    return w->meta || refuse(c, "the input '%s' has no type", value);
}

static bool parse_input(struct parser *c, json_t *spec)
{
    const char *tag, *kind;
    json_t *v = tagged(spec, &tag), *arg = json_object_get(v, "arg");
    const char *value = json_string_value(json_object_get(arg, "name"));

    if (!strcmp(tag, "parameter"))
        return add_weight(c, PT2_PARAMETER, value,
                          json_string_value(json_object_get(v, "parameter_name")));
    if (!strcmp(tag, "buffer") && json_is_true(json_object_get(v, "persistent")))
        return add_weight(c, PT2_BUFFER, value,
                          json_string_value(json_object_get(v, "buffer_name")));
    if (strcmp(tag, "user_input") != 0)
        return refuse(c, "an input of the kind '%s' (%s) is not supported yet", tag,
                      value ? value : "?");
    arg = tagged(arg, &kind);
    if (c->p->input || strcmp(kind, "as_tensor") != 0)
        return refuse(c, "it has other inputs than one tensor of images");
    c->p->input = text_of(c, json_object_get(arg, "name"));
    return c->p->input || refuse(c, "its input has no name");
}

static bool parse_output(struct parser *c, json_t *spec)
{
    const char *tag, *kind;
    json_t *v = tagged(spec, &tag);
    json_t *arg = tagged(json_object_get(v, "arg"), &kind);

    if (strcmp(tag, "user_output") != 0)
        return refuse(c, "an output of the kind '%s' is not supported", tag);
    if (c->p->output || strcmp(kind, "as_tensor") != 0)
        return refuse(c, "it has other outputs than one tensor of logits: export the "
                         "model without auxiliary heads");
    c->p->output = text_of(c, json_object_get(arg, "name"));
    return c->p->output || refuse(c, "its output has no name");
}

static bool parse_signature(struct parser *c, json_t *s)
{
    struct pt2_program *p = c->p;
    json_t *in = json_object_get(s, "input_specs"),
           *out = json_object_get(s, "output_specs");

    p->weight = room(c, json_array_size(in), sizeof(*p->weight));
    for (size_t i = 0; i < json_array_size(in); i++)
        if (!parse_input(c, json_array_get(in, i)))
            return false;
    for (size_t i = 0; i < json_array_size(out); i++)
        if (!parse_output(c, json_array_get(out, i)))
            return false;
    if (!p->input || !p->output)
        return refuse(c, "it has no input or no output");
    p->input_meta = pt2_program_meta(p, p->input);
    p->output_meta = pt2_program_meta(p, p->output);
    return (p->input_meta && p->output_meta) ||
           refuse(c, "its input or output has no type");
}

/* ---- the program ---- */

static bool check_version(struct parser *c, json_t *root)
{
    json_t *v = json_object_get(root, "schema_version");
    json_int_t major = json_integer_value(json_object_get(v, "major"));
    const char *torch = text_of(c, json_object_get(root, "torch_version"));

    c->p->torch = torch ? torch : "?";
    return major == SCHEMA_MAJOR ||
           refuse(c,
                  "its format has the version %lld, of PyTorch %s, and version %d is "
                  "supported: export it with PyTorch 2.9 to 2.15",
                  (long long)major, c->p->torch, SCHEMA_MAJOR);
}

static bool parse_root(struct parser *c, json_t *root)
{
    json_t *module = json_object_get(root, "graph_module"),
           *graph = json_object_get(module, "graph");

    return check_version(c, root) &&
           parse_values(c, json_object_get(graph, "tensor_values")) &&
           parse_signature(c, json_object_get(module, "signature")) &&
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

/* `path`: of the archive; NULL: the text says it. */
static struct pt2_program *parse(const char *path, const char *text, size_t len,
                                 struct strbuf *why)
{
    struct strbuf reason = STRBUF_INIT;
    struct parser c = {.p = xcalloc(1, sizeof(*c.p)), .why = &reason};
    json_t *root = json_parse(text, len, &reason);

    c.p->path = path ? arena_strdup(&c.p->mem, path)
                     : text_of(&c, json_object_get(root, ARCHIVE));
    if (root && c.p->path && parse_root(&c, root))
        c.p->text = compact(c.p, root);
    else if (!reason.len)
        strbuf_addstr(&reason, "it is no exported program");
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
    return parse(NULL, text, len, why);
}

struct pt2_program *pt2_program_read(const char *path, struct strbuf *why)
{
    struct strbuf text = STRBUF_INIT, reason = STRBUF_INIT;
    const struct safetensors_tensor *tied, *other;
    struct pt2_program *p = NULL;
    struct pt2_file file;

    if (!pt2_file_open(&file, path, why) &&
        !pt2_file_text(&file, "models/model.json", &text, why)) {
        tied = pt2_file_shared(&file, &other);
        if (tied)
            strbuf_addf(&reason, "'%s' and '%s' share memory, which is not supported yet",
                        tied->name, other->name);
        else
            p = parse(path, text.buf, text.len, &reason);
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
    arena_release(&p->mem);
    free(p->text);
    free(p);
}

const struct pt2_meta *pt2_program_meta(const struct pt2_program *p, const char *value)
{
    return strmap_get(&p->meta, value);
}
