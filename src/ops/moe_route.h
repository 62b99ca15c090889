/*
 * moe_route: sends tokens to the experts of a mixture (Shazeer et al. 2017, arXiv
 * 1701.06538), as Tutel's extract_critical (tutel/impls/fast_dispatch.py) does.
 *
 *   slot = moe_route(&b, scores, "mlp.route", .top = 2, .capacity = 40, .prioritized = 1)
 *
 * scores is plain fp32 [..., experts], a row per token. Token t goes to the `top` experts
 * of its greatest scores, best first; of equal scores the first expert's counts as greater,
 * and NaN as greatest. An expert takes `capacity` tokens: all first choices before all
 * second ones, and among those, in the order of the tokens or, if `prioritized`, of their
 * greatest scores (Riquelme et al. 2021, arXiv 2106.05974). Later ones are dropped.
 *
 * Results of moe_route_node(), without gradients:
 *
 *   slot   int32 [tokens, top]: expert * capacity + place; -1 - expert if dropped
 *   token  int32 [experts * capacity]: the element t * top + k of slot that has this
 *          slot; -1 if the slot is empty
 *   first  fp32 [experts]: tokens whose first choice the expert is, dropped ones included
 *
 * moe_pick: y[t, k] = x[t, expert of slot[t, k]], fp32 [tokens, top]: the scores of the
 * chosen experts. Its gradient is zero for the others.
 */
#ifndef OPS_MOE_ROUTE_H
#define OPS_MOE_ROUTE_H

#include "base/hostdev.h"
#include "graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

struct moe_route_attrs {
    const char *layer;
    int top, capacity;
    int prioritized; /* 1: see above */
};

enum { MOE_ROUTE_SLOT, MOE_ROUTE_TOKEN, MOE_ROUTE_FIRST, MOE_ROUTE_OUT };

#define moe_route(b, scores, ...)                                                        \
    moe_route_((b), (scores), &(const struct moe_route_attrs){.layer = __VA_ARGS__})
/* Returns the node with the three results. */
struct node *moe_route_(struct builder *b, struct tensor *scores,
                        const struct moe_route_attrs *a);

struct moe_pick_attrs {
    const char *layer;
    int capacity; /* of the slots */
    int experts;  /* set by the builder */
};

enum { MOE_PICK_X, MOE_PICK_SLOT };
enum { MOE_PICK_GRAD_DY, MOE_PICK_GRAD_SLOT };

/* x as the scores, slot from moe_route with this capacity. */
struct tensor *moe_pick(struct builder *b, struct tensor *x, struct tensor *slot,
                        int capacity, const char *layer);

extern const struct op op_moe_route, op_moe_pick, op_moe_pick_grad;

/* True if value a of index i comes before value b of index j: it is greater, or equal and
 * i < j. NaN is greater than all numbers. */
HOST_DEVICE static inline bool moe_before(float a, int64_t i, float b, int64_t j)
{
    bool a_nan = a != a, b_nan = b != b; /* NOLINT(misc-redundant-expression) */

    if (a_nan || b_nan)
        return a_nan && (!b_nan || i < j);
    return a > b || (a == b && i < j);
}

/* Returns the expert of a slot. */
HOST_DEVICE static inline int moe_expert(int32_t slot, int capacity)
{
    return slot >= 0 ? slot / capacity : -1 - slot;
}

#ifdef __cplusplus
}
#endif

#endif
