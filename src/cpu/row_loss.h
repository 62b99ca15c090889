/*
 * What the kernels of losses of rows share (ops/row_loss.h): the claim, rows cut for
 * threads, and sums of a thread that are added in order.
 */
#ifndef CPU_ROW_LOSS_H
#define CPU_ROW_LOSS_H

#include <math.h>

#include "cpu/device.h"
#include "graph/kernel.h"
#include "ops/row_loss.h"

enum { ROW_LOSS_PART = 16 }; /* rows, at which parts are cut */

struct row_job {
    const struct step *s;
    const struct device *dev;
    struct row_labels labels;
    const float *z;
    float *dz; /* of a gradient */
    int64_t rows, classes;
};

/* Sums of a thread, in the workspace. */
struct row_sums {
    double loss, n;
};

static inline struct row_job row_job_of(const struct step *s, const struct device *dev,
                                        int ignore, bool gradient)
{
    const struct tensor *t = s->in_tensor[ROW_LOSS_LOGITS];

    return (struct row_job){
        .s = s,
        .dev = dev,
        .labels =
            row_labels_of(s->in_tensor[ROW_LOSS_LABELS], s->in[ROW_LOSS_LABELS], ignore),
        .z = s->in[ROW_LOSS_LOGITS],
        .dz = gradient ? s->out[0] : NULL,
        .rows = row_loss_rows(t),
        .classes = row_loss_classes(t),
    };
}

static inline void row_part(const struct row_job *j, int thread, int64_t *lo, int64_t *hi)
{
    cpu_part(j->rows, ROW_LOSS_PART, thread, j->dev->threads, lo, hi);
}

/* log of the sum of exp(z * scale). */
static inline float row_lse(const float *z, int64_t n, float scale)
{
    float top = z[0];
    double sum = 0;

    for (int64_t k = 1; k < n; k++)
        if (z[k] > top)
            top = z[k];
    for (int64_t k = 0; k < n; k++)
        sum += (double)expf((z[k] - top) * scale);
    return top * scale + logf((float)sum);
}

static inline struct row_sums row_total(const struct row_job *j)
{
    const struct row_sums *part = j->s->workspace;
    struct row_sums all = {0};

    for (int t = 0; t < j->dev->threads; t++) {
        all.loss += part[t].loss;
        all.n += part[t].n;
    }
    return all;
}

/* The mean over the rows that count, and how many these are. */
static inline void row_put_mean(const struct row_job *j)
{
    struct row_sums all = row_total(j);

    *(float *)j->s->out[ROW_LOSS_LOSS] = all.n > 0 ? (float)(all.loss / all.n) : 0;
    *(float *)j->s->out[ROW_LOSS_SUMS] = (float)all.n;
}

#endif
