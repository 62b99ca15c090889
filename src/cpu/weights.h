/*
 * Packed weights for oneDNN: made from the fp32 parameter once an update, the cast to
 * half and a batch norm behind the layer included.
 */
#ifndef CPU_WEIGHTS_H
#define CPU_WEIGHTS_H

#include "cpu/device.h"
#include "cpu/onednn.h"
#include "graph/kernel.h"

/*
 * The fp32 parameter behind w: itself, or what a cast that only rounds it reads. NULL: w
 * is computed in some other way, and nobody can pack it ahead of time.
 */
struct tensor *weights_master(struct tensor *w);

/* Takes a copy of the cast between the parameter and w, if there is one. */
void weights_read(struct region *r, const struct tensor *w);

/*
 * Derives weights in a packing of our own from the parameter behind w: `size` bytes by
 * pack(dst, {the parameter}, state), a copy of `state`. The key says what the packing
 * depends on, so that programs share it. Takes the cast in front of w along.
 */
int weights_pack(struct region *r, struct tensor *w, size_t size,
                 void (*pack)(void *dst, void *const *from, void *state),
                 const void *state, size_t state_size, const void *key, size_t key_len);

/*
 * Derives the weights of `p`, which computes in `type`, from `master`. `fold` may be
 * NULL, or a batch norm of fixed statistics that stands behind the layer: weights are
 * multiplied by its scale, and weights_bias derives the bias that remains, fp32.
 *
 * `p` may have more output channels than `master`: those behind its own are zeros.
 */
struct weights_fold {
    struct tensor *weight, *bias, *mean, *var;
    float eps;
};

int weights_derive(struct region *r, struct device *dev, const struct onednn_prim *p,
                   enum dtype type, struct tensor *master,
                   const struct weights_fold *fold);
int weights_bias(struct region *r, const struct weights_fold *fold,
                 struct tensor *layer_bias);

#endif
