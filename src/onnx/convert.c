#include "onnx/convert.h"

#include "base/error.h"
#include "onnx/export.h"
#include "ops/image.h"

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

const char *convert_slice(struct convert *c, const char *v, int axis, int64_t begin,
                          int64_t end, int64_t step)
{
    int64_t a = axis;

    return onnx_node(c->x, "Slice",
                     ONNX_IN(v, onnx_int64s(c->x, 1, &begin), onnx_int64s(c->x, 1, &end),
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

bool convert_is_batch(int64_t dim)
{
    return dim && dim % ONNX_BATCH == 0;
}

const char *convert_batch(struct convert *c)
{
    const char *v = onnx_node(c->x, "Shape", ONNX_IN("input"));

    onnx_int(c->x, "end", 1);
    return v;
}

const char *convert_dims(struct convert *c, const char *v, int n, const int64_t *dim)
{
    int64_t dst[TENSOR_DIMS * 4];
    int batches = 0;

    for (int i = 0; i < n; i++) {
        dst[i] = convert_is_batch(dim[i]) ? -1 : dim[i];
        batches += dst[i] < 0;
    }
    if (batches > 1)
        die("a layer whose dims depend on the batch twice cannot be exported to ONNX");
    return convert_reshape(c, v, n, dst);
}

const char *convert_places(struct convert *c, const struct node *n, int64_t count,
                           const int64_t *place)
{
    const char *name = arena_printf(c->mem, "%s.places%d", n->layer, n->index);

    return onnx_tensor(c->x, name, ONNX_INT64, 1, &count, place);
}

const char *convert_stored(struct convert *c, const struct tensor *t)
{
    const char *v = convert_value(c, t);

    return tensor_is_image(t) ? convert_to_tokens(c, v) : v;
}

const char *convert_from_stored(struct convert *c, const char *v, const struct tensor *t)
{
    const int64_t *d = t->dim;

    if (!tensor_is_image(t))
        return convert_dims(c, v, t->ndim, d);
    return convert_to_image(
        c,
        convert_dims(c, v, CONVERT_DIMS(d[IMAGE_N], d[IMAGE_H], d[IMAGE_W], d[IMAGE_C])));
}
