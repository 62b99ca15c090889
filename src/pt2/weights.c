#include "pt2/weights.h"

#include <string.h>

#include "ops/init.h"
#include "pt2/host.h"
#include "pt2/place.h"

/* True if a convolution reads the value as its weight, so that it is stored as one. */
static bool is_kernel(const struct pt2_program *p, const char *value)
{
    for (int i = 0; i < p->nnode; i++) {
        const struct pt2_node *n = &p->node[i];

        if (strncmp(n->target, "aten.conv", 9) != 0)
            continue;
        for (int k = 0; k < n->nin; k++)
            if (n->in[k].arg.kind == PT2_TENSOR && !strcmp(n->in[k].name, "weight") &&
                !strcmp(n->in[k].arg.name, value))
                return true;
    }
    return false;
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);

    return n >= m && !strcmp(s + n - m, end);
}

/* How a parameter starts if no weights are loaded: PyTorch's rules for layers; a norm's
 * weight is 1. An archive has no rules of its own, only weights. */
static struct init init_of(const struct pt2_weight *w, const int64_t *dim)
{
    int64_t fan = 1;

    for (int d = 1; d < w->meta->ndim; d++)
        fan *= dim[d];
    if (w->meta->ndim > 1)
        return init_rule_init(INIT_RULE_PYTORCH, fan, dim[0]);
    return (struct init){ends_with(w->name, "weight") ? INIT_CONSTANT : INIT_ZERO,
                         ends_with(w->name, "weight") ? 1 : 0};
}

static bool is_of(const struct pt2_head *h, const char *value)
{
    return (h->weight && !strcmp(h->weight, value)) ||
           (h->bias && !strcmp(h->bias, value));
}

static bool is_head(const struct pt2_import *c, const char *value)
{
    bool is = !c->named && is_of(&c->head, value);

    for (int i = 0; i < c->naux && !c->named; i++)
        is |= is_of(&c->aux[i], value);
    for (int i = 0; i < c->nnamed; i++)
        is |= is_of(&c->named[i], value);
    return is;
}

static bool is_tied_to(const struct pt2_weight *w, const struct pt2_weight *first)
{
    return w->tied && !strcmp(w->tied, first->name);
}

/* True if a node reads the weight by one of its names. */
static bool is_tied_read(const struct pt2_import *c, const struct pt2_weight *first)
{
    bool read = pt2_is_read(c, first->value);

    for (int i = 0; i < c->p->nweight && !read; i++)
        read =
            is_tied_to(&c->p->weight[i], first) && pt2_is_read(c, c->p->weight[i].value);
    return read;
}

/* Gives the parameter of a weight the other names in the state dict. */
static void name_tied(struct pt2_import *c, const struct pt2_weight *first,
                      struct tensor *t)
{
    const char **also = NULL;

    for (int i = 0; i < c->p->nweight; i++) {
        if (!is_tied_to(&c->p->weight[i], first))
            continue;
        if (!also)
            also = arena_new(&c->b->g->arena, (size_t)c->p->nweight * sizeof(*also));
        also[t->nalso++] = c->p->weight[i].name;
    }
    t->also = also;
}

/* A weight that is an earlier one. */
static void make_tied(struct pt2_import *c, const struct pt2_weight *w)
{
    for (int i = 0; i < c->p->nweight; i++) {
        const struct pt2_value *v = strmap_get(&c->value, c->p->weight[i].value);

        if (strcmp(c->p->weight[i].name, w->tied) != 0 || !v)
            continue;
        if (is_head(c, w->value) && c->classes != c->head.classes)
            pt2_refuse(c, "its last layer shares its weights, so that its classes cannot "
                          "be changed");
        (void)pt2_keep(c, w->value, *v);
        return;
    }
    pt2_refuse(c, "'%s' shares memory with '%s', which is not a weight", w->name,
               w->tied);
}

static struct tensor *make_param(struct pt2_import *c, const struct pt2_weight *w,
                                 const char *layer, const char *suffix,
                                 const int64_t *dim)
{
    bool image = w->meta->ndim == 4 && is_kernel(c->p, w->value);
    struct tensor *t =
        graph_param(c->b, layer, suffix, image ? LAYOUT_IMAGE : LAYOUT_PLAIN,
                    w->meta->ndim, dim, init_of(w, dim));

    name_tied(c, w, t);
    if (!w->meta->requires_grad || !is_tied_read(c, w)) {
        t->frozen = true;
        t->trainable = t->held = false;
    }
    return t;
}

/* Splits a name in the state dict into layer and suffix. */
static const char *layer_of(struct pt2_import *c, const char *name, const char **suffix)
{
    const char *dot = strrchr(name, '.');

    *suffix = dot ? dot + 1 : name;
    return arena_printf(&c->b->g->arena, "%.*s", dot ? (int)(dot - name) : 0, name);
}

/* A tensor whose numbers are part of the program. One of the state dict is a buffer, too. */
static void make_constant(struct pt2_import *c, const struct pt2_weight *w)
{
    const struct pt2_lifted *l = strmap_get(&c->p->lifted, w->value);
    struct pt2_value v = pt2_host_new(c, w->meta->dtype, w->meta->ndim, w->meta->dim);
    const char *suffix, *layer = layer_of(c, w->name, &suffix);

    if (c->why->len || l->len != v.host->len)
        return;
    memcpy(v.host->data, l->data, (size_t)l->len * sizeof(*l->data));
    if (!c->evaluation && w->kind == PT2_BUFFER && w->meta->ndim <= TENSOR_DIMS)
        graph_buffer(c->b, layer, suffix, w->meta->ndim, w->meta->dim,
                     (struct init){INIT_ZERO, 0})
            ->integer = true;
    (void)pt2_keep(c, w->value, v);
}

static void make_weight(struct pt2_import *c, const struct pt2_weight *w)
{
    const char *suffix, *layer = layer_of(c, w->name, &suffix);
    bool counter = ends_with(w->name, "num_batches_tracked") && !w->meta->ndim;
    int64_t dim[PT2_DIMS] = {1};
    struct pt2_value v;

    if (w->tied) {
        make_tied(c, w);
        return;
    }
    if (strmap_has(&c->p->lifted, w->value)) {
        make_constant(c, w);
        return;
    }
    pt2_dims(dim, w->meta->dim, w->meta->ndim);
    if (is_head(c, w->value))
        dim[0] = c->classes;
    if (w->meta->ndim > TENSOR_DIMS)
        pt2_refuse(c, "'%s' has %d dims", w->name, w->meta->ndim);
    else if (w->meta->dtype != (counter ? PT2_I64 : PT2_F32))
        pt2_refuse(c, "'%s' is not a tensor of floats, which is not supported yet",
                   w->name);
    for (int d = 0; d < w->meta->ndim; d++)
        if (dim[d] < 1)
            pt2_refuse(c, "'%s' is empty, or has no fixed dims", w->name);
    if (c->why->len)
        return;
    v = pt2_value_of(
        w->kind == PT2_PARAMETER
            ? make_param(c, w, layer, suffix, dim)
            : graph_buffer(c->b, layer, suffix, w->meta->ndim, dim,
                           (struct init){ends_with(w->name, "running_var") ? INIT_CONSTANT
                                                                           : INIT_ZERO,
                                         1}));
    v.memory = ++c->memories;
    (void)pt2_keep(c, w->value, v);
}

void pt2_weights_make(struct pt2_import *c)
{
    const struct pt2_program *p = c->p;

    for (int tied = 0; tied < 2; tied++) /* the first of tied weights before the others */
        for (int i = 0; i < p->nweight && !c->why->len; i++)
            if (!p->weight[i].tied == !tied)
                make_weight(c, &p->weight[i]);
}

/* ---- an evaluation graph ---- */

static bool same_layer(const struct pt2_head *a, const struct pt2_head *b)
{
    return a->weight && b->weight && a->layer_len == b->layer_len &&
           !memcmp(a->layer, b->layer, (size_t)a->layer_len);
}

void pt2_weights_adopt(struct pt2_import *c, const struct pt2_program *p)
{
    const struct pt2_program *training = c->p;
    struct pt2_head head = pt2_head_of(p, &p->output);
    struct strmap made = c->value;

    if (c->classes != c->head.classes && !c->named && !same_layer(&c->head, &head))
        pt2_refuse(c,
                   "its last layer is not that of the training graph, so that its "
                   "classes cannot be changed%s",
                   pt2_name_heads(c));
    c->value = (struct strmap){0};
    c->p = p;
    c->head = head;
    c->naux = 0;
    c->evaluation = true;
    pt2_note_reads(c);
    for (int i = 0; i < p->nweight && !c->why->len; i++) {
        const struct pt2_weight *w = &p->weight[i],
                                *trained = pt2_weight_named(training, w->name, i);
        const struct pt2_value *v = trained ? strmap_get(&made, trained->value) : NULL;

        if (strmap_has(&p->lifted, w->value))
            make_constant(c, w);
        else if (v)
            (void)pt2_keep(c, w->value, *v);
        else
            pt2_refuse(c, "the training graph has no '%s'", w->name);
    }
    strmap_release(&made);
}
