#include "ops/expr_registers.h"

#include <string.h>

enum { VALUES = EXPR_INPUTS + EXPR_INSTRUCTIONS, FOREVER = EXPR_INSTRUCTIONS + 1 };

struct assignment {
    int last[VALUES]; /* the last instruction that reads the value; -1: none */
    uint8_t reg[VALUES];
    bool taken[VALUES];
};

static void find_last_reads(const struct node *n, int *last)
{
    const struct expr_attrs *a = n->attrs;

    for (int v = 0; v < VALUES; v++)
        last[v] = -1;
    for (int i = 0; i < a->n; i++) {
        const struct expr_instruction *x = a->code + i;
        int operands = expr_opcode_operands(x->opcode);

        if (operands > 0)
            last[x->a] = i;
        if (operands > 1)
            last[x->b] = i;
        if (operands > 2)
            last[x->c] = i;
    }
    for (int k = 0; k < a->nout; k++)
        last[a->out[k]] = FOREVER;
}

static uint8_t take_register(struct assignment *s, struct expr_program *p)
{
    uint8_t r = 0;

    while (s->taken[r])
        r++;
    s->taken[r] = true;
    if (r >= p->registers)
        p->registers = r + 1;
    return r;
}

void expr_assign_registers(const struct node *n, struct expr_program *p)
{
    const struct expr_attrs *a = n->attrs;
    struct assignment s = {.taken = {false}};

    memset(p, 0, sizeof(*p));
    p->n = a->n, p->nin = n->nin, p->nout = a->nout;
    find_last_reads(n, s.last);
    for (int v = 0; v < n->nin; v++)
        p->in[v] = s.reg[v] = take_register(&s, p);
    for (int i = 0; i < a->n; i++) {
        const struct expr_instruction *x = a->code + i;
        struct expr_code *dst = p->code + i;

        *dst =
            (struct expr_code){x->opcode, 0, s.reg[x->a], s.reg[x->b], s.reg[x->c], x->m};
        for (int v = 0; v < n->nin + i; v++)
            if (s.last[v] == i)
                s.taken[s.reg[v]] = false;
        dst->dst = s.reg[n->nin + i] = take_register(&s, p);
    }
    for (int k = 0; k < a->nout; k++)
        p->out[k] = s.reg[a->out[k]];
}
