/*
 * layernorm: y = (x - mean) / sqrt(var + eps) * weight + bias for each position, over the
 * last dim of a plain tensor or the channels of an image. Ba, Kiros, and Hinton 2016
 * (arXiv 1607.06450); the variance is biased, as PyTorch's.
 *
 *   x = layernorm(&b, x, "norm1")
 *
 * creates "norm1.weight" (1, or 0 with .zero_init = 1) and "norm1.bias" (0), unless
 * .no_affine = 1. Mean and 1 / sqrt(var + eps) of each row are fp32 outputs of the node,
 * which the backward phase reads. Statistics are fp32 sums of the deviations from the
 * row's mean, not of squares.
 */
#ifndef OPS_LAYERNORM_H
#define OPS_LAYERNORM_H

#include "graph/graph.h"

struct layernorm_attrs {
    const char *layer;
    float eps; /* 0: 1e-5; never 0 in a node */
    int zero_init, no_affine;
};

/* y like x; mean and rstd: fp32 [rows]. Weight and bias: fp32 [C], both or neither. */
enum { LAYERNORM_X, LAYERNORM_WEIGHT, LAYERNORM_BIAS };
enum { LAYERNORM_Y, LAYERNORM_MEAN, LAYERNORM_RSTD };

/* dx, dweight, dbias; in a kernel each may be NULL. The weight is optional. */
enum {
    LAYERNORM_GRAD_X,
    LAYERNORM_GRAD_MEAN,
    LAYERNORM_GRAD_RSTD,
    LAYERNORM_GRAD_DY,
    LAYERNORM_GRAD_WEIGHT
};
enum { LAYERNORM_GRAD_DX, LAYERNORM_GRAD_DWEIGHT, LAYERNORM_GRAD_DBIAS };

#define layernorm(b, x, ...)                                                             \
    layernorm_((b), (x), &(const struct layernorm_attrs){.layer = __VA_ARGS__})
struct tensor *layernorm_(struct builder *b, struct tensor *x,
                          const struct layernorm_attrs *a);

extern const struct op op_layernorm, op_layernorm_grad;

#endif
