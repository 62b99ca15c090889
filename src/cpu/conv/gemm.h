/*
 * Our own convolutions in fp32 as GEMMs: 1 x 1, and any kernel with a stride, without
 * groups. A row of the im2col matrix is what a result reads: the channels of one pixel
 * after another. Of 1 x 1 it is the image as it lies; otherwise rows are copied, a block
 * at a time (Chetlur et al. 2014, section 3). The data gradient of a stride is a GEMM for
 * each phase of dx.
 *
 * In bf16 they make the weight gradient alone, with AVX512-BF16: rows of both matrices
 * are pairs of results, which vdpbf16ps adds to sums in fp32. In it subnormals count as
 * zero.
 *
 * Images are NHWC. Deterministic for a given number of threads. What lies outside of
 * the image counts as zero, so an infinite weight gives NaN at the edges.
 *
 *   gemm.c       forward and data gradient, and their weights
 *   gemm_grad.c  the weight gradient
 */
#ifndef CPU_CONV_GEMM_H
#define CPU_CONV_GEMM_H

#include "cpu/conv/window.h"

enum { GEMM_DEPTH = 1024 }; /* columns of the im2col matrix at a time, at most */

/* Columns of the im2col matrix. */
static inline int gemm_depth(const struct conv_window *v)
{
    return v->taps * v->c;
}

/* Whether the im2col matrix is the source as it lies. */
bool gemm_in_place(const struct conv_window *v);

/*
 * Columns [lo, hi), multiples of 16, of `n` rows of the im2col matrix from result `at`
 * on: to[row * next + (column - lo) / 16 * panel + column % 16].
 */
void gemm_gather(const struct device *dev, const struct conv_window *v, const float *from,
                 int64_t at, int n, int lo, int hi, float *to, int64_t next,
                 int64_t panel);

/* The same of bf16: rows are pairs of results, the last with a zero if n is odd. */
void gemm_gather_pairs(const struct device *dev, const struct conv_window *v,
                       const uint16_t *from, int64_t at, int n, int lo, int hi, float *to,
                       int64_t next, int64_t panel);

size_t gemm_weight_grad_scratch(const struct conv_shape *s, int threads);
void gemm_weight_grad(const struct device *dev, const struct conv_shape *s, const void *x,
                      const void *dy, float *dw, float *db, void *scratch);

#endif
