/*
 * Views: tensors that show another one with other dims. If both may share memory, no
 * kernel runs: readers of the view read the bytes of its base, and later passes use
 * tensor_base().
 *
 * If a view has a fixed place (it is an output, or the gradient of a parameter), its base
 * is put there instead. If the base already has another place, a kernel copies.
 */
#include "graph/compile.h"

static bool is_placed(const struct tensor *t)
{
    return t->memory != MEMORY_NONE;
}

static void find_base(struct tensor *view, struct tensor *base)
{
    bool together = view->memory == base->memory && view->offset == base->offset;

    if (is_placed(view) && is_placed(base) && !together)
        return;
    if (is_placed(view) && !is_placed(base)) {
        base->memory = view->memory;
        base->offset = view->offset;
    }
    base->root |= view->root;
    view->alias_of = base;
}

/* Removes the results of an earlier compilation. */
static void forget(struct tensor *t)
{
    if (t->alias_of && !t->root)
        t->memory = MEMORY_NONE;
    t->alias_of = NULL;
}

void compile_views(struct graph *g)
{
    for (int i = 0; i < g->ntensor; i++)
        forget(g->tensor[i]);
    for (int i = 0; i < g->nnode; i++)
        if (g->node[i]->op->view)
            find_base(g->node[i]->out[0], tensor_base(g->node[i]->in[0]));
}
