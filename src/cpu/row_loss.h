/*
 * Shared by losses of rows (ops/row_loss.h): the split of rows over threads, and the
 * loops for losses that are a mean over rows.
 */
#ifndef CPU_ROW_LOSS_H
#define CPU_ROW_LOSS_H

#include <math.h>

#include "cpu/device.h"
#include "graph/kernel.h"
#include "ops/row_loss.h"

enum { ROW_LOSS_PART = 16 }; /* rows; multiples at which parts are cut */

struct row_job {
    const struct step *s;
    const struct device *dev;
    struct row_labels labels;
    const float *z;
    float *dz; /* gradient */
    int64_t rows, classes;
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

/* A loss that is the mean over the valid rows, and its gradient. */
struct row_mean {
    struct row_job row;
    const void *args; /* further data for the functions */
    /* Computes the loss of row i; returns false if the row is ignored. */
    bool (*loss)(const struct row_mean *m, int64_t i, double *loss);
    /* Computes its gradient times `scale`; returns false if the row is ignored (gradient 0). */
    bool (*grad)(const struct row_mean *m, int64_t i, float *dz);
    float factor; /* of each row's loss and gradient */
    float scale;  /* factor * dloss / rows; set by row_mean_run */
};

/* Claims the workspace of row_mean_run, for both nodes. */
void row_mean_claim(struct region *r, struct node *n, const struct device *dev);
void row_mean_run(struct row_mean *m);

#endif
