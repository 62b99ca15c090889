/*
 * Our own direct convolutions of stride 1 that keep height and width, in fp32 and bf16
 * with AVX-512: factorized ones (n x 1 and 1 x n, any dilation), as in ERFNet. oneDNN 2.6
 * reaches 64 % of the cores' peak in ERFNet's fp32 step, and 53 % in the weight gradients
 * of its bf16 step; these loops reach 68 to 87 % and 69 to 86 %
 * (docs/dev/performance.md).
 *
 * A multiply combines a 32-bit word broadcast from memory with 16 channels of the other
 * side: one fp32 value, or a pair of bf16 (AVX512-BF16's vdpbf16ps: two input channels
 * forward, two pixels in the weight gradient). So both types run the same loops: tiles of
 * 12 pixels by 32 output channels forward, 8 input by 32 output channels of a tap in the
 * weight gradient, with all sums in registers.
 *
 * Images are NHWC. Deterministic for a given number of threads. Accumulation is fp32; in
 * vdpbf16ps subnormals count as zero. Pixels outside the image count as zero, so an
 * infinite weight gives NaN at the left and right edges.
 */
#ifndef CPU_CONV_DIRECT_H
#define CPU_CONV_DIRECT_H

#include "cpu/conv/conv.h"

/* In direct_grad.c; the rest of conv_direct (cpu/conv/conv.h) in direct.c. */
size_t direct_weight_grad_scratch(const struct conv_shape *s, int threads);
void direct_weight_grad(const struct device *dev, const struct conv_shape *s,
                        const void *x, const void *dy, float *dw, float *db,
                        void *scratch);

#endif
