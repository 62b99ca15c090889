/* Ops on single elements, channels, or positions. */
#include "base/error.h"
#include "onnx/convert.h"
#include "ops/gelu.h"
#include "ops/image.h"
#include "ops/layer_scale.h"
#include "ops/layernorm.h"
#include "ops/relu.h"
#include "ops/scale_by.h"
#include "ops/scale_channels.h"
#include "ops/unscale.h"

const char *convert_relu(struct convert *c, const struct node *n)
{
    const struct relu_attrs *a = n->attrs;
    const char *x = convert_value(c, n->in[RELU_X]);

    if (a->limit > 0)
        return onnx_node(c->x, "Clip",
                         ONNX_IN(x, onnx_scalar(c->x, 0), onnx_scalar(c->x, a->limit)));
    return onnx_node(c->x, "Relu", ONNX_IN(x));
}

const char *convert_sigmoid(struct convert *c, const struct node *n)
{
    return onnx_node(c->x, "Sigmoid", ONNX_IN(convert_value(c, n->in[0])));
}

/* x (1 + erf(x / sqrt 2)) / 2: ONNX has Gelu only since operator set 20. */
const char *convert_gelu(struct convert *c, const struct node *n)
{
    const char *x = convert_value(c, n->in[GELU_X]), *y;

    if (((const struct gelu_attrs *)n->attrs)->tanh)
        die("layer '%s': gelu with tanh cannot be exported to ONNX", n->layer);
    y = onnx_node(c->x, "Mul", ONNX_IN(x, onnx_scalar(c->x, 0.707106781f)));
    y = onnx_node(c->x, "Erf", ONNX_IN(y));
    y = onnx_node(c->x, "Add", ONNX_IN(y, onnx_scalar(c->x, 1)));
    y = onnx_node(c->x, "Mul", ONNX_IN(y, x));
    return onnx_node(c->x, "Mul", ONNX_IN(y, onnx_scalar(c->x, 0.5f)));
}

const char *convert_add(struct convert *c, const struct node *n)
{
    const char *y = convert_value(c, n->in[0]);

    for (int i = 1; i < n->nin; i++)
        y = onnx_node(c->x, "Add", ONNX_IN(y, convert_value(c, n->in[i])));
    return y;
}

const char *convert_scale_by(struct convert *c, const struct node *n)
{
    const struct scale_by_attrs *a = n->attrs;

    return onnx_node(
        c->x, "Mul",
        ONNX_IN(convert_value(c, n->in[SCALE_BY_X]), onnx_scalar(c->x, a->factor)));
}

const char *convert_layer_scale(struct convert *c, const struct node *n)
{
    const char *x = convert_value(c, n->in[LAYER_SCALE_X]);
    const char *gamma = convert_value(c, n->in[LAYER_SCALE_GAMMA]);

    if (tensor_is_image(n->in[LAYER_SCALE_X]))
        gamma = convert_reshape(c, gamma, CONVERT_DIMS(1, -1, 1, 1));
    return onnx_node(c->x, "Mul", ONNX_IN(x, gamma));
}

const char *convert_scale_channels(struct convert *c, const struct node *n)
{
    return onnx_node(c->x, "Mul",
                     ONNX_IN(convert_value(c, n->in[SCALE_CHANNELS_X]),
                             convert_value(c, n->in[SCALE_CHANNELS_S])));
}

const char *convert_unscale(struct convert *c, const struct node *n)
{
    const char *y = onnx_node(c->x, "Mul",
                              ONNX_IN(convert_value(c, n->in[UNSCALE_VALUES]),
                                      convert_value(c, n->in[UNSCALE_STD])));

    return onnx_node(c->x, "Add", ONNX_IN(y, convert_value(c, n->in[UNSCALE_MEAN])));
}

/* Returns ones for a norm without weights: LayerNormalization requires a scale. */
static const char *ones(struct convert *c, const struct node *n)
{
    int64_t channels = tensor_channels(n->in[LAYERNORM_X]);
    float *one = arena_new(c->mem, (size_t)channels * sizeof(*one));

    for (int64_t i = 0; i < channels; i++)
        one[i] = 1;
    return onnx_tensor(c->x, arena_printf(c->mem, "%s.ones", n->layer), ONNX_FLOAT, 1,
                       &channels, one);
}

const char *convert_layernorm(struct convert *c, const struct node *n)
{
    const struct layernorm_attrs *a = n->attrs;
    const char *x = convert_value(c, n->in[LAYERNORM_X]), *y, *w, *b = NULL;
    bool image = tensor_is_image(n->in[LAYERNORM_X]);

    if (image)
        x = convert_to_tokens(c, x);
    w = a->no_affine ? ones(c, n) : convert_value(c, n->in[LAYERNORM_WEIGHT]);
    if (!a->no_affine)
        b = convert_value(c, n->in[LAYERNORM_BIAS]);
    y = onnx_node(c->x, "LayerNormalization", ONNX_IN(x, w, b));
    onnx_int(c->x, "axis", -1);
    onnx_float(c->x, "epsilon", a->eps);
    return image ? convert_to_image(c, y) : y;
}
