/*
 * Our own 3x3 convolutions for narrow layers in bf16: padding 1, stride 1 or 2, channels
 * 3 or a multiple of 16 in, a multiple of 16 out, as CIFAR ResNets have. oneDNN 2.6
 * reaches 55 to 65 % of the cores' bf16 peak on these; the loops here 80 to 90 %.
 *
 * Every multiply is AVX512-BF16's vdpbf16ps: 16 output channels in a register, one pair
 * of input values (two channels forward, two pixels for the weight gradient) broadcast
 * from memory. That is two flops pairs a load, so both load ports and both multipliers
 * are full.
 *
 *   narrow_supported(&shape)    this machine and this shape can
 *   narrow_pack(...)            fp32 OHWI weights to the packing of one direction
 *   narrow_forward(...)         y = conv(x); with the backward packing: dx from dy
 *   narrow_weight_grad(...)     dw, fp32 OHWI
 *
 * Images are NHWC bf16 bits. Deterministic for a given number of threads. Accumulation is
 * fp32; in vdpbf16ps subnormals count as zero.
 */
#ifndef CPU_CONV_NARROW_H
#define CPU_CONV_NARROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct narrow {
    int n, h, w,
        c; /* of x; the data gradient of stride 1 is a forward with c and k swapped */
    int k; /* output channels */
    int stride;
};

bool narrow_supported(const struct narrow *s);
bool narrow_data_grad_supported(const struct narrow *s); /* of this forward convolution */

/* bf16 values of the packed weights; the same for both directions. */
size_t narrow_packed_len(const struct narrow *s);
void narrow_pack(const struct narrow *s, uint16_t *dst, const float *w, bool backward);

/* Scratch bytes for either call below, for `threads` threads. */
size_t narrow_scratch(const struct narrow *s, int threads);

void narrow_forward(const struct narrow *s, const uint16_t *x, const uint16_t *packed,
                    uint16_t *y, void *scratch);
void narrow_weight_grad(const struct narrow *s, const uint16_t *x, const uint16_t *dy,
                        float *dw, void *scratch);

#endif
