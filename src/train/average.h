/*
 * The mean of the weights of several checkpoints (Izmailov et al. 2018, "Averaging Weights
 * Leads to Wider Optima and Better Generalization"; timm's avg_checkpoints.py), as a state
 * dict with the metadata of the first file.
 *
 *   if (average_write(path, n, &(struct average_options){0}, "mean.safetensors", &why))
 *       die("%s", why.buf);
 *
 * Floating-point tensors of any width are summed in double and written as F32, running
 * statistics of batch norms included. Of num_batches_tracked the largest is written; all
 * other integer tensors must be equal. Optimizer state is left out. Each tensor is read
 * when it is written, so memory holds one tensor, not one checkpoint.
 */
#ifndef TRAIN_AVERAGE_H
#define TRAIN_AVERAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

struct average_options {
    bool raw; /* weights, even where the files have their EMA */
};

struct average_result {
    size_t tensors;
    bool ema; /* EMA weights were averaged */
};

/*
 * Returns -1 and a reason that names file and tensor or class if a file is damaged, no
 * safetensors file, or in 8 bits, or if the files differ in their tensors, shapes, or
 * classes; nothing is written then. Dies if a file fails to be read afterwards or if the
 * mean of a tensor is not finite.
 */
int average_write(const char *const *path, int n, const struct average_options *o,
                  const char *out, struct average_result *result, struct strbuf *why);

#endif
