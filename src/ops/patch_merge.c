#include "ops/patch_merge.h"

#include <string.h>

#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/image.h"

enum { B, H, W, C }; /* the dims of tokens */

static const struct attr patch_merge_attr_table[] = {
    ATTR_INT(struct patch_merge_attrs, in_h, 1, 1 << 20, "rows of x"),
    ATTR_INT(struct patch_merge_attrs, in_w, 1, 1 << 20, "columns of x"),
    {0},
};

struct tensor *patch_merge(struct builder *b, struct tensor *x, const char *layer)
{
    struct patch_merge_attrs a = {
        .layer = layer, .in_h = (int)x->dim[H], .in_w = (int)x->dim[W]};

    return node(b, &op_patch_merge, layer, &a, &x, 1);
}

static const char *patch_merge_shape(struct node *n)
{
    const struct tensor *x = n->in[PATCH_MERGE_X];
    int64_t dim[] = {x->dim[B], (x->dim[H] + 1) / 2, (x->dim[W] + 1) / 2, 4 * x->dim[C]};

    if (tensor_is_image(x) || x->ndim != 4)
        return "not tokens [B,H,W,C]";
    tensor_plain(n->out[0], x->dtype, 4, dim);
    return NULL;
}

static void patch_merge_node_grad(struct builder *b, const struct node *n)
{
    struct tensor *dy = grad_of(b, n->out[0]);

    grad_add(b, n->in[PATCH_MERGE_X],
             node(b, &op_patch_merge_grad, n->layer, n->attrs, &dy, 1));
}

/* Returns the offset in the merged tensor of the channels of x's pixel (h, w), sample b. */
static int64_t merged_at(const struct tensor *y, int64_t b, int64_t h, int64_t w)
{
    int64_t quarter = h % 2 + 2 * (w % 2);

    return ((b * y->dim[H] + h / 2) * y->dim[W] + w / 2) * y->dim[C] +
           quarter * (y->dim[C] / 4);
}

static void patch_merge_ref(const struct step *s)
{
    const struct tensor *tx = s->node->in[PATCH_MERGE_X], *ty = s->node->out[0];
    const float *x = s->in[PATCH_MERGE_X];
    float *y = s->out[0];
    size_t pixel = (size_t)tx->dim[C] * sizeof(float);

    memset(y, 0, (size_t)tensor_len(ty) * sizeof(float));
    for (int64_t b = 0; b < tx->dim[B]; b++)
        for (int64_t h = 0; h < tx->dim[H]; h++)
            for (int64_t w = 0; w < tx->dim[W]; w++, x += tx->dim[C])
                memcpy(y + merged_at(ty, b, h, w), x, pixel);
}

const struct op op_patch_merge = {
    .name = "patch_merge",
    .attrs = patch_merge_attr_table,
    .attrs_size = sizeof(struct patch_merge_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = patch_merge_shape,
    .grad = patch_merge_node_grad,
    .ref = patch_merge_ref,
};

static const char *patch_merge_grad_shape(struct node *n)
{
    const struct patch_merge_attrs *a = n->attrs;
    const struct tensor *dy = n->in[PATCH_MERGE_GRAD_DY];
    int64_t dim[] = {dy->dim[B], a->in_h, a->in_w, dy->dim[C] / 4};

    if (tensor_is_image(dy) || dy->ndim != 4 || dy->dim[C] % 4 ||
        dy->dim[H] != (a->in_h + 1) / 2 || dy->dim[W] != (a->in_w + 1) / 2)
        return "dy does not fit";
    tensor_plain(n->out[0], dy->dtype, 4, dim);
    return NULL;
}

static void patch_merge_grad_ref(const struct step *s)
{
    const struct tensor *tx = s->node->out[0], *ty = s->node->in[PATCH_MERGE_GRAD_DY];
    const float *dy = s->in[PATCH_MERGE_GRAD_DY];
    float *dx = s->out[0];
    size_t pixel = (size_t)tx->dim[C] * sizeof(float);

    for (int64_t b = 0; b < tx->dim[B]; b++)
        for (int64_t h = 0; h < tx->dim[H]; h++)
            for (int64_t w = 0; w < tx->dim[W]; w++, dx += tx->dim[C])
                memcpy(dx, dy + merged_at(ty, b, h, w), pixel);
}

const struct op op_patch_merge_grad = {
    .name = "patch_merge_grad",
    .attrs = patch_merge_attr_table,
    .attrs_size = sizeof(struct patch_merge_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = patch_merge_grad_shape,
    .ref = patch_merge_grad_ref,
};
