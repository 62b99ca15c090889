/* Matches the ops fused before a batch norm's gradient, for its two kernels. */
#ifndef CUDA_BATCHNORM_GRAD_H
#define CUDA_BATCHNORM_GRAD_H

#include "cuda/batchnorm.h"

/* dz = (g + g2) times the slope of an activation at y, or the relu's mask; absent parts are
 * NULL, and then g may be dz itself. */
struct grad_front {
    struct node *act, *add;    /* act: the gradient of the activation */
    struct tensor *g, *g2, *y; /* y: what act reads; of a relu with bits, those */
    bool bits;
    /* the activation's operand is x scale + shift, with x as in the gradient */
    struct tensor *scale, *shift;
};

void grad_front_find(grad_front *f, const struct graph *g, struct tensor *dz,
                     struct tensor *x);

/*
 * Returns the dropout2d that produces dz, the gradient of the batch norm that reads x, if
 * only that gradient's two kernels read dz; they redraw its mask and read its input
 * instead. Returns NULL if there is none.
 */
struct node *grad_drop_find(const struct graph *g, const struct tensor *dz,
                            const struct tensor *x);

/* True if all of them have the type of x. */
bool grad_front_one_type(const grad_front *f, const struct tensor *x);

/* True if both kernels may recompute dz, because it has no other readers. */
bool grad_front_again(const struct graph *g, const grad_front *f, const struct tensor *dz,
                      const struct tensor *x);

#endif
