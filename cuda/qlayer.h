/*
 * Own kernels around cuDNN's convolution of int8: what it reads and what its sums become.
 * All run on dev->stream.
 */
#ifndef CUDA_QLAYER_H
#define CUDA_QLAYER_H

#include "cuda/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Bytes as cuDNN takes them: int8 with `stored` channels, a multiple of 4, the first of
 * them src's. `offset`: src is uint8, and dst is 128 less.
 */
void cuda_qlayer_stage(struct device *dev, int8_t *dst, int64_t stored, const void *src,
                       int64_t channels, int64_t pixels, bool offset);

/*
 * Weights [filters][taps][channels] of integers in fp32 as int8 with zeros after both:
 * [wide][taps][stored].
 */
struct qlayer_weights {
    int64_t filters, wide, taps, channels, stored;
};
void cuda_qlayer_weights(struct device *dev, int8_t *dst, const float *w,
                         const struct qlayer_weights *size);

/*
 * 128 times the sums of weights over all taps above and left of tap (r, s), int32
 * [rows + 1][columns + 1][filters] for weights of rows * columns taps: what a sum over
 * any window of taps lacks because its bytes are 128 less.
 */
void cuda_qlayer_offsets(struct device *dev, int32_t *dst, const float *w, int rows,
                         int columns, int64_t filters, int64_t channels);

/* One axis of a convolution: which taps of a result lie within the image. */
struct qlayer_axis {
    int in, out, taps, stride, pad, dilation;
};

/* What becomes of the sums; pointers may be NULL where a layer has no such thing. */
struct qlayer_finish {
    const int32_t *sum;           /* [rows][wide] */
    int64_t rows, wide, out;      /* out: channels of the result, at most wide */
    const float *scale, *x_scale; /* of weights [out], of the input [1] */
    const float *bias;            /* [out] */
    const int32_t *offsets;       /* cuda_qlayer_offsets() */
    struct qlayer_axis h, w;      /* for them; row = (image * h.out + y) * w.out + x */
    const float *other;           /* the shortcut [rows][out] */
    int relu;
    float *floats;        /* result, [rows][out] */
    uint8_t *bytes;       /* quantized result, [rows][out] */
    const float *y_scale; /* of it, [1] */
    int is_unsigned;      /* it is uint8 */
};
void cuda_qlayer_finish(struct device *dev, const struct qlayer_finish *f);

#ifdef __cplusplus
}
#endif

#endif
