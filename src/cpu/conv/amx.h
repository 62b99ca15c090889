/*
 * Our own bf16 convolutions on AMX tiles: any kernel, stride, padding, and dilation, for
 * groups of channels that are multiples of 16, and for images with fewer channels; the
 * weight gradient without groups. Implicit GEMM (Chetlur et al. 2014, section 3): no im2col; tiles are rows of
 * the image in memory, or of a copy with zero borders.
 *
 * Images are NHWC bf16 bits. Deterministic for a given number of threads. Accumulation is
 * fp32; subnormals count as zero. Pixels outside the image count as zero, so an infinite
 * weight gives NaN at the edges, and a NaN in x gives NaN in other taps' gradients.
 */
#ifndef CPU_CONV_AMX_H
#define CPU_CONV_AMX_H

#include "cpu/conv/conv.h"

/*
 * amx.c             forward and data gradient
 *     amx_window.c    input windows: taps, and copies with borders
 *     amx_band.c      the multiply and its epilogue
 *   amx_grad.c        the weight gradient
 *     amx_sides.c     x transposed, dy in pairs
 *     amx_sums.c      the multiply
 *   amx_pack.c        the weights of forward and data gradient
 */
size_t amx_packed(const struct conv_shape *s);
void amx_pack(const struct device *dev, const struct conv_shape *s, void *packed,
              const float *w, bool backward);
size_t amx_weight_grad_scratch(const struct conv_shape *s, int threads);
void amx_weight_grad(const struct device *dev, const struct conv_shape *s, const void *x,
                     const void *dy, float *dw, float *db, void *scratch);

#endif
