/*
 * Our own 3x3 convolutions for narrow bf16 layers: padding 1, stride 1 or 2, channels 3,
 * 16, 32, or 64 in, 16, 32, or 64 out, as in CIFAR ResNets. oneDNN 2.6 reaches 55 to 65 %
 * of the cores' bf16 peak on these; these loops reach 80 to 90 %. Nothing is fused: in
 * training, a batch norm follows, which reads the result anyway.
 *
 * Every multiply is AVX512-BF16's vdpbf16ps: 16 output channels in a register, one pair
 * of input values (two channels forward, two pixels for the weight gradient) broadcast
 * from memory. So each multiply has one load, and two load ports keep two multipliers
 * busy.
 *
 * Images are NHWC bf16 bits. Deterministic for a given number of threads. Accumulation is
 * fp32; in vdpbf16ps subnormals count as zero.
 */
#ifndef CPU_CONV_NARROW_H
#define CPU_CONV_NARROW_H

#include "cpu/conv/conv.h"

/* In narrow_grad.c; the rest of conv_narrow (cpu/conv/conv.h) in narrow.c. */
size_t narrow_weight_grad_scratch(const struct conv_shape *s, int threads);
void narrow_weight_grad(const struct device *dev, const struct conv_shape *s,
                        const void *x, const void *dy, float *dw, float *db,
                        void *scratch);

#endif
