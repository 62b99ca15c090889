/*
 * Views: tensors that show another one in other dims. Where both may lie at one place,
 * they do, and nothing runs: whoever reads the view reads the bytes of its base, and the
 * passes after this one ask tensor_base().
 *
 * Where a view must lie (it is an output, or the gradient of a parameter), its base is
 * put there instead. If that has a place already, the node is left to a kernel, which
 * copies.
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

/* What an earlier compilation said. */
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
