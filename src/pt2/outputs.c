#include "pt2/outputs.h"

#include <string.h>

enum { DEPTH_MAX = 8 }; /* of lists within lists */

#define OUTPUTS "outputs"

/* ---- names ---- */

/* Returns the keys of a dict: its context is a list of strings, as many as it has members;
 * or NULL. */
static json_t *keys_of(const json_t *spec)
{
    const char *text = json_string_value(json_object_get(spec, "context"));
    json_t *keys = text ? json_loads(text, 0, NULL) : NULL, *key;
    bool ok =
        json_is_array(keys) &&
        json_array_size(keys) == json_array_size(json_object_get(spec, "children_spec"));
    size_t i;

    json_array_foreach(keys, i, key) ok = ok && json_is_string(key);
    if (ok)
        return keys;
    json_decref(keys);
    return NULL;
}

/* Appends the names of the tensors below a node of PyTorch's description of the outputs. */
static void add_names(json_t *names, const json_t *spec, const char *path, int depth)
{
    json_t *members = json_object_get(spec, "children_spec"), *keys, *member;
    struct strbuf name = STRBUF_INIT;
    size_t i;

    if (json_is_null(json_object_get(spec, "type")) || depth == DEPTH_MAX) {
        (void)json_array_append_new(names, json_string(path));
        return;
    }
    keys = keys_of(spec);
    json_array_foreach(members, i, member)
    {
        strbuf_reset(&name);
        strbuf_addf(&name, "%s%s", path, *path ? "." : "");
        if (keys)
            strbuf_addstr(&name, json_string_value(json_array_get(keys, i)));
        else
            strbuf_addf(&name, "%zu", i);
        add_names(names, member, name.buf, depth + 1);
    }
    json_decref(keys);
    strbuf_release(&name);
}

void pt2_outputs_embed(json_t *root)
{
    const json_t *calls =
        json_object_get(json_object_get(root, "graph_module"), "module_call_graph");
    const json_t *signature = json_object_get(json_array_get(calls, 0), "signature");
    const char *text = json_string_value(json_object_get(signature, "out_spec"));
    json_t *spec = text ? json_loads(text, 0, NULL) : NULL, *names = json_array();

    if (json_is_object(json_array_get(spec, 1)))
        add_names(names, json_array_get(spec, 1), "", 0);
    (void)json_object_set_new(root, OUTPUTS, names);
    json_decref(spec);
}

/* ---- outputs ---- */

/* Sets an output; its value is NULL if it is None. */
static bool parse_output(struct pt2_parser *c, json_t *spec, struct pt2_output *out)
{
    const char *tag, *kind;
    json_t *v = pt2_tagged(spec, &tag);
    json_t *arg = pt2_tagged(json_object_get(v, "arg"), &kind);

    if (strcmp(tag, "user_output") != 0)
        return pt2_fail(c, "an output of the kind '%s' is not supported", tag);
    if (!strcmp(kind, "as_none"))
        return true;
    if (strcmp(kind, "as_tensor") != 0)
        return pt2_fail(c, "its output '%s' is not a tensor: export the model without it",
                        out->name);
    out->value = pt2_text_of(c, json_object_get(arg, "name"));
    out->meta = out->value ? pt2_program_meta(c->p, out->value) : NULL;
    return out->meta || pt2_fail(c, "its output '%s' has no name or no type", out->name);
}

static bool is_main(const struct pt2_output *out)
{
    return !strcmp(out->name, "out") || !strcmp(out->name, "logits");
}

/* Moves the logits out of the list of n outputs. */
static void choose(struct pt2_program *p, int n)
{
    int best = 0;

    for (int i = n - 1; i >= 0; i--)
        if (is_main(&p->aux[i]))
            best = i;
    p->output = p->aux[best];
    for (int i = best + 1; i < n; i++)
        p->aux[i - 1] = p->aux[i];
    p->naux = n - 1;
}

bool pt2_outputs_parse(struct pt2_parser *c, json_t *root, const json_t *specs)
{
    const json_t *names = json_object_get(root, OUTPUTS);
    size_t len = json_array_size(specs);
    int n = 0;

    c->p->aux = pt2_room(c, len, sizeof(*c->p->aux));
    for (size_t i = 0; i < len; i++) {
        struct pt2_output *out = &c->p->aux[n];
        const char *name = json_array_size(names) == len
                               ? pt2_text_of(c, json_array_get(names, i))
                               : NULL;

        *out =
            (struct pt2_output){.name = name ? name : arena_printf(&c->p->mem, "%zu", i)};
        if (!parse_output(c, json_array_get(specs, i), out))
            return false;
        n += out->value != NULL;
    }
    if (!n)
        return pt2_fail(c, "it has no output");
    choose(c->p, n);
    return true;
}

void pt2_add_dims(struct strbuf *text, const struct pt2_meta *m)
{
    strbuf_addch(text, '[');
    for (int d = 0; d < m->ndim; d++)
        if (m->dim[d] < 0)
            strbuf_addf(text, "%sN", d ? ", " : "");
        else
            strbuf_addf(text, "%s%lld", d ? ", " : "", (long long)m->dim[d]);
    strbuf_addch(text, ']');
}

/* ---- what they are computed from ---- */

static bool has(const struct strmap *values, const struct pt2_arg *a)
{
    if (a->kind == PT2_TENSOR)
        return strmap_has(values, a->name);
    for (int k = 0; a->kind == PT2_TENSORS && k < a->n; k++)
        if (a->names[k] && strmap_has(values, a->names[k]))
            return true;
    return false;
}

static void add(struct strmap *values, const struct pt2_arg *a, void *mark)
{
    if (a->kind == PT2_TENSOR)
        strmap_put(values, a->name, mark);
    for (int k = 0; a->kind == PT2_TENSORS && k < a->n; k++)
        if (a->names[k])
            strmap_put(values, a->names[k], mark);
}

/* True if a node makes, or writes in place, one of the values. */
static bool makes(const struct pt2_node *n, const struct strmap *values)
{
    const char *dot = strrchr(n->target, '.');

    for (int k = 0; k < n->nout; k++)
        if (has(values, &n->out[k]))
            return true;
    return dot && dot > n->target && dot[-1] == '_' && n->nin &&
           has(values, &n->in[0].arg);
}

void pt2_outputs_reach(const struct pt2_program *p, const char *output,
                       struct strmap *values)
{
    strmap_put(values, output, values);
    for (int i = p->nnode - 1; i >= 0; i--) {
        const struct pt2_node *n = &p->node[i];

        if (!makes(n, values))
            continue;
        for (int k = 0; k < n->nout; k++)
            add(values, &n->out[k], values);
        for (int k = 0; k < n->nin; k++)
            add(values, &n->in[k].arg, values);
    }
}
