/*
 * The mean of the weights of several checkpoints (Izmailov et al. 2018, "Averaging Weights
 * Leads to Wider Optima and Better Generalization"; timm's avg_checkpoints.py), as a state
 * dict with the metadata of the first file.
 *
 *   struct average *a = average_open(path, n, false, &why);
 *   if (!a || average_write(a, "mean.safetensors", &why))
 *       die("%s", why.buf);
 *   average_close(a);
 *
 * Floating-point tensors of any width, including the running statistics of batch norm,
 * are summed in double and written as F32. num_batches_tracked is the maximum over the
 * files; all other integer tensors must be equal. Optimizer state is dropped. Each tensor
 * is read when it is written, so memory holds one tensor, not one checkpoint.
 */
#ifndef TRAIN_AVERAGE_H
#define TRAIN_AVERAGE_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "io/safetensors.h"

struct average;

/*
 * Opens n checkpoints; `path` must outlive the result. Averages the EMA weights if the files
 * have them, unless `raw`. Returns NULL and appends a reason that names the file and the
 * tensor or class if a file is damaged, not a safetensors file, or 8-bit, or if the files
 * differ in their tensors, shapes, or classes.
 */
struct average *average_open(const char *const *path, int n, bool raw,
                             struct strbuf *why);
void average_close(struct average *a);

int average_files(const struct average *a);
const char *average_path(const struct average *a, int file);
/* Returns the value of a key of the metadata of file 0, or NULL. */
const char *average_meta(const struct average *a, const char *key);
bool average_has_ema(const struct average *a); /* True if EMA weights are averaged. */
int average_tensors(const struct average *a);

/* Computes the mean of the n >= 1 files with these indices only, in this order; initially,
 * of all. The metadata stay those of file 0. */
void average_choose(struct average *a, const int *file, int n);
/* Returns the index of the k-th chosen file, or -1 if fewer are chosen. */
int average_chosen(const struct average *a, int k);

/*
 * Returns the mean of the tensor of this name, row-major, with its shape and dtype in
 * *shape; valid until the next call. Returns NULL if the files have no such tensor. Dies if
 * reading fails or if the mean is not finite.
 */
const void *average_tensor(struct average *a, const char *name,
                           struct safetensors_tensor *shape);
/* Writes a copy of `data`, of the tensor's shape, in place of the mean. Returns false if the
 * files have no such tensor of this dtype. */
bool average_replace(struct average *a, const char *name, const void *data,
                     enum safetensors_dtype dtype);

/* Returns -1 and a reason, with the old file intact, if `out` cannot be written. Dies as
 * average_tensor(). */
int average_write(struct average *a, const char *out, struct strbuf *why);

#endif
