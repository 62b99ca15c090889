/*
 * Converts tensors of a file to the model's dimensions:
 *
 *   position embeddings and bias tables   resized to another grid (train/weight_grid.h)
 *   a classifier of ImageNet-22k          the rows of 1k (models/imagenet22k.h)
 *   the first convolution, of RGB images  other channel counts (MODEL.IN_CHANS), like
 *                                         timm's adapt_input_conv: one channel is the sum
 *                                         of R, G, and B; more are R, G, B, R, ... times
 *                                         3 / channels, so that sums keep their magnitude
 */
#ifndef TRAIN_REMAKE_H
#define TRAIN_REMAKE_H

#include "graph/flat.h"
#include "io/safetensors.h"
#include "models/table.h"

struct remake {
    const char *what; /* for messages, after the dimensions: ": resized" */
    bool always;      /* True if it also applies to weights used without training. */
    bool (*takes)(const struct model_family *f, bool head, const struct tensor *t,
                  const struct safetensors_tensor *file);
    /* Converts `src`, which has the file's `dims`, to `dst`; both have trainc's memory
     * order. `microsoft`: uses the method of Microsoft's loader if timm's differs. */
    void (*make)(const struct model_family *f, const struct tensor *t, const float *src,
                 const int64_t *dims, bool microsoft, float *dst);
};

/* Returns the conversion from `file`, which does not fit `t`, to `t`, or NULL if there is
 * none. `head`: `t` belongs to a classifier. */
const struct remake *remake_find(const struct model_family *f, bool head,
                                 const struct tensor *t,
                                 const struct safetensors_tensor *file);

/* Converts the bytes `packed` into the segment's place in `flat`. Returns false if the
 * dtype is not supported. */
bool remake_load(const struct remake *r, const struct model_family *f,
                 const struct segment *seg, float *flat,
                 const struct safetensors_tensor *file, const void *packed,
                 bool microsoft);

/* Converts fp32 [n, 3] to [n, channels]; n is outputs x height x width. */
void remake_channels(const float *src, int64_t n, int64_t channels, float *dst);

#endif
