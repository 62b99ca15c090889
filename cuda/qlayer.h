/*
 * Our kernels before and after cuDNN's int8 convolution: its inputs, and the conversion
 * of its sums. All run on dev->stream.
 */
#ifndef CUDA_QLAYER_H
#define CUDA_QLAYER_H

#include "cuda/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Copies bytes to cuDNN's layout: int8 with `stored` channels, a multiple of 4, first
 * those of src. `offset`: src is uint8, and dst is src minus 128.
 */
void cuda_qlayer_stage(struct device *dev, int8_t *dst, int64_t stored, const void *src,
                       int64_t channels, int64_t pixels, bool offset);

/*
 * Weights [filters][taps][channels], integers in fp32, as int8 padded with zeros:
 * [wide][taps] [stored].
 */
struct qlayer_weights {
    int64_t filters, wide, taps, channels, stored;
};
void cuda_qlayer_weights(struct device *dev, int8_t *dst, const float *w,
                         const struct qlayer_weights *size);

/*
 * 128 times the sums of weights over all taps above and left of tap (r, s), int32 [rows +
 * 1][columns + 1][filters] for weights of rows * columns taps: gives the correction of a
 * sum over any window of taps for bytes reduced by 128.
 */
void cuda_qlayer_offsets(struct device *dev, int32_t *dst, const float *w, int rows,
                         int columns, int64_t filters, int64_t channels);

/* One axis of a convolution, to find the taps of a result that are within the image. */
struct qlayer_axis {
    int in, out, taps, stride, pad, dilation;
};

/* Conversion of the sums; pointers may be NULL if a layer does not use them. */
struct qlayer_finish {
    const int32_t *sum;           /* [rows][wide] */
    int64_t rows, wide, out;      /* out: channels of the result, at most wide */
    /* scale [out]: of the weights; x_scale [1]: of the input */
    const float *scale, *x_scale;
    const float *bias;            /* [out] */
    const int32_t *offsets;       /* cuda_qlayer_offsets() */
    /* for the offsets; row = (image * h.out + y) * w.out + x */
    struct qlayer_axis h, w;
    const float *other;           /* the shortcut [rows][out] */
    int relu;
    float *floats;        /* result, [rows][out] */
    uint8_t *bytes;       /* quantized result, [rows][out] */
    const float *y_scale; /* scale of bytes, [1] */
    int is_unsigned;      /* bytes are uint8 */
};
void cuda_qlayer_finish(struct device *dev, const struct qlayer_finish *f);

#ifdef __cplusplus
}
#endif

#endif
