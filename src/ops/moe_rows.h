/*
 * moe_dispatch and moe_combine: the rows of tokens at the slots of experts, and back, by
 * the results of moe_route (ops/moe_route.h).
 *
 *   y = moe_dispatch(&b, x, NULL, &slots, "mlp.dispatch")
 *       y[s] = x[token[s] / top]                     0 if the slot is empty
 *   z = moe_combine(&b, y, gate, &slots, "mlp.combine")
 *       z[t] = sum over k of gate[t, k] y[slot[t, k]]     without dropped ones
 *
 * x and z are [tokens, C], y is plain [experts, capacity, C], gate is fp32 [tokens, top]
 * or NULL: all 1; moe_dispatch multiplies the row of slot s by gate[token[s]]. Each is the
 * gradient of the other. The gradient of combine's gates is moe_gate_grad,
 *
 *   dgate[t, k] = sum over c of dz[t, c] y[slot[t, k], c]     0 if dropped
 *
 * Rows are of 16 bits in mixed precision, gates and their gradients fp32.
 */
#ifndef OPS_MOE_ROWS_H
#define OPS_MOE_ROWS_H

#include "graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

struct moe_rows_attrs {
    const char *layer;
    int experts, capacity;
};

/* All but moe_gate_grad, which has no gates; X: the rows that move. */
enum { MOE_ROWS_X, MOE_ROWS_SLOT, MOE_ROWS_TOKEN, MOE_ROWS_GATE };
enum { MOE_GATE_GRAD_DZ, MOE_GATE_GRAD_Y, MOE_GATE_GRAD_SLOT };

struct moe_slots {
    struct tensor *slot, *token;
    int experts, capacity;
};

struct tensor *moe_dispatch(struct builder *b, struct tensor *x, struct tensor *gate,
                            const struct moe_slots *s, const char *layer);
struct tensor *moe_combine(struct builder *b, struct tensor *y, struct tensor *gate,
                           const struct moe_slots *s, const char *layer);

extern const struct op op_moe_dispatch, op_moe_combine, op_moe_gate_grad;

#ifdef __cplusplus
}
#endif

#endif
