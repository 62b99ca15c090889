/*
 * Tensors of a file that have other dims than the model's and are made into them:
 *
 *   position embeddings and bias tables   another grid, resized (train/weight_grid.h)
 *   a classifier of ImageNet-22k          the rows of 1k (models/imagenet22k.h)
 *   the first convolution, of RGB images  other channels (MODEL.IN_CHANS): for one the sum
 *                                         over R, G and B; for more R, G, B, R, ... times
 *                                         3 / channels, so that sums keep their size, as
 *                                         timm's adapt_input_conv has it
 */
#ifndef TRAIN_REMAKE_H
#define TRAIN_REMAKE_H

#include "graph/flat.h"
#include "io/safetensors.h"
#include "models/table.h"

struct remake {
    const char *what; /* for messages, after the dims: ": resized, bicubic" */
    bool always;      /* also to use weights as they are, without training */
    bool (*takes)(const struct model_family *f, bool head, const struct tensor *t,
                  const struct safetensors_tensor *file);
    /* `src` with the dims of the file and `dst`, both in the order of our memory. */
    void (*make)(const struct model_family *f, const struct tensor *t, const float *src,
                 const int64_t *dims, bool microsoft, float *dst);
};

/* How `file`, which does not fit `t`, becomes `t`; NULL: not. `head`: a classifier's. */
const struct remake *remake_find(const struct model_family *f, bool head,
                                 const struct tensor *t,
                                 const struct safetensors_tensor *file);

/* The bytes `packed` into the segment's place in `flat`; `microsoft`: by the method of
 * Microsoft's loader where it is not timm's. False: another dtype. */
bool remake_load(const struct remake *r, const struct model_family *f,
                 const struct segment *seg, float *flat,
                 const struct safetensors_tensor *file, const void *packed,
                 bool microsoft);

/* fp32 [n, 3] to [n, channels], where n is outputs x height x width. */
void remake_channels(const float *src, int64_t n, int64_t channels, float *dst);

#endif
