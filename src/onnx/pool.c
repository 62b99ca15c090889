/* Pooling. */
#include "onnx/convert.h"
#include "ops/avgpool2d.h"
#include "ops/image.h"
#include "ops/maxpool2d.h"
#include "ops/separable.h"

static const char *pool(struct convert *c, const struct node *n, const char *op)
{
    const struct pool2d_attrs *a = n->attrs;
    const char *y = onnx_node(c->x, op, ONNX_IN(convert_value(c, n->in[0])));
    const int64_t kernel[] = {a->kernel_h, a->kernel_w};
    const int64_t stride[] = {a->stride_h, a->stride_w};
    const int64_t pad[] = {a->pad_h, a->pad_w, a->pad_h, a->pad_w};

    onnx_ints(c->x, "kernel_shape", 2, kernel);
    onnx_ints(c->x, "strides", 2, stride);
    onnx_ints(c->x, "pads", 4, pad);
    onnx_int(c->x, "ceil_mode", a->ceil_mode);
    return y;
}

/* The maximum over the windows of one axis of an adaptive pool: ONNX has none. */
static const char *largest(struct convert *c, const struct pool2d_attrs *a, int axis,
                           int64_t out, const char *x)
{
    const char **part = arena_new(c->mem, (size_t)(out + 1) * sizeof(*part));

    for (int64_t o = 0; o < out; o++) {
        int64_t first, end;

        (void)pool2d_span(a, axis, o, &first, &end);
        part[o] = onnx_node(c->x, "ReduceMax",
                            ONNX_IN(convert_slice(c, x, axis, first, end, 1)));
        onnx_ints(c->x, "axes", 1, (const int64_t[]){axis});
    }
    return convert_concat(c, axis, part);
}

const char *convert_maxpool(struct convert *c, const struct node *n)
{
    const struct pool2d_attrs *a = n->attrs;

    if (!a->out_h)
        return pool(c, n, "MaxPool");
    return largest(
        c, a, IMAGE_W, a->out_w,
        largest(c, a, IMAGE_H, a->out_h, convert_value(c, n->in[MAXPOOL2D_X])));
}

const char *convert_avgpool(struct convert *c, const struct node *n)
{
    const struct pool2d_attrs *a = n->attrs;
    const char *y;

    if (a->out_h)
        return convert_separable(c, n);
    y = pool(c, n, "AveragePool");
    onnx_int(c->x, "count_include_pad", a->count_include_pad);
    return y;
}

const char *convert_global_avgpool(struct convert *c, const struct node *n)
{
    return onnx_node(c->x, "GlobalAveragePool", ONNX_IN(convert_value(c, n->in[0])));
}
