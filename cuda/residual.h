/*
 * The residual sum in front of a layer norm, and its mirror image in the backward phase:
 * the nodes that layernorm.cu and layernorm_grad.cu take along, so that the sum is read
 * and written once.
 *
 *   forward    sum = branch [* its samples' factors] + other     y = norm(sum)
 *   backward   d = dx of the norm + other      [dropped = d * those factors]
 *
 * All tensors have one type. CUDNN.FUSE False: none of this is found.
 */
#ifndef CUDA_RESIDUAL_H
#define CUDA_RESIDUAL_H

#include "graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

struct device;

struct residual {
    struct node *add, *drop; /* drop NULL: there is none */
    struct node *norm;       /* the layer norm or its gradient */
    struct tensor *branch, *other;
    int64_t rows; /* of a sample, with drop */
};

/* The sum that `norm` is of. False: none, or it cannot be taken. */
bool residual_before(struct residual *f, const struct graph *g, struct node *norm,
                     const struct device *dev);
/* The gradient that ends with node `last`, the drop or the add. */
bool residual_after(struct residual *f, const struct graph *g, struct node *last,
                    const struct device *dev);

#ifdef __cplusplus
}
#endif

#endif
