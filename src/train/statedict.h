/*
 * Converts flat arrays to state dicts and back: timm's names, logical dimensions (OIHW),
 * row-major. Memory is channels last, so image-shaped weights are reordered. Batch norm's
 * num_batches_tracked is fp32 in memory and an int64 scalar in files, buffers of integers are
 * alike; 8-bit weights are
 * fp32 integers in memory and int8 in files.
 *
 * `flat` is the start of a flat array in host memory (graph/flat.h) that contains the
 * tensor.
 */
#ifndef TRAIN_STATEDICT_H
#define TRAIN_STATEDICT_H

#include "base/strbuf.h"
#include "graph/flat.h"
#include "io/safetensors.h"

struct statedict_shape {
    enum safetensors_dtype dtype;
    int ndim;
    int64_t dims[TENSOR_DIMS];
};

/* Return the dtype and shape of `t` in a file, and its size in bytes. */
struct statedict_shape statedict_shape(const struct tensor *t);
size_t statedict_size(const struct tensor *t);

void statedict_pack(const struct segment *s, const float *flat, void *dst);

/*
 * Converts `src`, which has the shape of the segment's tensor, into its place in `flat`.
 * Returns false if the dtype is not supported: F32, F16, BF16, and F64 are, 32-bit and
 * 64-bit integers too for a counter, and only I8 for an 8-bit weight.
 */
bool statedict_unpack(const struct segment *s, float *flat, const void *src,
                      enum safetensors_dtype dtype);

/* True if a tensor of a file has the shape of `t`. A counter may also have shape [1], and
 * weights [O, I, H, W] of a convolution [O, I H W]. */
bool statedict_fits(const struct tensor *t, const struct safetensors_tensor *file);

/* Appends "the file has 4x3, the model 5x3". */
void statedict_add_shapes(struct strbuf *s, const struct tensor *t,
                          const struct safetensors_tensor *file);

bool statedict_is_counter(const struct tensor *t);
/* True if it is another name of a parameter (tied weights). */
bool statedict_is_tied(const struct flat *f, const char *name);
/* True for a counter or a buffer of integers: fp32 in memory, int64 in files. */
bool statedict_is_integer(const struct tensor *t);

#endif
