/*
 * The constants of window attention that every backend agrees on, for host and device.
 */
#ifndef OPS_WINDOW_ATTENTION_FORMULA_H
#define OPS_WINDOW_ATTENTION_FORMULA_H

#include "ops/dropout_formula.h"

/* Added to scores of tokens that only the roll made neighbours. */
#define WINDOW_ATTENTION_MASK (-100.0f)
/* The least norm that q and k are divided by. */
#define WINDOW_ATTENTION_NORM 1e-12f

/* logit_scale above ln 100 counts as that, and has no gradient. */
HOST_DEVICE static inline int window_attention_clamped(float logit_scale)
{
    return logit_scale > 4.60517019f;
}

HOST_DEVICE static inline double window_attention_scale(float logit_scale)
{
    return window_attention_clamped(logit_scale) ? 100 : exp((double)logit_scale);
}

/*
 * The dropout mask of the weights of one query and head, `row` = pixel * heads + head
 * with pixels counted over all images of all processes (ops/share.h): that of keys j to j + 3 is the block of j / 4.
 */
HOST_DEVICE static inline struct philox
window_attention_block(uint64_t seed, uint64_t micro, uint32_t salt, uint64_t row,
                       int tokens, int j)
{
    return dropout_block(seed, micro, salt,
                         row * (uint64_t)((tokens + 3) / 4) + (uint64_t)(j / 4));
}

#endif
