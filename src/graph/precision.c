#include "graph/precision.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

struct pass {
    struct graph *g;
    const struct precision_rules *rules;
    struct builder b;
    enum amp_level level;
    enum dtype half;
    struct tensor **cast; /* copy of each tensor in the other type, created on demand */
    int ncast;
};

bool precision_layer_matches(const char *pattern, const char *layer)
{
    char *inside = xasprintf("%s.", layer);
    bool is = !fnmatch(pattern, layer, 0) || !fnmatch(pattern, inside, 0);

    free(inside);
    return is;
}

/* True if the layer matches one of the patterns; counts matches in `hits` if not NULL. */
static bool matches(const char *const *pattern, int n, const struct node *node, int *hits)
{
    bool any = false;

    for (int i = 0; i < n; i++) {
        bool hit = precision_layer_matches(pattern[i], node->layer);

        any |= hit;
        if (hits)
            hits[i] += hit;
    }
    return any;
}

/* True if t is a parameter, perhaps with other dims. */
static bool is_parameter(const struct tensor *t)
{
    while (t->producer && t->producer->op->view)
        t = t->producer->in[0];
    return t->kind == TENSOR_PARAM;
}

/* True if input i is fp32 whatever the node computes in. */
static bool input_is_f32(const struct node *n, int i)
{
    return (n->op->f32_in >> i & 1) ||
           (n->op->f32_params && is_parameter(n->in[i]));
}

/* Returns the type in which the node computes. */
static enum dtype compute_dtype(const struct pass *p, const struct node *n)
{
    enum precision class = n->op->precision;

    if (n->op->view)
        return n->in[0]->dtype;
    if (class == PRECISION_F32)
        return DTYPE_F32;
    if (n->phase != PHASE_UPDATE && matches(p->rules->f32, p->rules->nf32, n, NULL))
        return DTYPE_F32;
    if (n->phase != PHASE_UPDATE && matches(p->rules->half, p->rules->nhalf, n, NULL))
        return p->half;
    if (class == PRECISION_HALF || p->level >= AMP_O2)
        return p->half;

    enum dtype widest = DTYPE_F32;
    bool any = false;

    for (int i = 0; i < n->nin; i++) {
        const struct tensor *t = n->in[i];

        if (!tensor_is_float(t) || input_is_f32(n, i))
            continue;
        if (t->dtype == DTYPE_F32)
            return DTYPE_F32;
        widest = t->dtype;
        any = true;
    }
    return any ? widest : DTYPE_F32;
}

/* Returns `t` as `dtype`, inserting a cast node before `reader` if necessary. */
static struct tensor *as_dtype(struct pass *p, struct tensor *t, enum dtype dtype,
                               const struct node *reader)
{
    struct cast_attrs attrs = {.layer = reader->layer, .dtype = (int)dtype};

    if (t->dtype == dtype)
        return t;
    if (t->id < p->ncast && p->cast[t->id])
        return p->cast[t->id];
    p->b.phase = reader->phase;
    p->b.scope = reader->scope;

    struct tensor *c = node(&p->b, p->g->ops->cast, reader->layer, &attrs, &t, 1);

    if (t->id < p->ncast)
        p->cast[t->id] = c;
    return c;
}

/* Widens a gradient that must be fp32 in the flat region but was computed in 16 bits. */
static void widen_placed(struct pass *p, struct node *n)
{
    for (int i = 0; i < n->op->nout; i++) {
        struct tensor *t = n->out[i];

        if (t->memory != MEMORY_GRADS || t->dtype == DTYPE_F32)
            continue;

        struct tensor *c = as_dtype(p, t, DTYPE_F32, n);

        c->root = true;
        c->memory = t->memory;
        c->offset = t->offset;
        t->root = false;
        t->memory = MEMORY_NONE;
    }
}

static void convert(struct pass *p, struct node *n)
{
    enum dtype want = compute_dtype(p, n);

    if (n->op == p->g->ops->cast || n->phase == PHASE_UPDATE)
        want = DTYPE_F32;
    for (int i = 0; i < n->nin; i++)
        if (tensor_is_float(n->in[i]))
            n->in[i] = as_dtype(p, n->in[i], input_is_f32(n, i) ? DTYPE_F32 : want, n);
    for (int i = 0; i < n->op->nout; i++)
        if (tensor_is_float(n->out[i]))
            n->out[i]->dtype = n->op->f32_out >> i & 1 ? DTYPE_F32 : want;
}

static void count_hits(const struct graph *g, const struct precision_rules *r)
{
    for (int i = 0; i < g->nnode; i++) {
        const struct node *n = g->node[i];

        if (n->phase != PHASE_FORWARD || n->op->precision == PRECISION_F32 || n->op->view)
            continue;
        (void)matches(r->f32, r->nf32, n, r->f32_hits);
        (void)matches(r->half, r->nhalf, n, r->half_hits);
    }
}

void precision(struct graph *g, enum amp_level level, enum dtype half)
{
    precision_by_rules(g, level, half, &(struct precision_rules){0});
}

void precision_by_rules(struct graph *g, enum amp_level level, enum dtype half,
                        const struct precision_rules *rules)
{
    struct pass p = {.g = g, .rules = rules, .b = {.g = g}, .level = level, .half = half};
    struct node **old = g->node;
    int nold = g->nnode;

    count_hits(g, rules);
    if (level == AMP_O0)
        return;
    if (!dtype_is_half(half))
        BUG("%s is not a half type", dtype_name(half));
    p.ncast = g->ntensor;
    p.cast = xcalloc((size_t)g->ntensor, sizeof(struct tensor *));
    g->node = NULL; /* rebuilt with the casts */
    g->nnode = g->node_cap = 0;
    for (int i = 0; i < nold; i++) {
        convert(&p, old[i]);
        old[i]->index = g->nnode;
        GROW(g->node, g->nnode, g->node_cap);
        g->node[g->nnode++] = old[i];
        widen_placed(&p, old[i]);
    }
    graph_changed(g);
    free(old);
    free(p.cast);
}
