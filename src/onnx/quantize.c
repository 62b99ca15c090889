/*
 * Int8 layers as QDQ: quantized values are dequantized before an fp32 operator, and
 * runtimes fuse the three into one int8 operator.
 */
#include "ops/quantize.h"
#include "onnx/convert.h"
#include "ops/conv2d.h"
#include "ops/image.h"
#include "ops/linear.h"
#include "ops/qlayer.h"

/* The scale of an input is a scalar in ONNX and a vector of one in the graph. */
static const char *input_scale(struct convert *c, const struct tensor *scale)
{
    const char **value = &c->value[scale->id];

    if (!*value)
        *value = onnx_tensor(c->x, scale->name, ONNX_FLOAT, 0, NULL,
                             convert_weights(c, scale));
    return *value;
}

const char *convert_quantize(struct convert *c, const struct node *n)
{
    const struct quantize_attrs *a = n->attrs;

    return onnx_node(c->x, "QuantizeLinear",
                     ONNX_IN(convert_value(c, n->in[QUANTIZE_X]),
                             input_scale(c, n->in[QUANTIZE_SCALE]),
                             onnx_zero_byte(c->x, a->is_unsigned)));
}

static const char *input(struct convert *c, const struct node *n)
{
    const struct tensor *x = n->in[QLAYER_X];

    return onnx_node(c->x, "DequantizeLinear",
                     ONNX_IN(convert_value(c, x),
                             input_scale(c, n->in[QLAYER_INPUT_SCALE]),
                             onnx_zero_byte(c->x, qlayer_is_unsigned(n))));
}

static const char *weights(struct convert *c, const struct node *n)
{
    const struct tensor *w = n->in[QLAYER_WEIGHT];
    const float *src = convert_weights(c, w);
    int8_t *bytes = arena_new(c->mem, (size_t)tensor_len(w));
    const char *v;

    for (int64_t i = 0; i < tensor_len(w); i++)
        bytes[i] = (int8_t)src[i];
    v = onnx_tensor(c->x, w->name, ONNX_INT8, w->ndim, w->dim, bytes);
    v = onnx_node(c->x, "DequantizeLinear",
                  ONNX_IN(v, convert_value(c, n->in[QLAYER_WEIGHT_SCALE])));
    onnx_int(c->x, "axis", 0);
    return v;
}

static const char *bias(struct convert *c, const struct node *n)
{
    return n->nin > QLAYER_BIAS ? convert_value(c, n->in[QLAYER_BIAS]) : NULL;
}

const char *convert_qconv2d(struct convert *c, const struct node *n)
{
    const char *x = input(c, n), *w = weights(c, n), *y;

    y = onnx_node(c->x, "Conv", ONNX_IN(x, w, bias(c, n)));
    convert_windows(c, n->attrs);
    return y;
}

const char *convert_qlinear(struct convert *c, const struct node *n)
{
    const struct tensor *t = n->in[QLAYER_X];
    const char *x = input(c, n), *w = weights(c, n);

    if (tensor_is_image(t))
        x = onnx_node(c->x, "Flatten", ONNX_IN(x));
    return convert_dense(c, x, w, bias(c, n), tensor_is_image(t) || t->ndim == 2);
}
