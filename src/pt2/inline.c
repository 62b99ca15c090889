#include "pt2/inline.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strmap.h"

/* A call of a region, and the names that its nodes define. */
struct call {
    json_t *graph, *nodes; /* nodes: where those of the region go */
    const char *prefix;
    struct strmap names;
    bool no_grad;
};

/* ---- names ---- */

static const char *name_of(json_t *arg)
{
    json_t *tensor = json_object_get(arg, "as_tensor");

    return json_string_value(tensor ? json_object_get(tensor, "name")
                                    : json_object_get(arg, "as_name"));
}

static void note(struct call *c, json_t *out)
{
    const char *name = name_of(out);
    json_t *one, *list = json_object_get(out, "as_tensors");
    size_t i;

    if (!name)
        name = json_string_value(json_object_get(out, "name"));
    if (name)
        strmap_put(&c->names, name, c);
    json_array_foreach(list, i, one)
    {
        note(c, one);
    }
}

static json_t *renamed(const struct call *c, const char *name)
{
    char *full = xasprintf("%s.%s", c->prefix, name);
    json_t *v = json_string(full);

    free(full);
    return v;
}

/* Renames {"name": OWN} and {"as_name": OWN} everywhere in v. */
static void rename_all(const struct call *c, json_t *v)
{
    static const char *const keys[] = {"name", "as_name"};
    const char *key;
    json_t *one;
    size_t i;

    json_array_foreach(v, i, one)
    {
        rename_all(c, one);
    }
    json_object_foreach(v, key, one)
    {
        rename_all(c, one);
    }
    for (i = 0; i < 2 && json_object_size(v) == 1; i++) {
        const char *name = json_string_value(json_object_get(v, keys[i]));

        if (name && strmap_has(&c->names, name))
            (void)json_object_set_new(v, keys[i], renamed(c, name));
    }
}

/* ---- nodes ---- */

/* Adds a node that gives a tensor another name. */
static void add_alias(const struct call *c, const char *target, const char *src,
                      const char *dst)
{
    (void)json_array_append_new(
        c->nodes,
        json_pack("{s:s, s:[{s:s, s:{s:{s:s}}, s:i}], s:[{s:{s:s}}], s:{}}", "target",
                  target, "inputs", "name", "self", "arg", "as_tensor", "name", src,
                  "kind", 1, "outputs", "as_tensor", "name", dst, "metadata"));
}

/* The region's inputs are the arguments of the call after the graph, `first` and on. */
static const char *bind_inputs(struct call *c, json_t *args, size_t first)
{
    json_t *in = json_object_get(c->graph, "inputs"), *one;
    size_t i;

    json_array_foreach(in, i, one)
    {
        const char *inner = name_of(one),
                   *outer =
                       name_of(json_object_get(json_array_get(args, first + i), "arg"));

        if (!inner || !outer)
            return "a region with inputs that are not tensors";
        if (json_object_get(one, "as_name"))
            return "a region with sizes as inputs";
        add_alias(c, "torch.ops.aten.alias.default", outer,
                  json_string_value(
                      json_object_get(json_object_get(one, "as_tensor"), "name")));
        note(c, one);
    }
    return NULL;
}

static const char *bind_outputs(struct call *c, json_t *outputs)
{
    json_t *src = json_object_get(c->graph, "outputs"),
           *first = json_array_get(outputs, 0),
           *list = json_object_get(first, "as_tensors"), *one;
    size_t i;

    json_array_foreach(src, i, one)
    {
        json_t *dst = json_array_get(list ? list : outputs, i);
        const char *inner = name_of(one),
                   *outer = list ? json_string_value(json_object_get(dst, "name"))
                                 : name_of(dst);
        char *full = inner && strmap_has(&c->names, inner)
                         ? xasprintf("%s.%s", c->prefix, inner)
                         : NULL;

        if (inner && outer)
            add_alias(c,
                      c->no_grad ? "torch.ops.aten.detach.default"
                                 : "torch.ops.aten.alias.default",
                      full ? full : inner, outer);
        free(full);
        if (!inner || !outer)
            return "a region with results that are not tensors";
    }
    return NULL;
}

/* Reads the graph, its name, and the flags of a call. Sets *after to the index of the first
 * argument after the graph. */
static const char *read_call(struct call *c, json_t *node, size_t *after)
{
    json_t *args = json_object_get(node, "inputs"), *one, *region = NULL;
    bool autocast =
        strstr(json_string_value(json_object_get(node, "target")), "autocast") != NULL;
    bool flag = false;
    size_t i;

    json_array_foreach(args, i, one)
    {
        json_t *arg = json_object_get(one, "arg");

        if (!region && json_object_get(arg, "as_graph")) {
            region = json_object_get(arg, "as_graph");
            *after = i + 1;
        }
        if (!region && json_object_get(arg, "as_bool"))
            flag = flag || json_is_true(json_object_get(arg, "as_bool"));
    }
    c->graph = json_object_get(region, "graph");
    c->prefix = json_string_value(json_object_get(region, "name"));
    c->no_grad = !autocast && !flag;
    if (!c->graph || !c->prefix)
        return "a region that is not read";
    return autocast && flag ? "a region in another precision (autocast)" : NULL;
}

static void note_results(struct call *c)
{
    json_t *nodes = json_object_get(c->graph, "nodes"), *one, *out;
    size_t i, k;

    json_array_foreach(nodes, i, one)
    {
        json_array_foreach(json_object_get(one, "outputs"), k, out)
        {
            note(c, out);
        }
    }
}

/* Adds the types of the region's values under their new names. */
static void add_values(const struct call *c, json_t *values)
{
    const char *name;
    json_t *one;

    json_object_foreach(json_object_get(c->graph, "tensor_values"), name, one)
    {
        char *full = xasprintf("%s.%s", c->prefix, name);

        (void)json_object_set(values, full, one);
        free(full);
    }
}

static const char *inline_call(json_t *node, json_t *nodes, json_t *values)
{
    struct call c = {.nodes = json_array()};
    json_t *one;
    size_t i, after = 0, inputs = 0;
    const char *wrong = read_call(&c, node, &after);

    if (!wrong)
        wrong = bind_inputs(&c, json_object_get(node, "inputs"), after);
    if (!wrong) {
        inputs = json_array_size(c.nodes);
        note_results(&c);
        wrong = bind_outputs(&c, json_object_get(node, "outputs"));
    }
    for (i = 0; i < inputs && !wrong; i++) {
        one = json_array_get(c.nodes, i);
        rename_all(&c, json_object_get(one, "outputs"));
        (void)json_array_append(nodes, one);
    }
    json_array_foreach(json_object_get(c.graph, "nodes"), i, one)
    {
        rename_all(&c, one);
        (void)json_array_append(nodes, one);
    }
    for (i = inputs; i < json_array_size(c.nodes) && !wrong; i++)
        (void)json_array_append(nodes, json_array_get(c.nodes, i));
    if (!wrong)
        add_values(&c, values);
    json_decref(c.nodes);
    strmap_release(&c.names);
    return wrong;
}

const char *pt2_inline(json_t *root)
{
    static const char wrap[] = "higher_order.wrap_with_";
    json_t *graph = json_object_get(json_object_get(root, "graph_module"), "graph"),
           *old = json_object_get(graph, "nodes"), *node, *nodes;
    const char *wrong = NULL;
    bool any = false;
    size_t i;

    json_array_foreach(old, i, node)
    {
        const char *t = json_string_value(json_object_get(node, "target"));

        any = any || (t && strstr(t, wrap));
    }
    if (!any)
        return NULL;
    nodes = json_array();
    json_array_foreach(old, i, node)
    {
        const char *t = json_string_value(json_object_get(node, "target"));

        if (wrong)
            continue;
        if (t && strstr(t, wrap))
            wrong = inline_call(node, nodes, json_object_get(graph, "tensor_values"));
        else
            (void)json_array_append(nodes, node);
    }
    (void)json_object_set_new(graph, "nodes", nodes);
    return wrong;
}
