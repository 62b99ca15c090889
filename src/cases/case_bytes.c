/* The rows of int8 layers. */
#include "cases/case_build.h"

#include "ops/add.h"
#include "ops/conv2d.h"
#include "ops/image.h"
#include "ops/linear.h"
#include "ops/qlayer.h"
#include "ops/quantize.h"
#include "ops/activation.h"

static struct tensor *param(struct case_build *c, const char *layer, const char *suffix,
                            const struct tensor *like, int ndim, const int64_t *dim)
{
    return graph_param(c->b, layer, suffix, like ? like->layout : LAYOUT_PLAIN, ndim, dim,
                       (struct init){INIT_ZERO, 0});
}

/* Gets the inputs of a layer that reads x, quantized, with weights of these dims; returns
 * their number. */
static int layer_inputs(struct case_build *c, const char *layer, struct tensor *x,
                        bool is_unsigned, bool bias, int ndim, const int64_t *dim,
                        struct tensor *in[QLAYER_BIAS + 1])
{
    const int64_t one = 1;

    in[QLAYER_INPUT_SCALE] = param(c, layer, QLAYER_INPUT_SCALE_NAME, NULL, 1, &one);
    in[QLAYER_X] =
        quantize(c->b, x, in[QLAYER_INPUT_SCALE], layer, .is_unsigned = is_unsigned);
    in[QLAYER_WEIGHT] =
        param(c, layer, QLAYER_WEIGHT_NAME, ndim == 4 ? x : NULL, ndim, dim);
    in[QLAYER_WEIGHT_SCALE] = param(c, layer, QLAYER_WEIGHT_SCALE_NAME, NULL, 1, dim);
    if (bias)
        in[QLAYER_BIAS] = param(c, layer, "bias", NULL, 1, dim);
    return bias ? QLAYER_BIAS + 1 : QLAYER_BIAS;
}

static int or_else(int value, int other)
{
    return value ? value : other;
}

static struct tensor *conv(struct case_build *c, const char *layer, struct tensor *x,
                           const struct conv2d_attrs *given, bool is_unsigned)
{
    struct conv2d_attrs a = *given;
    struct tensor *in[QLAYER_BIAS + 1];
    int nin;

    a.layer = layer;
    a.groups = or_else(a.groups, 1);
    a.kernel_h = a.kernel_w = a.kernel;
    a.stride_h = a.stride_w = or_else(a.stride, 1);
    a.pad_h = a.pad_w = a.padding;
    a.dilation_h = a.dilation_w = or_else(a.dilation, 1);
    a.in_h = (int)x->dim[IMAGE_H];
    a.in_w = (int)x->dim[IMAGE_W];
    nin = layer_inputs(
        c, layer, x, is_unsigned, a.bias, 4,
        (const int64_t[]){a.out, x->dim[IMAGE_C] / a.groups, a.kernel, a.kernel}, in);
    return qconv2d_(c->b, &a, in, nin);
}

void case_qconv2d(struct case_build *c, const struct op_case *row,
                  const struct case_size *s)
{
    struct conv2d_attrs a = *(const struct conv2d_attrs *)row->attrs;

    a.out = s->out;
    a.groups = s->groups;
    case_output(c, conv(c, "conv", case_image(c, "x", s->dim, row->fill), &a,
                        row->fill == CASE_UNIT));
}

/* The parts of a residual block: a shortcut, and a result that is also read as floats. */
void case_qchain(struct case_build *c, const struct op_case *row,
                 const struct case_size *s)
{
    const struct conv2d_attrs a = {.out = s->out, .kernel = 3, .padding = 1, .bias = 1};
    struct tensor *x = case_image(c, "x", s->dim, CASE_SIGNED), *y, *z;

    (void)row;
    y = relu(c->b, conv(c, "conv1", x, &a, false), "relu1");
    z = conv(c, "conv2", y, &a, true);
    z = relu(c->b, add(c->b, z, x, "add"), "relu2");
    y = conv(c, "conv3", z, &a, true);
    case_output(c, add(c->b, y, z, "add2"));
}

void case_qlinear(struct case_build *c, const struct op_case *row,
                  const struct case_size *s)
{
    struct linear_attrs a = {.layer = "fc", .out = s->out};
    struct tensor *x = case_plain(c, "x", s->dim, row->fill), *in[QLAYER_BIAS + 1];
    int nin = layer_inputs(c, "fc", x, row->fill == CASE_UNIT, true, 2,
                           (const int64_t[]){s->out, tensor_channels(x)}, in);

    case_output(c, qlinear_(c->b, &a, in, nin));
}
