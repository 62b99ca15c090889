/*
 * Flat arrays as state dicts: timm's names, logical dims (OIHW), row-major. Memory is
 * channels last, so image-shaped weights are reordered on the way; batch norm's
 * num_batches_tracked is fp32 in memory and an int64 scalar in files, weights in 8 bits
 * are fp32 integers in memory and int8 in files.
 *
 * `flat` is the start of a flat array in host memory (graph/flat.h) that holds `t`.
 */
#ifndef TRAIN_STATEDICT_H
#define TRAIN_STATEDICT_H

#include "graph/flat.h"
#include "io/safetensors.h"

struct statedict_shape {
    enum safetensors_dtype dtype;
    int ndim;
    int64_t dims[TENSOR_DIMS];
};

/* How `t` looks in a file, and how many bytes that is. */
struct statedict_shape statedict_shape(const struct tensor *t);
size_t statedict_size(const struct tensor *t);

void statedict_pack(const struct segment *s, const float *flat, void *dst);

/*
 * Reads `src`, which has the dims of `t`, into its place. F32, F16, BF16 and F64 are
 * taken, any integer for a counter, I8 for what is in 8 bits; false: another dtype.
 */
bool statedict_unpack(const struct segment *s, float *flat, const void *src,
                      enum safetensors_dtype dtype);

/* Does a tensor of a file fit `t`? A scalar counter may also have the dims [1]. */
bool statedict_fits(const struct tensor *t, const struct safetensors_tensor *file);

bool statedict_is_counter(const struct tensor *t);

#endif
