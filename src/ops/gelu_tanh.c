#include "ops/gelu_tanh.h"

#include "ops/expr.h"

static int count_gelus(const struct expr_attrs *a)
{
    int n = 0;

    for (int i = 0; i < a->n; i++)
        n += a->code[i].opcode == EXPR_GELU;
    return n;
}

int gelu_use_tanh(struct graph *g)
{
    int changed = 0;

    for (int i = 0; i < g->nnode; i++) {
        const struct expr_attrs *a = g->node[i]->attrs;
        int n = node_is_expr(g->node[i]) ? count_gelus(a) : 0;
        struct expr_attrs *other;

        if (!n)
            continue;
        other = arena_new(&g->arena, sizeof(*other));
        *other = *a;
        for (int k = 0; k < a->n; k++)
            if (a->code[k].opcode == EXPR_GELU)
                other->code[k].opcode = EXPR_GELU_TANH;
        g->node[i]->attrs = other;
        changed += n;
    }
    return changed;
}
