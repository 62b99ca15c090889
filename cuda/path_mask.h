/* The factors of a drop_path fused into a kernel (cuda/residual.h), sample by sample. */
#ifndef CUDA_PATH_MASK_H
#define CUDA_PATH_MASK_H

#include "cuda/divide.h"
#include "graph/graph.h"
#include "ops/control.h"
#include "ops/dropout.h"
#include "ops/dropout_formula.h"

/* The inputs of a drop_path's factors. All zero: each factor is 1. */
struct path_mask {
    const struct control *control;
    uint32_t salt;
    float rate;
    struct divider rows; /* per sample */
    struct share share;
};

__device__ static inline float path_factor(const path_mask &m, int64_t row)
{
    if (!m.control)
        return 1;
    return drop_path_factor(m.control->seed, (uint64_t)m.control->micro, m.salt,
                            (uint64_t)share_image(m.share, divide(m.rows, (unsigned)row)),
                            m.rate);
}

/* `control`: as in the step; drop NULL: no mask. */
static inline path_mask path_mask_of(const struct node *drop, int64_t rows,
                                     const void *control)
{
    path_mask m = {};

    if (!drop)
        return m;

    const struct dropout_attrs *a = (const struct dropout_attrs *)drop->attrs;

    m.control = (const struct control *)control;
    m.salt = (uint32_t)a->salt;
    m.rate = a->rate;
    m.rows = divider_of((unsigned)rows);
    m.share = a->share;
    return m;
}

#endif
