/* Constants of window attention, equal in every backend, for host and device. */
#ifndef OPS_WINDOW_ATTENTION_FORMULA_H
#define OPS_WINDOW_ATTENTION_FORMULA_H

#include "ops/dropout_formula.h"

/* Added to scores between tokens that are neighbors only because of the roll. */
#define WINDOW_ATTENTION_MASK (-100.0f)
/* Minimum of the norms by which q and k are divided. */
#define WINDOW_ATTENTION_NORM 1e-12f

/* True if logit_scale is above ln 100: it is clamped and has no gradient. */
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
 * with pixels numbered over all images of all processes (ops/share.h): keys j to j + 3
 * use the block of j / 4.
 */
HOST_DEVICE static inline struct philox
window_attention_block(uint64_t seed, uint64_t micro, uint32_t salt, uint64_t row,
                       int tokens, int j)
{
    return dropout_block(seed, micro, salt,
                         row * (uint64_t)((tokens + 3) / 4) + (uint64_t)(j / 4));
}

#endif
