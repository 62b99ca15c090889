/* The ops that are fused before a batch norm's gradient, for its two kernels. */
#ifndef CUDA_BATCHNORM_GRAD_H
#define CUDA_BATCHNORM_GRAD_H

#include "cuda/batchnorm.h"

/* dz = relu_grad(y, g + g2); what is not there is NULL, and then g may be dz itself. */
struct grad_front {
    struct node *relu, *add;
    struct tensor *g, *g2, *y;
    struct tensor *scale, *shift; /* y = relu(x scale + shift), with the gradient's x */
    float limit;
};

void grad_front_find(grad_front *f, const struct graph *g, struct tensor *dz,
                     struct tensor *x);

/*
 * The dropout2d that makes dz, the gradient of the batch norm that reads x, if only that
 * gradient's two kernels read it; they draw its mask again and read what it read. NULL:
 * there is none.
 */
struct node *grad_drop_find(const struct graph *g, const struct tensor *dz,
                            const struct tensor *x);

/* Have all of them the type of x? */
bool grad_front_one_type(const grad_front *f, const struct tensor *x);

/* May both kernels make dz for themselves, because nobody else wants it? */
bool grad_front_again(const struct graph *g, const grad_front *f, const struct tensor *dz,
                      const struct tensor *x);

#endif
