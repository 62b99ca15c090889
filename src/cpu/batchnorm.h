/*
 * Shared by the batch norm kernels: tables in the workspace (see loops.h and rows.h).
 */
#ifndef CPU_BATCHNORM_H
#define CPU_BATCHNORM_H

#include "cpu/rows.h"
#include "graph/kernel.h"
#include "ops/dropout.h"

enum { BATCHNORM_TABLES = 5 };

struct batchnorm_tables {
    double *total, *total2;         /* [threads][width] */
    float *sum, *sum2, *guess;      /* [threads][width] */
    float *table[BATCHNORM_TABLES]; /* [width], shared by all threads */
};

/* Bytes of two sums per channel, for processes that share them. */
size_t batchnorm_shared(const struct rows *r);
size_t batchnorm_space(const struct rows *r, const struct device *dev); /* bytes */
struct batchnorm_tables batchnorm_tables(void *space, const struct rows *r,
                                         const struct device *dev);
/* Clears this thread's sums and totals. */
void batchnorm_tables_zero(const struct batchnorm_tables *t, const struct rows *r,
                           int thread);

/*
 * A dropout2d fused with the norm: the channels of each sample have factors. Without one,
 * the tensor counts as a single sample with factors of 1.
 */
struct samples {
    const struct dropout_attrs *drop; /* may be NULL */
    int control;                      /* index of a read, with drop */
    int64_t n, len, channels;         /* samples, elements per sample */
};

/* Adds drop (may be NULL) to region r; t: the tensor whose samples it scales. */
struct samples samples_claim(struct region *r, struct node *drop, const struct tensor *t);
/* samples_space: bytes of one table for each sample. samples_factor: the factor of a
 * channel of a sample. */
size_t samples_space(const struct samples *s, const struct rows *r);
float samples_factor(const struct samples *s, const struct step *step, int64_t sample,
                     int64_t channel);

/*
 * Elements of one sample, at most a chunk, starting at a row: the first or the last such
 * piece of [lo, hi), where lo starts a row; n is 0 if there is none.
 */
struct piece {
    int64_t sample, first, n;
};
struct piece samples_first(const struct samples *s, const struct rows *r, int64_t lo,
                           int64_t hi);
struct piece samples_last(const struct samples *s, const struct rows *r, int64_t lo,
                          int64_t hi);

#endif
