/*
 * What the batch norm kernels share: tables in the workspace, see loops.h and rows.h.
 */
#ifndef CPU_BATCHNORM_H
#define CPU_BATCHNORM_H

#include "cpu/rows.h"

enum { BATCHNORM_TABLES = 6 };

struct batchnorm_tables {
    double *total, *total2;         /* [threads][width] */
    float *sum, *sum2, *guess;      /* [threads][width] */
    float *table[BATCHNORM_TABLES]; /* [width], for all threads */
};

size_t batchnorm_space(const struct rows *r, const struct device *dev); /* bytes */
struct batchnorm_tables batchnorm_tables(void *space, const struct rows *r,
                                         const struct device *dev);
/* This thread's sums and totals. */
void batchnorm_tables_zero(const struct batchnorm_tables *t, const struct rows *r,
                           int thread);

#endif
