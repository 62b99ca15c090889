/*
 * Packed weights, derived from the fp32 parameter once per update, including the cast to
 * 16 bits and a batch norm or layer_scale after the layer.
 */
#ifndef CPU_WEIGHTS_H
#define CPU_WEIGHTS_H

#include "cpu/device.h"
#include "cpu/onednn.h"
#include "graph/kernel.h"

/*
 * Returns the fp32 parameter of w: w itself, or the input of a cast that only rounds it.
 * Returns NULL if w is computed in some other way and cannot be packed ahead of time.
 */
struct tensor *weights_master(struct tensor *w);

/* Duplicates the cast between the parameter and w into the region, if there is one. */
void weights_read(struct region *r, const struct tensor *w);

/*
 * A batch norm with fixed statistics after a layer, or a layer_scale, which has only a
 * weight: weights are multiplied by its scale, and weights_bias derives the remaining
 * bias, fp32; the layer's own bias may be NULL.
 */
struct weights_fold {
    struct tensor *weight, *bias, *mean, *var;
    float eps;
};
struct weights_fold weights_fold(const struct node *n);
int weights_bias(struct region *r, const struct weights_fold *fold,
                 struct tensor *layer_bias);

/*
 * Derives weights in our own packing from the parameter of w; `fold` may be NULL. Calls
 * weights_read().
 */
struct weights_packing {
    size_t size; /* bytes */
    void (*pack)(void *dst, const float *w, const void *state);
    const void *state; /* copied */
    size_t state_size;
    const void *key; /* identifies the packing, so that programs share it */
    size_t key_len;
};
int weights_pack(struct region *r, struct tensor *w, const struct weights_fold *fold,
                 const struct weights_packing *how);

/*
 * Derives the weights of `p`, which computes in `type`, from `master`; `fold` may be
 * NULL. `p` may have more output channels than `master`: the additional ones are zeros.
 */
int weights_derive(struct region *r, struct device *dev, const struct onednn_prim *p,
                   enum dtype type, struct tensor *master,
                   const struct weights_fold *fold);

#endif
