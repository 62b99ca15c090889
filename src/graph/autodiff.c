#include "graph/autodiff.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"

/* Contributions to the gradient of each tensor, until its producer is reached. */
struct autodiff {
    struct pending {
        struct tensor **part;
        int n, cap;
    } * pending;
    int ntensor; /* tensors of the forward part; later ones have no gradient */
};

/* Results of a node have gradients if one of its inputs has. */
static void mark_results(const struct node *n)
{
    bool wanted = false;

    for (int k = 0; k < n->nin && n->op->grad; k++)
        wanted |= n->in[k]->wants_grad;
    for (int k = 0; k < n->op->nout; k++)
        n->out[k]->wants_grad = wanted && tensor_is_float(n->out[k]);
}

static void mark_wanted(struct graph *g, int nnode)
{
    for (int i = 0; i < g->ntensor; i++)
        g->tensor[i]->wants_grad = g->tensor[i]->trainable;
    for (int i = 0; i < nnode; i++)
        mark_results(g->node[i]);
}

bool grad_wanted(const struct tensor *t)
{
    return t->wants_grad;
}

void grad_add(struct builder *b, struct tensor *t, struct tensor *gradient)
{
    struct autodiff *a = b->autodiff;

    if (!a || t->id >= a->ntensor)
        BUG("grad_add('%s') outside of the backward walk", t->name);
    if (!t->wants_grad)
        return;
    if (!tensor_same(t, gradient))
        BUG("the gradient '%s' of '%s' has another shape", gradient->name, t->name);

    struct pending *p = &a->pending[t->id];

    GROW(p->part, p->n, p->cap);
    p->part[p->n++] = gradient;
}

/* Sums the contributions so far; after this the gradient is final. */
struct tensor *grad_of(struct builder *b, const struct tensor *t)
{
    struct pending *p = &b->autodiff->pending[t->id];

    if (!p->n)
        return NULL;
    if (p->n > 1) {
        const char *layer = t->producer ? t->producer->layer : t->name;
        struct cast_attrs attrs = {.layer = layer};

        p->part[0] = node(b, b->g->ops->add, layer,
                          b->g->ops->add->attrs_size ? &attrs : NULL, p->part, p->n);
        p->n = 1;
    }
    return p->part[0];
}

/* Returns the op without a gradient between t and a tensor that wants one, or NULL. */
static const struct node *lost_gradient(const struct tensor *t)
{
    const struct node *p = t->producer, *lost = NULL;

    if (!p || p->op->grad || !tensor_is_float(t))
        return NULL;
    for (int k = 0; k < p->nin && !lost; k++)
        lost = p->in[k]->wants_grad ? p : lost_gradient(p->in[k]);
    return lost;
}

/* A gradient that is dropped on its way would be a wrong result without a word. */
static void check_inputs(const struct node *n)
{
    for (int k = 0; k < n->nin; k++) {
        const struct node *lost = lost_gradient(n->in[k]);

        if (lost)
            BUG("layer '%s': %s has no gradient, but '%s' depends on it", lost->layer,
                node_title(lost), n->layer);
    }
}

/* Differentiates the forward nodes from nnode - 1 down to `first`. */
static void walk_down(struct builder *b, int nnode, int first)
{
    for (int i = nnode; i-- > first;) {
        struct node *n = b->g->node[i];
        bool reached = false;

        if (n->phase != PHASE_FORWARD || !n->op->grad)
            continue;
        for (int k = 0; k < n->op->nout; k++) {
            struct tensor *t = n->out[k];

            if (!t->wants_grad)
                continue;
            t->grad = grad_of(b, t);
            reached |= t->grad != NULL;
        }
        if (reached) {
            check_inputs(n);
            n->op->grad(b, n);
        }
    }
}

/* The gradient of `t` must be a separate tensor that can be placed. */
static struct tensor *own_gradient(struct builder *b, struct tensor *t)
{
    struct tensor *g = grad_of(b, t);

    if (!g || (g->producer && g->memory == MEMORY_NONE && !g->root))
        return g;

    struct cast_attrs copy = {.layer = t->name, .dtype = DTYPE_F32};

    return node(b, b->g->ops->cast, t->name, &copy, &g, 1);
}

static void place_gradients(struct builder *b, size_t pos)
{
    for (int i = 0; i < b->autodiff->ntensor; i++) {
        struct tensor *t = b->g->tensor[i], *g = t->trainable ? own_gradient(b, t) : NULL;

        if (!g)
            continue;
        t->grad = g;
        if (t->kind != TENSOR_PARAM) {
            graph_output(b->g, t->grad);
            continue;
        }
        t->grad->root = true;
        t->grad->memory = MEMORY_GRADS;
        t->grad->offset = pos + t->offset;
    }
}

void autodiff(struct builder *b, struct tensor *loss, struct tensor *seed)
{
    autodiff_at(b, loss, seed, 0);
}

static void autodiff_begin(struct builder *b, struct autodiff *a)
{
    struct graph *g = b->g;

    if (!g->flat)
        BUG("autodiff comes after graph_flatten");
    *a = (struct autodiff){.ntensor = g->ntensor};
    a->pending = xcalloc((size_t)g->ntensor, sizeof(*a->pending));
    b->autodiff = a;
    b->phase = PHASE_BACKWARD;
}

static void autodiff_end(struct builder *b, struct autodiff *a, enum phase phase)
{
    b->phase = phase;
    b->autodiff = NULL;
    for (int i = 0; i < a->ntensor; i++)
        free(a->pending[i].part);
    free(a->pending);
}

void autodiff_at(struct builder *b, struct tensor *loss, struct tensor *seed, size_t pos)
{
    enum phase phase = b->phase;
    int nnode = b->g->nnode;
    struct autodiff a;

    autodiff_begin(b, &a);
    mark_wanted(b->g, nnode);
    if (loss->wants_grad) {
        grad_add(b, loss, seed);
        walk_down(b, nnode, 0);
        place_gradients(b, pos);
    }
    autodiff_end(b, &a, phase);
}

/* Marks the tensors between x and the results of the graph. */
static void mark_after(struct graph *g, struct tensor *x, int nnode)
{
    for (int i = 0; i < g->ntensor; i++)
        g->tensor[i]->wants_grad = false;
    x->wants_grad = true;
    for (int i = x->producer->index + 1; i < nnode; i++)
        mark_results(g->node[i]);
}

struct tensor *autodiff_between(struct builder *b, struct tensor *y, struct tensor *seed,
                                struct tensor *x)
{
    struct tensor *gradient = NULL;
    int nnode = b->g->nnode;
    enum phase phase = b->phase;
    struct autodiff a;

    if (!x->producer)
        BUG("'%s' is no result of a node", x->name);
    autodiff_begin(b, &a);
    mark_after(b->g, x, nnode);
    if (y->wants_grad) {
        grad_add(b, y, seed);
        walk_down(b, nnode, x->producer->index + 1);
        gradient = own_gradient(b, x);
    }
    autodiff_end(b, &a, phase);
    return gradient;
}
