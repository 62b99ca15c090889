/*
 * Weight gradients in 16 bits, for backends whose kernels can write them. Gradients that are
 * summed over micro-batches, processes, or losses are fp32. If only grad_stats and
 * optimizers read them, the gradient of a 16-bit weight may have 16 bits, as in PyTorch,
 * where it has the type of the weight's copy. grad_stats finds infinities in it.
 *
 * Gradients are then packed: one after another in the order of the weights, each with its
 * own type, at multiples of 64 bytes. grad_stats and the optimizers read them as bytes
 * (DTYPE_U8), and half_grads_find() returns where the gradient of a weight is.
 */
#ifndef OPS_HALF_GRADS_H
#define OPS_HALF_GRADS_H

#include "graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* True if the kernel of n, all of whose inputs have 16 bits, can write its result in
 * their type. */
typedef bool half_grads_fn(const struct graph *g, const struct node *n);

/* Call once the nodes of the update exist; a second call changes nothing. */
void half_grads_lower(struct graph *g, half_grads_fn *writes);

struct half_grads_place {
    enum dtype dtype;
    int64_t first; /* in elements of this type, from the start of MEMORY_GRADS */
    int64_t len;   /* elements from there to the end of this gradient */
};

/* True if `grads`, an input of grad_stats or of an optimizer, is packed. */
bool half_grads_packed(const struct tensor *grads);
/* Returns the place of the packed gradient of element `pos` of the weights; its len is 0 if there
 * is none. */
struct half_grads_place half_grads_find(const struct graph *g, int64_t pos);
/* Returns the 16-bit type of packed gradients; DTYPE_F32 if they are not packed. */
enum dtype half_grads_dtype(const struct graph *g);

/* Copies packed gradients to fp32 at the offsets of the weights (trained_len elements). */
void half_grads_widen(const struct graph *g, const void *src, float *dst);

#ifdef __cplusplus
}
#endif

#endif
