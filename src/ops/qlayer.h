/*
 * qconv2d and qlinear: a convolution and a linear layer of 8-bit integers, for inference.
 *
 *   y[o] = (sum of x w[o]) input_scale weight_scale[o] + bias[o]
 *
 * x is uint8 or int8 (ops/quantize.h); w are integers in [-127, 127], fp32 in memory as
 * all parameters, [O,...] like those of conv2d and linear; the sum is exact, y fp32.
 * There are no zero points, so padding is zero. The attributes are those of the op in
 * floats (ops/conv2d.h, ops/linear.h), whose bias is a fifth input or not there.
 */
#ifndef OPS_QLAYER_H
#define OPS_QLAYER_H

#include "base/hostdev.h"
#include "graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    QLAYER_X,
    QLAYER_WEIGHT,
    QLAYER_WEIGHT_SCALE, /* [O] */
    QLAYER_INPUT_SCALE,  /* [1] */
    QLAYER_BIAS          /* [O], or no such input */
};

/* How the parameters are called: after the name of the layer and a dot. */
#define QLAYER_WEIGHT_NAME       "weight_int8"
#define QLAYER_WEIGHT_SCALE_NAME "weight_scale"
#define QLAYER_INPUT_SCALE_NAME  "input_scale"

/* Attributes are complete, as they stand in a node of conv2d or linear. */
struct conv2d_attrs;
struct linear_attrs;
struct tensor *qconv2d_(struct builder *b, const struct conv2d_attrs *a,
                        struct tensor *const *in, int nin);
struct tensor *qlinear_(struct builder *b, const struct linear_attrs *a,
                        struct tensor *const *in, int nin);

extern const struct op op_qconv2d, op_qlinear;

/* Are the bytes of x, which a quantize has made, uint8? */
bool qlayer_is_unsigned(const struct node *n);

/* Element i of x as an integer. */
static inline int qlayer_byte(const void *x, bool is_unsigned, int64_t i)
{
    return is_unsigned ? ((const uint8_t *)x)[i] : ((const int8_t *)x)[i];
}

/* What the exact sum of channel o becomes; `bias` may be NULL. */
HOST_DEVICE static inline float qlayer_result(int64_t sum, float input_scale,
                                              float weight_scale, const float *bias,
                                              int64_t o)
{
    return (float)sum * (input_scale * weight_scale) + (bias ? bias[o] : 0);
}

/* Part of both shapes: what has one number for each channel. NULL, or what is wrong. */
const char *qlayer_check(const struct node *n, int64_t out);

#ifdef __cplusplus
}
#endif

#endif
