#include "ops/conv_transpose2d.h"

#include "base/error.h"
#include "ops/conv2d.h"
#include "ops/image.h"

static int64_t grown(const struct conv_transpose2d_attrs *a, int64_t in)
{
    return (in - 1) * a->stride - 2 * (int64_t)a->padding + a->kernel + a->output_padding;
}

/* Returns the convolution whose data gradient this is: from the result to x. */
static struct conv2d_attrs adjoint(const struct conv_transpose2d_attrs *a,
                                   const struct tensor *x)
{
    return (struct conv2d_attrs){
        .layer = a->layer,
        .out = (int)x->dim[IMAGE_C],
        .kernel = a->kernel,
        .kernel_h = a->kernel,
        .kernel_w = a->kernel,
        .stride = a->stride,
        .stride_h = a->stride,
        .stride_w = a->stride,
        .padding = a->padding,
        .pad_h = a->padding,
        .pad_w = a->padding,
        .dilation = 1,
        .dilation_h = 1,
        .dilation_w = 1,
        .groups = 1,
        .in_h = (int)grown(a, x->dim[IMAGE_H]),
        .in_w = (int)grown(a, x->dim[IMAGE_W]),
    };
}

struct tensor *conv_transpose2d_(struct builder *b, struct tensor *x,
                                 const struct conv_transpose2d_attrs *a)
{
    struct conv_transpose2d_attrs r = *a;

    r.stride = r.stride ? r.stride : 1;
    if (!tensor_is_image(x))
        die("%s: conv_transpose2d: not an image", r.layer);
    if (r.output_padding >= r.stride)
        die("%s: conv_transpose2d: output_padding %d must be below the stride %d",
            r.layer, r.output_padding, r.stride);

    struct conv2d_attrs c = adjoint(&r, x);
    int64_t taps = (int64_t)r.kernel * r.kernel, in = x->dim[IMAGE_C], out = r.out;
    int64_t dim[] = {in, out, r.kernel, r.kernel};
    enum init_rule init = r.init ? (enum init_rule)r.init : INIT_RULE_PYTORCH;
    enum init_rule bias = r.bias_init ? (enum init_rule)r.bias_init : INIT_RULE_PYTORCH;
    struct tensor *dst[3] = {[CONV2D_DATA_GRAD_DY] = x};

    dst[CONV2D_DATA_GRAD_WEIGHT] =
        graph_param(b, r.layer, "weight", LAYOUT_IMAGE, 4, dim,
                    init_rule_init(init, out * taps, in * taps));
    if (r.bias)
        dst[CONV2D_DATA_GRAD_BIAS] =
            graph_param(b, r.layer, "bias", LAYOUT_PLAIN, 1, &out,
                        init_rule_init(bias, out * taps, in * taps));
    return node(b, &op_conv2d_data_grad, r.layer, &c, dst, r.bias ? 3 : 2);
}
