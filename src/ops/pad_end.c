#include "ops/pad_end.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/conv2d.h"
#include "ops/image.h"
#include "ops/lower.h"

static const struct attr pad_end_attr_table[] = {
    ATTR_INT(struct pad_end_attrs, rows, 0, 1024, "rows of zeros below"),
    ATTR_INT(struct pad_end_attrs, columns, 0, 1024, "columns of zeros on the right"),
    {0},
};

struct tensor *pad_end_(struct builder *b, struct tensor *x,
                        const struct pad_end_attrs *a)
{
    return node(b, &op_pad_end, a->layer, a, &x, 1);
}

/* The result has `sign` times as many rows and columns more. */
static const char *pad_end_sizes(struct node *n, int sign)
{
    const struct pad_end_attrs *a = n->attrs;
    const struct tensor *x = n->in[0];
    int64_t h, w;

    if (!tensor_is_image(x))
        return "not an image";
    h = x->dim[IMAGE_H] + (int64_t)sign * a->rows;
    w = x->dim[IMAGE_W] + (int64_t)sign * a->columns;
    if (h < 1 || w < 1)
        return "nothing is left of the image";
    tensor_image(n->out[0], x->dtype, x->dim[IMAGE_N], x->dim[IMAGE_C], h, w);
    return NULL;
}

static const char *pad_end_shape(struct node *n)
{
    return pad_end_sizes(n, 1);
}

static const char *pad_end_grad_shape(struct node *n)
{
    return pad_end_sizes(n, -1);
}

static void pad_end_grad(struct builder *b, const struct node *n)
{
    struct tensor *dy = grad_of(b, n->out[0]);

    grad_add(b, n->in[0], node(b, &op_pad_end_grad, n->layer, n->attrs, &dy, 1));
}

/* Copies what both images have; the rest is 0. */
static void pad_end_ref(const struct step *s)
{
    const struct tensor *x = s->node->in[0], *y = s->node->out[0];
    float *dst = s->out[0];

    for (int64_t n = 0; n < y->dim[IMAGE_N]; n++)
        for (int64_t h = 0; h < y->dim[IMAGE_H]; h++)
            for (int64_t w = 0; w < y->dim[IMAGE_W]; w++)
                for (int64_t c = 0; c < y->dim[IMAGE_C]; c++)
                    dst[image_at(y, n, c, h, w)] =
                        h < x->dim[IMAGE_H] && w < x->dim[IMAGE_W]
                            ? ((const float *)s->in[0])[image_at(x, n, c, h, w)]
                            : 0;
}

const struct op op_pad_end = {
    .name = "pad_end",
    .attrs = pad_end_attr_table,
    .attrs_size = sizeof(struct pad_end_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = pad_end_shape,
    .grad = pad_end_grad,
    .ref = pad_end_ref,
};

const struct op op_pad_end_grad = {
    .name = "pad_end_grad",
    .attrs = pad_end_attr_table,
    .attrs_size = sizeof(struct pad_end_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = pad_end_grad_shape,
    .ref = pad_end_ref,
};

/* ---- lowering ---- */

static bool to_lower(const struct node *n, bool (*keeps)(const struct node *n))
{
    const struct conv2d_attrs *a = n->attrs;

    return (n->op == &op_conv2d || n->op == &op_conv2d_data_grad ||
            n->op == &op_conv2d_weight_grad) &&
           (a->extra_h || a->extra_w) && !keeps(n);
}

/* Gives the result of `made` the readers of n's. */
static void adopt(struct tensor *made, const struct node *n)
{
    made->dtype = n->out[0]->dtype;
    lower_adopt(made->producer, 0, n->out[0]);
}

/* Appends n with a larger image, which has the padding. */
static void lower_node(struct builder *b, const struct node *n)
{
    struct conv2d_attrs a = *(const struct conv2d_attrs *)n->attrs;
    struct pad_end_attrs pad = {n->layer, a.extra_h, a.extra_w};
    struct tensor *in[3] = {NULL}, *large;

    for (int i = 0; i < n->nin; i++)
        in[i] = n->in[i];
    a.in_h += a.extra_h;
    a.in_w += a.extra_w;
    a.extra_h = a.extra_w = 0;
    if (n->op == &op_conv2d_data_grad) {
        large = node(b, n->op, n->layer, &a, in, n->nin);
        large->dtype = n->out[0]->dtype;
        adopt(node(b, &op_pad_end_grad, n->layer, &pad, &large, 1), n);
        return;
    }
    in[0] = pad_end_(b, in[0], &pad); /* x is the first input of both */
    adopt(node(b, n->op, n->layer, &a, in, n->nin), n);
}

void pad_end_lower(struct graph *g, bool (*keeps)(const struct node *n))
{
    struct node **old = g->node;
    int nold = g->nnode, found = 0;

    for (int i = 0; i < nold; i++)
        found += to_lower(old[i], keeps);
    if (!found)
        return;
    g->node = NULL;
    g->nnode = g->node_cap = 0;
    for (int i = 0; i < nold; i++) {
        struct node *n = old[i];
        struct builder b = {.g = g, .phase = n->phase, .scope = n->scope};

        if (to_lower(n, keeps)) {
            lower_node(&b, n);
        } else {
            n->index = g->nnode;
            GROW(g->node, g->nnode, g->node_cap);
            g->node[g->nnode++] = n;
        }
    }
    graph_changed(g);
    free(old);
}
