/*
 * Packed weights: made from the fp32 parameter once per update, the cast to half and a
 * batch norm after the layer included.
 */
#ifndef CPU_WEIGHTS_H
#define CPU_WEIGHTS_H

#include "cpu/device.h"
#include "cpu/onednn.h"
#include "graph/kernel.h"

/*
 * The fp32 parameter that w is made from: itself, or what a cast that only rounds it
 * reads. NULL: w is computed in some other way, and nobody can pack it ahead of time.
 */
struct tensor *weights_master(struct tensor *w);

/* Takes a copy of the cast between the parameter and w, if there is one. */
void weights_read(struct region *r, const struct tensor *w);

/*
 * A batch norm of fixed statistics after a layer: weights are multiplied by its scale,
 * and weights_bias derives the bias that remains, fp32; the layer's own may be NULL.
 */
struct weights_fold {
    struct tensor *weight, *bias, *mean, *var;
    float eps;
};
struct weights_fold weights_fold(const struct node *bn);
int weights_bias(struct region *r, const struct weights_fold *fold,
                 struct tensor *layer_bias);

/*
 * Derives weights in a packing of our own from the parameter that w is made from; `fold`
 * may be NULL. Calls weights_read().
 */
struct weights_packing {
    size_t size; /* bytes */
    void (*pack)(void *dst, const float *w, const void *state);
    const void *state; /* is copied */
    size_t state_size;
    const void *key; /* what the packing depends on, so that programs share it */
    size_t key_len;
};
int weights_pack(struct region *r, struct tensor *w, const struct weights_fold *fold,
                 const struct weights_packing *how);

/*
 * Derives the weights of `p`, which computes in `type`, from `master`; `fold` may be
 * NULL. `p` may have more output channels than `master`: those after its own are zeros.
 */
int weights_derive(struct region *r, struct device *dev, const struct onednn_prim *p,
                   enum dtype type, struct tensor *master,
                   const struct weights_fold *fold);

#endif
