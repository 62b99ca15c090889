#include "ops/view.h"

#include <string.h>

#include "base/error.h"
#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/image.h"

static const struct attr view_attr_table[] = {
    ATTR_INT(struct view_attrs, layout, LAYOUT_PLAIN, LAYOUT_IMAGE, "of the result"),
    ATTR_INT(struct view_attrs, ndim, 1, TENSOR_DIMS, "dims of the result"),
    {0},
};

static struct tensor *view(struct builder *b, struct tensor *x, const char *layer,
                           enum layout layout, int ndim, const int64_t *dim)
{
    struct view_attrs a = {.layer = layer, .layout = (int)layout, .ndim = ndim};

    if (ndim < 1 || ndim > TENSOR_DIMS)
        BUG("layer '%s': a view of %d dims", layer, ndim);
    memcpy(a.dim, dim, (size_t)ndim * sizeof(*dim));
    if (x->layout == layout && x->ndim == ndim &&
        !memcmp(x->dim, dim, (size_t)ndim * sizeof(*dim)))
        return x;
    return node(b, &op_view, layer, &a, &x, 1);
}

struct tensor *view_tokens(struct builder *b, struct tensor *x, const char *layer)
{
    if (!tensor_is_image(x))
        BUG("layer '%s': '%s' is not an image", layer, x->name);
    return view(b, x, layer, LAYOUT_PLAIN, 4,
                (const int64_t[]){x->dim[IMAGE_N], x->dim[IMAGE_H], x->dim[IMAGE_W],
                                  x->dim[IMAGE_C]});
}

struct tensor *view_image(struct builder *b, struct tensor *x, const char *layer)
{
    if (tensor_is_image(x) || x->ndim != 4)
        BUG("layer '%s': '%s' is not plain [N,H,W,C]", layer, x->name);
    return view(b, x, layer, LAYOUT_IMAGE, 4,
                (const int64_t[]){x->dim[0], x->dim[3], x->dim[1], x->dim[2]});
}

struct tensor *view_plain(struct builder *b, struct tensor *x, const char *layer,
                          int ndim, const int64_t *dim)
{
    if (tensor_is_image(x))
        BUG("layer '%s': '%s' is an image: view_tokens() first", layer, x->name);
    return view(b, x, layer, LAYOUT_PLAIN, ndim, dim);
}

struct tensor *view_like(struct builder *b, struct tensor *x, const struct tensor *like,
                         const char *layer)
{
    return view(b, x, layer, like->layout, like->ndim, like->dim);
}

static const char *view_shape(struct node *n)
{
    const struct view_attrs *a = n->attrs;
    const struct tensor *x = n->in[VIEW_X];

    tensor_plain(n->out[0], x->dtype, a->ndim, a->dim);
    n->out[0]->layout = (enum layout)a->layout;
    if (tensor_len(n->out[0]) != tensor_len(x))
        return "a view has the same number of elements";
    return NULL;
}

static void view_grad(struct builder *b, const struct node *n)
{
    struct tensor *x = n->in[VIEW_X];

    grad_add(b, x, view_like(b, grad_of(b, n->out[0]), x, n->layer));
}

static void view_ref(const struct step *s)
{
    memcpy(s->out[0], s->in[VIEW_X], (size_t)tensor_len(s->node->out[0]) * sizeof(float));
}

const struct op op_view = {
    .name = "view",
    .attrs = view_attr_table,
    .attrs_size = sizeof(struct view_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .view = true,
    .shape = view_shape,
    .grad = view_grad,
    .ref = view_ref,
};
