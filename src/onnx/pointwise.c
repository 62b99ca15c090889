/* Ops on single elements, channels, or positions. */
#include "onnx/convert.h"
#include "ops/image.h"
#include "ops/layer_scale.h"
#include "ops/layernorm.h"
#include "ops/scale_channels.h"
#include "ops/unscale.h"

const char *convert_add(struct convert *c, const struct node *n)
{
    const char *y = convert_value(c, n->in[0]);

    for (int i = 1; i < n->nin; i++)
        y = onnx_node(c->x, "Add", ONNX_IN(y, convert_value(c, n->in[i])));
    return y;
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
