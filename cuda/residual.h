/*
 * The residual sum before a layer norm, and its counterpart in the backward phase: nodes
 * that layernorm.cu and layernorm_grad.cu fuse, so that the sum is read and written once.
 *
 *   forward    sum = branch [* its samples' factors] + other     y = norm(sum)
 *   backward   d = dx of the norm + other      [dropped = d * those factors]
 *
 * All tensors have one type. With CUDNN.FUSE False nothing is fused.
 */
#ifndef CUDA_RESIDUAL_H
#define CUDA_RESIDUAL_H

#include "graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

struct device;

struct residual {
    struct node *add, *drop; /* drop may be NULL */
    struct node *norm;       /* the layer norm or its gradient */
    struct tensor *branch, *other;
    int64_t rows; /* per sample, with drop */
};

extern const struct kernel cuda_residual_sum, cuda_layer_scale_grad;

/* Returns the rows of `channels` per sample of the drop; 0 if samples end within rows or
 * there are more rows than a divider (cuda/divide.h) supports. */
int64_t residual_rows(const struct node *drop, int64_t channels);

/* Finds the sum that `norm` reads. Returns false if there is none or it cannot be fused. */
bool residual_before(struct residual *f, const struct graph *g, struct node *norm,
                     const struct device *dev);
/* Finds the gradient that ends with node `last`, the drop or the add. */
bool residual_after(struct residual *f, const struct graph *g, struct node *last,
                    const struct device *dev);

#ifdef __cplusplus
}
#endif

#endif
