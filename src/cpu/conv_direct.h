/*
 * Our own direct convolutions of stride 1 that keep height and width, in fp32 and bf16
 * with AVX-512: factorised ones (n x 1 and 1 x n, any dilation), as ERFNet has.
 * oneDNN 2.6 reaches 64 % of the cores' peak in ERFNet's fp32 step, and 53 % in the
 * weight gradients of its bf16 step; these loops 68 to 87 % and 69 to 86 %
 * (docs/performance.md).
 *
 * A multiply takes a word of 32 bits broadcast from memory and 16 channels of the other
 * side: one fp32 value, or a pair of bf16 (AVX512-BF16's vdpbf16ps: two input channels
 * forward, two pixels in the weight gradient). So both types run the same loops: tiles of
 * 12 pixels by 32 output channels forward, 8 input by 32 output channels of a tap in the
 * weight gradient, all sums in registers.
 *
 *   direct_supported(&shape)    this machine and this shape can
 *   direct_pack(...)            fp32 OHWI weights to the packing of one direction
 *   direct_forward(...)         y = relu(conv(x) + bias); dx from dy, masked by a relu
 *   direct_weight_grad(...)     dw, fp32 OHWI, and db
 *
 * Images are NHWC. Deterministic for a given number of threads. Accumulation is fp32; in
 * vdpbf16ps subnormals count as zero. What lies outside of the image counts as zero, so
 * an infinite weight gives NaN at the left and right edges.
 */
#ifndef CPU_CONV_DIRECT_H
#define CPU_CONV_DIRECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpu/device.h"
#include "graph/tensor.h"

struct direct {
    enum dtype type; /* of x and y: DTYPE_F32 or DTYPE_BF16 */
    int n, h, w;     /* of x and y */
    int c, k;        /* channels in and out */
    int kernel_h, kernel_w, dilation_h, dilation_w; /* the padding follows: "same" */
};

bool direct_supported(const struct direct *s);

/* The data gradient of s is a forward convolution of this shape. */
struct direct direct_backward(const struct direct *s);

/* Bytes of the packed weights; the same for both directions. */
size_t direct_packed(const struct direct *s);
/* s: of the forward convolution, w: its weights; backward: packed for its gradient. */
void direct_pack(const struct device *dev, const struct direct *s, void *packed,
                 const float *w, bool backward);

/* Scratch bytes of the calls below. */
size_t direct_forward_scratch(const struct direct *s, int threads);
size_t direct_weight_grad_scratch(const struct direct *s, int threads);

struct direct_args {
    const void *x, *packed;
    const float *bias; /* [k], or NULL */
    const void *mask;  /* of y's shape: y is 0 where this is 0 or less; or NULL */
    void *y;
    bool relu;
    void *scratch;
};

void direct_forward(const struct device *dev, const struct direct *s,
                    const struct direct_args *a);
/* db[k]: the bias's gradient, or NULL */
void direct_weight_grad(const struct device *dev, const struct direct *s, const void *x,
                        const void *dy, float *dw, float *db, void *scratch);

#endif
