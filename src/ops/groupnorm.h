/*
 * groupnorm: y = (x - mean) / sqrt(var + eps) * weight + bias of images, with mean and
 * biased variance over the pixels and the channels of a group. Wu and He 2018 (arXiv
 * 1803.08494), as PyTorch's GroupNorm. With as many groups as channels it is an instance
 * norm.
 *
 *   x = groupnorm(&b, x, "norm1", .groups = 32)
 *
 * creates "norm1.weight" (1) and "norm1.bias" (0), fp32 [C]. Mean and 1 / sqrt(var + eps)
 * of each group of each image are fp32 outputs of the node, which the backward phase
 * reads. Per element, the formulas are layer norm's (ops/layernorm_formula.h).
 */
#ifndef OPS_GROUPNORM_H
#define OPS_GROUPNORM_H

#include "graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

struct groupnorm_attrs {
    const char *layer;
    int groups;    /* divides the channels */
    float eps;     /* 0: 1e-5; never 0 in a node */
    int zero_init; /* 1: the weight starts at 0 */
};

/* y like x; mean and rstd: fp32 [N groups] */
enum { GROUPNORM_X, GROUPNORM_WEIGHT, GROUPNORM_BIAS };
enum { GROUPNORM_Y, GROUPNORM_MEAN, GROUPNORM_RSTD };

/* dx, and dweight and dbias, fp32 [C]; in a kernel each may be NULL. */
enum {
    GROUPNORM_GRAD_X,
    GROUPNORM_GRAD_WEIGHT,
    GROUPNORM_GRAD_MEAN,
    GROUPNORM_GRAD_RSTD,
    GROUPNORM_GRAD_DY
};
enum { GROUPNORM_GRAD_DX, GROUPNORM_GRAD_DWEIGHT, GROUPNORM_GRAD_DBIAS };

#define groupnorm(b, x, ...)                                                             \
    groupnorm_((b), (x), &(const struct groupnorm_attrs){.layer = __VA_ARGS__})
struct tensor *groupnorm_(struct builder *b, struct tensor *x,
                          const struct groupnorm_attrs *a);

extern const struct op op_groupnorm, op_groupnorm_grad;

#ifdef __cplusplus
}
#endif

#endif
