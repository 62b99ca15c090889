#include "onnx/convert.h"

const char *convert_transpose(struct convert *c, const char *v, int n,
                              const int64_t *perm)
{
    const char *y = onnx_node(c->x, "Transpose", ONNX_IN(v));

    onnx_ints(c->x, "perm", n, perm);
    return y;
}

const char *convert_reshape(struct convert *c, const char *v, int n, const int64_t *dim)
{
    return onnx_node(c->x, "Reshape", ONNX_IN(v, onnx_int64s(c->x, n, dim)));
}

const char *convert_slice(struct convert *c, const char *v, int axis, int64_t from,
                          int64_t to, int64_t step)
{
    int64_t a = axis;

    return onnx_node(c->x, "Slice",
                     ONNX_IN(v, onnx_int64s(c->x, 1, &from), onnx_int64s(c->x, 1, &to),
                             onnx_int64s(c->x, 1, &a), onnx_int64s(c->x, 1, &step)));
}

const char *convert_pad(struct convert *c, const char *v, int n, const int64_t *amount)
{
    for (int i = 0; i < 2 * n; i++)
        if (amount[i])
            return onnx_node(c->x, "Pad", ONNX_IN(v, onnx_int64s(c->x, 2 * n, amount)));
    return v;
}

const char *convert_concat(struct convert *c, int axis, const char *const *in)
{
    const char *y = onnx_node(c->x, "Concat", in);

    onnx_int(c->x, "axis", axis);
    return y;
}

const char *convert_to_tokens(struct convert *c, const char *v)
{
    return convert_transpose(c, v, CONVERT_DIMS(0, 2, 3, 1));
}

const char *convert_to_image(struct convert *c, const char *v)
{
    return convert_transpose(c, v, CONVERT_DIMS(0, 3, 1, 2));
}
