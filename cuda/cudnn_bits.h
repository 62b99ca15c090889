/*
 * Masks of relus as bits (ops/relu_bits.h) that cuDNN both writes, in the plan of a folded
 * convolution and residual sum, and reads, in the plan of the next block's data gradient.
 * cuDNN does not document the order of its booleans within a byte.
 */
#ifndef CUDA_CUDNN_BITS_H
#define CUDA_CUDNN_BITS_H

#include "cuda/device.h"
#include "ops/relu_bits.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RELU_BITS_CUDNN = RELU_BITS_LIBRARY };

/*
 * True if cuDNN has engines for both plans, and they move fewer bytes; on a GPU whose
 * engines are timed, if they are also faster than the two plans with y.
 */
bool cudnn_bits_pay(struct graph *g, struct node *relu, struct node *grad,
                    struct device *dev);

#ifdef __cplusplus
}
#endif

#endif
