/*
 * Our own convolutions in bf16 on AMX tiles: any kernel, stride, padding and dilation
 * without groups, for channels that are multiples of 16, and of images with fewer.
 * Implicit GEMM (Chetlur et al. 2014, section 3): no im2col; rows of the image are tiles
 * as they lie in memory, or in a copy with borders of zeros.
 *
 * Images are NHWC bf16 bits. Deterministic for a given number of threads. Accumulation is
 * fp32; subnormals count as zero. What lies outside of the image counts as zero, so an
 * infinite weight gives NaN at the edges, and a NaN in x one in other taps' gradients.
 */
#ifndef CPU_CONV_AMX_H
#define CPU_CONV_AMX_H

#include "cpu/conv_loops.h"

/*
 *   conv_amx.c         forward and data gradient
 *     conv_amx_window  what a result reads: taps, and copies with borders
 *     conv_amx_band    the multiply, and what is behind it
 *   conv_amx_grad.c    the weight gradient
 *     conv_amx_sides   x turned, dy in pairs
 *     conv_amx_sums    the multiply
 *   conv_amx_pack.c    the weights of forward and data gradient
 */
size_t amx_packed(const struct conv_shape *s);
void amx_pack(const struct device *dev, const struct conv_shape *s, void *packed,
              const float *w, bool backward);
size_t amx_weight_grad_scratch(const struct conv_shape *s, int threads);
void amx_weight_grad(const struct device *dev, const struct conv_shape *s, const void *x,
                     const void *dy, float *dw, float *db, void *scratch);

#endif
