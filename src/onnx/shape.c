/* Ops that move elements. */
#include "onnx/convert.h"

#include "base/error.h"
#include "ops/concat.h"
#include "ops/image.h"
#include "ops/pad_end.h"
#include "ops/pad_shortcut.h"
#include "ops/position.h"
#include "ops/tokens.h"
#include "ops/view.h"

/* Returns the dims of t in memory order, for Reshape: 0 keeps the batch. */
static int stored_dims(const struct tensor *t, int64_t dim[TENSOR_DIMS])
{
    const int order[] = {IMAGE_N, IMAGE_H, IMAGE_W, IMAGE_C};

    for (int i = 0; i < t->ndim; i++)
        dim[i] = t->dim[tensor_is_image(t) ? order[i] : i];
    dim[0] = 0;
    return t->ndim;
}

/* A view moves nothing in memory (channels last). ONNX images are channels first, so they
 * are transposed before and after the reshape. */
const char *convert_view(struct convert *c, const struct node *n)
{
    const struct tensor *x = n->in[VIEW_X], *y = n->out[0];
    int64_t src[TENSOR_DIMS], dst[TENSOR_DIMS];
    int nfrom = stored_dims(x, src), nto = stored_dims(y, dst);
    const char *v = convert_value(c, x);
    bool same = nfrom == nto;

    for (int i = 0; same && i < nto; i++)
        same = src[i] == dst[i];
    if (tensor_is_image(x))
        v = convert_to_tokens(c, v);
    if (!same && x->dim[0] != y->dim[0])
        return convert_from_stored(c, v, y);
    if (!same)
        v = convert_reshape(c, v, nto, dst);
    return tensor_is_image(y) ? convert_to_image(c, v) : v;
}

/* Logical dims are ONNX's. */
const char *convert_concat_op(struct convert *c, const struct node *n)
{
    const char **in = arena_new(c->mem, (size_t)(n->nin + 1) * sizeof(*in));

    for (int i = 0; i < n->nin; i++)
        in[i] = convert_value(c, n->in[i]);
    in[n->nin] = NULL;
    return convert_concat(c, ((const struct concat_attrs *)n->attrs)->axis, in);
}

const char *convert_slice_op(struct convert *c, const struct node *n)
{
    const struct slice_attrs *a = n->attrs;

    return convert_slice(c, convert_value(c, n->in[0]), a->axis, a->first,
                         a->first + a->len, 1);
}

const char *convert_pad_end(struct convert *c, const struct node *n)
{
    const struct pad_end_attrs *a = n->attrs;

    return convert_pad(c, convert_value(c, n->in[0]), 4,
                       (const int64_t[]){0, 0, 0, 0, 0, 0, a->rows, a->columns});
}

const char *convert_pad_shortcut(struct convert *c, const struct node *n)
{
    const struct pad_shortcut_attrs *a = n->attrs;
    const char *v = convert_value(c, n->in[PAD_SHORTCUT_X]);

    if (a->stride > 1) {
        v = convert_slice(c, v, IMAGE_H, 0, a->in_h, a->stride);
        v = convert_slice(c, v, IMAGE_W, 0, a->in_w, a->stride);
    }
    return convert_pad(
        c, v, 4,
        (const int64_t[]){0, a->before, 0, 0, 0, a->out - a->in_c - a->before, 0, 0});
}

/* Expand: one copy of the tokens per image, for any batch size. */
const char *convert_prepend_token(struct convert *c, const struct node *n)
{
    const struct tensor *token = n->in[PREPEND_TOKEN_TOKEN];
    const char *x = convert_value(c, n->in[PREPEND_TOKEN_X]);
    const char *t = convert_value(c, token), *shape;

    shape = onnx_node(c->x, "Shape", ONNX_IN(x));
    onnx_int(c->x, "end", 1);
    shape = convert_concat(
        c, 0,
        ONNX_IN(shape, onnx_int64s(c->x, CONVERT_DIMS(token->dim[1], token->dim[2]))));
    t = onnx_node(c->x, "Expand", ONNX_IN(t, shape));
    return convert_concat(c, 1, ONNX_IN(t, x));
}

const char *convert_add_position(struct convert *c, const struct node *n)
{
    const struct tensor *x = n->in[ADD_POSITION_X], *p = n->in[ADD_POSITION_P];
    const char *v = convert_value(c, x), *position = convert_value(c, p);
    int64_t dim[TENSOR_DIMS];

    if (p->ndim != x->ndim) {
        (void)stored_dims(x, dim);
        dim[0] = 1;
        position = convert_reshape(c, position, x->ndim, dim);
    }
    return onnx_node(c->x, "Add", ONNX_IN(v, position));
}
