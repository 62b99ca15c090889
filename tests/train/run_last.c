#include "tests/train/run_last.h"

#include "graph/kernel.h"

void run_last(struct graph *g, void **in, void **out)
{
    const struct node *n = g->node[g->nnode - 1];
    struct step s = {.node = n, .in = in, .out = out, .nin = n->nin, .nout = n->nout};

    n->op->ref(&s);
}
