/*
 * qconv2d and qlinear: an int8 convolution and linear layer, for inference.
 *
 *   y[o] = (sum of x w[o]) input_scale weight_scale[o] + bias[o]
 *
 * x is uint8 or int8 (ops/quantize.h); w are integers in [-127, 127], fp32 in memory like
 * all parameters, [O,...] like those of conv2d and linear; the sum is exact, y fp32.
 * There are no zero points, so padding is zero. The attributes are those of the float op
 * (ops/conv2d.h, ops/linear.h), whose bias is an optional fifth input.
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
    QLAYER_BIAS          /* [O]; optional */
};

/* Suffixes of the parameters, after the layer's name and a dot. */
#define QLAYER_WEIGHT_NAME       "weight_int8"
#define QLAYER_WEIGHT_SCALE_NAME "weight_scale"
#define QLAYER_INPUT_SCALE_NAME  "input_scale"

/* Attributes are complete, as in a node of conv2d or linear. */
struct conv2d_attrs;
struct linear_attrs;
struct tensor *qconv2d_(struct builder *b, const struct conv2d_attrs *a,
                        struct tensor *const *in, int nin);
struct tensor *qlinear_(struct builder *b, const struct linear_attrs *a,
                        struct tensor *const *in, int nin);

extern const struct op op_qconv2d, op_qlinear;

/* True if the bytes of x, made by a quantize, are uint8. */
bool qlayer_is_unsigned(const struct node *n);

/* Element i of x as an integer. */
static inline int qlayer_byte(const void *x, bool is_unsigned, int64_t i)
{
    return is_unsigned ? ((const uint8_t *)x)[i] : ((const int8_t *)x)[i];
}

/* Returns the result of channel o from its exact sum; `bias` may be NULL. */
HOST_DEVICE static inline float qlayer_result(int64_t sum, float input_scale,
                                              float weight_scale, const float *bias,
                                              int64_t o)
{
    return (float)sum * (input_scale * weight_scale) + (bias ? bias[o] : 0);
}

/* Shared by both shapes: checks vectors with one number per channel. Returns NULL, or the
 * error. */
const char *qlayer_check(const struct node *n, int64_t out);

#ifdef __cplusplus
}
#endif

#endif
