#include "graph/recompute.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

struct pass {
    struct graph *g;
    struct tensor **copy; /* recomputed copy of each old tensor */
    bool *kept;           /* stays in memory from forward to backward */
    int ntensor, ncopied;
};

/* True for a tensor that outlives its own scope, or is in persistent memory. */
static bool is_kept(const struct graph *g, const struct tensor *t)
{
    const struct node *src = t->producer;

    if (!src || src->phase != PHASE_FORWARD || !src->scope)
        return true;
    if (t->root || t->memory != MEMORY_NONE)
        return true;
    for (int i = 0;; i++) {
        const struct node *n = tensor_reader(g, t, i);

        if (!n)
            return false;
        if (n->phase == PHASE_FORWARD &&
            (n->scope != src->scope || (n->op->view && is_kept(g, n->out[0]))))
            return true;
    }
}

static void append(struct graph *g, struct node *n)
{
    n->index = g->nnode;
    GROW(g->node, g->nnode, g->node_cap);
    g->node[g->nnode++] = n;
}

static struct tensor *recomputed(struct pass *p, struct tensor *t);

/* Copies `n` into the backward phase; its outputs are new tensors. */
static void copy_node(struct pass *p, const struct node *n)
{
    struct graph *g = p->g;
    struct node *c = arena_copy(&g->arena, n, sizeof(*n));

    c->phase = PHASE_BACKWARD;
    c->scope = 0;
    c->in = arena_new(&g->arena, (size_t)(n->nin + 1) * sizeof(*c->in));
    c->out = arena_new(&g->arena, (size_t)(n->nout + 1) * sizeof(*c->out));
    for (int i = 0; i < n->nin; i++)
        c->in[i] = recomputed(p, n->in[i]);
    for (int i = 0; i < n->nout; i++) {
        struct tensor *t = arena_copy(&g->arena, n->out[i], sizeof(*t));

        t->id = g->ntensor;
        t->producer = c;
        t->root = false;
        t->memory = MEMORY_NONE;
        t->offset = 0;
        t->statistic_of = NULL;
        GROW(g->tensor, g->ntensor, g->tensor_cap);
        g->tensor[g->ntensor++] = t;
        c->out[i] = t;
        p->copy[n->out[i]->id] = t;
    }
    append(g, c);
    p->ncopied++;
}

static struct tensor *recomputed(struct pass *p, struct tensor *t)
{
    if (t->id >= p->ntensor || p->kept[t->id])
        return t;
    if (!p->copy[t->id])
        copy_node(p, t->producer);
    return p->copy[t->id];
}

int recompute(struct graph *g)
{
    struct pass p = {.g = g, .ntensor = g->ntensor};
    struct node **old = g->node;
    int nold = g->nnode;

    p.copy = xcalloc((size_t)g->ntensor, sizeof(struct tensor *));
    p.kept = xcalloc((size_t)g->ntensor, sizeof(*p.kept));
    for (int i = 0; i < g->ntensor; i++)
        p.kept[i] = is_kept(g, g->tensor[i]);
    g->node = NULL;
    g->nnode = g->node_cap = 0;
    for (int i = 0; i < nold; i++) {
        if (old[i]->phase == PHASE_BACKWARD)
            for (int k = 0; k < old[i]->nin; k++)
                old[i]->in[k] = recomputed(&p, old[i]->in[k]);
        append(g, old[i]);
    }
    graph_changed(g);
    free(old);
    free(p.copy);
    free(p.kept);
    return p.ncopied;
}
