/*
 * Shared by kernels of losses over rows (ops/row_loss.h). A row is processed by the
 * threads of cuda/rows.h; a block sums the losses of its rows in double, then one block
 * adds these in order. A label out of range makes loss and gradient NaN, and the update
 * is skipped.
 */
#ifndef CUDA_ROW_LOSS_H
#define CUDA_ROW_LOSS_H

#include "cuda/launch.h"
#include "cuda/reduce.h"
#include "cuda/rows.h"
#include "graph/kernel.h"
#include "ops/row_loss.h"

struct row_input {
    const float *z;
    struct row_labels labels;
    int64_t rows, classes;
};

static inline row_input row_input_of(const struct step *s, int ignore)
{
    const struct tensor *t = s->in_tensor[ROW_LOSS_LOGITS];
    row_input r;

    r.z = (const float *)s->in[ROW_LOSS_LOGITS];
    r.labels =
        row_labels_of(s->in_tensor[ROW_LOSS_LABELS], s->in[ROW_LOSS_LABELS], ignore);
    r.rows = row_loss_rows(t);
    r.classes = row_loss_classes(t);
    return r;
}

/* Returns the log of the sum of exp(z * scale) to every thread of the row. */
template <int THREADS, int N>
__device__ static inline float row_lse(const float *z, int64_t len, float scale,
                                       float *shared)
{
    float top = -INFINITY, sum = 0;

    row_each<THREADS, N>(z, len, [&](int64_t, float v) { top = v > top ? v : top; });
    top = row_max<THREADS>(top, shared);
    row_each<THREADS, N>(z, len,
                         [&](int64_t, float v) { sum += expf((v - top) * scale); });
    sum = row_sum<THREADS>(sum, shared);
    return top * scale + logf(sum);
}

/* Stores a block's sums: partial[2 b] the loss, partial[2 b + 1] the number of rows. */
__device__ static inline void row_leave(double loss, double n, double *partial,
                                        double *shared)
{
    loss = block_sum<ROWS_BLOCK>(loss, shared);
    n = block_sum<ROWS_BLOCK>(n, shared);
    if (threadIdx.x)
        return;
    partial[2 * blockIdx.x] = loss;
    partial[2 * blockIdx.x + 1] = n;
}

/* Workspace size of these sums; and the mean over the rows, with their number. */
size_t row_partial_size(const struct device *dev, const struct tensor *logits);
void row_loss_mean(struct device *dev, const double *partial, unsigned blocks,
                   float *loss, float *sums);

#endif
