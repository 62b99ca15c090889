/*
 * The mean of the weights of several checkpoints (Izmailov et al. 2018, "Averaging Weights
 * Leads to Wider Optima and Better Generalization"; timm's avg_checkpoints.py), as a state
 * dict with the metadata of the first file.
 *
 *   if (average_write(path, n, &(struct average_options){0}, "mean.safetensors", &why))
 *       die("%s", why.buf);
 *
 * Floating-point tensors of any width, including the running statistics of batch norm,
 * are summed in double and written as F32. num_batches_tracked is the maximum over the
 * files; all other integer tensors must be equal. Optimizer state is dropped. Each tensor
 * is read when it is written, so memory holds one tensor, not one checkpoint.
 */
#ifndef TRAIN_AVERAGE_H
#define TRAIN_AVERAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

struct average_options {
    bool raw; /* averages the weights even if the files have EMA weights */
};

struct average_result {
    size_t tensors;
    bool ema; /* True if EMA weights were averaged. */
};

/*
 * Returns -1, writes nothing, and appends a reason that names the file and the tensor or
 * class if a file is damaged, not a safetensors file, or 8-bit, or if the files differ in
 * their tensors, shapes, or classes. Dies if reading fails later or if the mean of a
 * tensor is not finite.
 */
int average_write(const char *const *path, int n, const struct average_options *o,
                  const char *out, struct average_result *result, struct strbuf *why);

#endif
