#include "pt2/head.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/suggest.h"
#include "models/layers.h"

#define SUFFIX ".weight"

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);

    return n >= m && !strcmp(s + n - m, end);
}

static const struct pt2_node *maker_of(const struct pt2_program *p, const char *value)
{
    for (int i = 0; i < p->nnode; i++)
        for (int k = 0; k < p->node[i].nout; k++)
            if (p->node[i].out[k].kind == PT2_TENSOR &&
                !strcmp(p->node[i].out[k].name, value))
                return &p->node[i];
    return NULL;
}

/* Returns the name of a tensor argument, or NULL. */
static const char *operand(const struct pt2_node *n, const char *name)
{
    for (int i = 0; i < n->nin; i++)
        if (!strcmp(n->in[i].name, name) && n->in[i].arg.kind == PT2_TENSOR)
            return n->in[i].arg.name;
    return NULL;
}

/* True for a node that keeps the channels of its first argument apart, so that the layer
 * before it still computes one logit per channel. */
static bool passes_channels(const struct pt2_node *n)
{
    static const char *const rows[] = {
        "aten.view.default",          "aten.reshape.default",
        "aten.flatten.using_ints",    "aten.squeeze.dim",
        "aten.squeeze.dims",          "aten.mean.dim",
        "aten.relu.default",          "aten.relu_.default",
        "aten.dropout.default",       "aten.adaptive_avg_pool2d.default",
        "aten.avg_pool2d.default",    "aten.upsample_bilinear2d.vec",
        "aten.contiguous.default",    "aten.clone.default",
        "aten.upsample_nearest2d.vec"};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (!strcmp(n->target, rows[i]))
            return n->nin > 0 && n->in[0].arg.kind == PT2_TENSOR;
    return false;
}

static int64_t classes_of(const struct pt2_output *out)
{
    return out->meta->ndim > 1 ? out->meta->dim[1] : 0;
}

static const struct pt2_weight *weight_of(const struct pt2_program *p, const char *value)
{
    for (int i = 0; value && i < p->nweight; i++)
        if (!strcmp(p->weight[i].value, value))
            return &p->weight[i];
    return NULL;
}

/* Returns the layer that a node computes, with the classes of the program; its weight is
 * NULL if the node is no linear layer or convolution with a weight of its own. */
static struct pt2_head layer_of(const struct pt2_program *p, const struct pt2_node *n)
{
    struct pt2_head h = {.classes = classes_of(&p->output)};
    const struct pt2_weight *w;

    if (strcmp(n->target, "aten.linear.default") != 0 &&
        strcmp(n->target, "aten.conv2d.default") != 0)
        return h;
    w = weight_of(p, operand(n, "weight"));
    if (!w || w->meta->ndim < 2 || !ends_with(w->name, SUFFIX))
        return h;
    h.weight = w->value;
    h.bias = operand(n, "bias");
    h.layer = w->name;
    h.layer_len = (int)(strlen(w->name) - strlen(SUFFIX));
    return h;
}

static int64_t rows_of(const struct pt2_program *p, const struct pt2_head *h)
{
    const struct pt2_weight *w = weight_of(p, h->weight);

    return w ? w->meta->dim[0] : 0;
}

struct pt2_head pt2_head_of(const struct pt2_program *p, const struct pt2_output *out)
{
    struct pt2_head none = {.classes = classes_of(out)}, h;
    const struct pt2_node *n = maker_of(p, out->value);

    for (int i = 0; n && passes_channels(n) && i < p->nnode; i++)
        n = maker_of(p, n->in[0].arg.name);
    if (!n)
        return none;
    h = layer_of(p, n);
    h.classes = none.classes;
    return rows_of(p, &h) == h.classes ? h : none;
}

/* ---- by name ---- */

static bool is_named(const struct pt2_head *h, const char *name)
{
    return h->weight && (size_t)h->layer_len == strlen(name) &&
           !memcmp(h->layer, name, (size_t)h->layer_len);
}

/* Returns the layer of that name, if a node computes it; else its weight is NULL. */
static struct pt2_head find_layer(const struct pt2_program *p, const char *name)
{
    for (int i = 0; i < p->nnode; i++) {
        struct pt2_head h = layer_of(p, &p->node[i]);

        if (is_named(&h, name))
            return h;
    }
    return (struct pt2_head){0};
}

/* Gives a layer of an evaluation graph the values of the training graph p. */
static void adopt(struct pt2_head *h, const struct pt2_program *p,
                  const struct pt2_program *eval)
{
    const struct pt2_weight *w = weight_of(eval, h->weight),
                            *bias = weight_of(eval, h->bias);

    w = w ? pt2_weight_named(p, w->name, 0) : NULL;
    bias = bias ? pt2_weight_named(p, bias->name, 0) : NULL;
    h->weight = w ? w->value : NULL;
    h->bias = bias ? bias->value : NULL;
}

/* True if a parameter belongs to a module of that name. */
static bool has_module(const struct pt2_program *p, const char *name)
{
    const char *const layers[] = {name, NULL};

    for (int i = 0; i < p->nweight; i++)
        if (layers_contain(layers, p->weight[i].name))
            return true;
    return false;
}

/* Calls visit() with the name of each layer that has a row for each class, once. */
static int visit_layers(const struct pt2_program *p,
                        void (*visit)(void *arg, const char *name, int i), void *arg)
{
    int64_t classes = classes_of(&p->output);
    struct strmap seen = {0};
    int n = 0;

    for (int i = 0; i < p->nnode; i++) {
        struct pt2_head h = layer_of(p, &p->node[i]);
        char *name;

        if (!h.weight || rows_of(p, &h) != classes || strmap_has(&seen, h.weight))
            continue;
        strmap_put(&seen, h.weight, &seen);
        name = xstrndup(h.layer, (size_t)h.layer_len);
        visit(arg, name, n++);
        free(name);
    }
    strmap_release(&seen);
    return n;
}

static void add_name(void *text, const char *name, int i)
{
    strbuf_addf(text, "%s%s", i ? ", " : "", name);
}

int pt2_heads_list(const struct pt2_program *p, struct strbuf *text)
{
    return visit_layers(p, add_name, text);
}

/* The nearest name so far, which struct suggest points to. */
struct nearest {
    struct suggest suggest;
    struct strbuf best;
};

static void try_name(void *arg, const char *name, int i)
{
    struct nearest *s = arg;

    (void)i;
    suggest_try(&s->suggest, name);
    if (s->suggest.best != name)
        return;
    strbuf_reset(&s->best);
    strbuf_addstr(&s->best, name);
    s->suggest.best = s->best.buf;
}

/* Says why a name is not that of a head, and which layers could be one. */
static void refuse_name(const struct pt2_program *p, const char *name, int64_t rows,
                        struct strbuf *why)
{
    struct nearest s = {.best = STRBUF_INIT};
    struct strbuf list = STRBUF_INIT;
    long long classes = classes_of(&p->output);

    suggest_init(&s.suggest, name);
    visit_layers(p, try_name, &s);
    strbuf_addf(why, "'%s': ", p->path);
    if (rows)
        strbuf_addf(why, "its layer '%s' has %lld outputs, and its classes are %lld",
                    name, (long long)rows, classes);
    else if (has_module(p, name))
        strbuf_addf(why, "its layer '%s' is not a linear layer or convolution", name);
    else
        strbuf_addf(why, "there is no layer '%s'", name);
    if (s.suggest.best)
        strbuf_addf(why, " (did you mean %s?)", s.suggest.best);
    if (pt2_heads_list(p, &list))
        strbuf_addf(why, "; layers with %lld outputs: %s", classes, list.buf);
    strbuf_release(&list);
    strbuf_release(&s.best);
}

const struct pt2_head *pt2_heads_named(struct pt2_program *p,
                                       const struct pt2_program *eval,
                                       const struct str_list *names, struct strbuf *why)
{
    struct pt2_head *head = arena_new(&p->mem, (size_t)names->n * sizeof(*head));

    for (int i = 0; i < names->n; i++) {
        struct pt2_head *h = &head[i];
        int64_t rows;

        *h = find_layer(p, names->item[i]);
        if (!h->weight && eval != p) {
            *h = find_layer(eval, names->item[i]);
            if (h->weight)
                adopt(h, p, eval);
        }
        rows = rows_of(p, h);
        if (!rows || rows != classes_of(&p->output)) {
            refuse_name(p, names->item[i], rows, why);
            return NULL;
        }
    }
    return head;
}
