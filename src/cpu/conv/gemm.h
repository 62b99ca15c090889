/*
 * Our own convolutions as GEMMs: 1 x 1, and any kernel with a stride, or with any stride
 * where bf16 is widened to fp32; without groups. A row of the im2col matrix is the input of a result: the channels of one pixel
 * after another. For 1 x 1 the matrix is the image itself; otherwise rows are copied, one
 * block at a time (Chetlur et al. 2014, section 3). The data gradient of a stride is one
 * GEMM for each phase of dx.
 *
 * bf16 has two forms. With AVX512-BF16, vdpbf16ps adds the products of pairs to fp32 sums and
 * treats subnormals as zero: pairs of channels, 1 x 1 only; in the weight gradient pairs of
 * results. Where fp32 is faster (struct conv_shape, widen), both sides are widened to fp32 as
 * they are copied, and sums are rounded once.
 *
 * Images are NHWC. Deterministic for a given number of threads. Pixels outside the image
 * count as zero, so an infinite weight gives NaN at the edges.
 *
 *   gemm.c       forward and data gradient, and their weights
 *   gemm_grad.c  the weight gradient
 */
#ifndef CPU_CONV_GEMM_H
#define CPU_CONV_GEMM_H

#include "cpu/conv/window.h"

enum { GEMM_DEPTH = 1024 }; /* maximum columns of the im2col matrix at a time */

/* Columns of the im2col matrix. */
static inline int gemm_depth(const struct conv_window *v)
{
    return v->taps * v->c;
}

static inline enum gemm_words gemm_words_of(const struct conv_shape *s)
{
    return s->type == DTYPE_F32 ? GEMM_FLOATS : s->widen ? GEMM_WIDENED : GEMM_PAIRS;
}

/* True if the im2col matrix is the source itself. */
bool gemm_in_place(const struct conv_window *v);

/*
 * Copies columns [lo, hi), multiples of 16, of `n` rows of the im2col matrix from result
 * `pos` on: to[row * next + (column - lo) / 16 * panel + column % 16].
 */
void gemm_gather(const struct device *dev, const struct conv_window *v, const void *src,
                 bool widen, int64_t pos, int n, int lo, int hi, float *dst, int64_t next,
                 int64_t panel);

/* Does the same for bf16: rows are pairs of results, the last padded with zero if n is odd. */
void gemm_gather_pairs(const struct device *dev, const struct conv_window *v,
                       const uint16_t *src, int64_t pos, int n, int lo, int hi,
                       float *dst, int64_t next, int64_t panel);

size_t gemm_weight_grad_scratch(const struct conv_shape *s, int threads);
void gemm_weight_grad(const struct device *dev, const struct conv_shape *s, const void *x,
                      const void *dy, float *dw, float *db, void *scratch);

#endif
