#include "ops/maxpool2d.h"

#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/image.h"
#include "ops/pool2d.h"

struct tensor *maxpool2d_(struct builder *b, struct tensor *x,
                          const struct pool2d_attrs *a)
{
    struct pool2d_attrs r = pool2d_resolve(a, x);

    return node(b, &op_maxpool2d, r.layer, &r, &x, 1);
}

static const char *maxpool2d_shape(struct node *n)
{
    const struct pool2d_attrs *a = n->attrs;

    if (a->count_include_pad)
        return "a maximum counts nothing";
    return pool2d_shape(a, n->in[MAXPOOL2D_X], n->out[0]);
}

static void maxpool2d_grad(struct builder *b, const struct node *n)
{
    struct tensor *x = n->in[MAXPOOL2D_X];
    struct tensor *in[] = {
        [MAXPOOL2D_GRAD_X] = x, [MAXPOOL2D_GRAD_DY] = grad_of(b, n->out[0])};

    grad_add(b, x, node(b, &op_maxpool2d_grad, n->layer, n->attrs, in, 2));
}

static int64_t maxpool2d_flops(const struct node *n)
{
    return pool2d_flops(n->attrs, n->out[0]);
}

static float maxpool2d_value(const struct step *s, const int64_t ptr[4])
{
    const float *x = s->in[MAXPOOL2D_X];
    int place;

    return x[pool2d_winner(s->node->attrs, s->node->in[MAXPOOL2D_X], x, ptr, &place)];
}

static void maxpool2d_ref(const struct step *s)
{
    pool2d_each(s, maxpool2d_value);
}

const struct op op_maxpool2d = {
    .name = "maxpool2d",
    .attrs = pool2d_attr_table,
    .attrs_size = sizeof(struct pool2d_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = maxpool2d_shape,
    .grad = maxpool2d_grad,
    .flops = maxpool2d_flops,
    .ref = maxpool2d_ref,
};

static const char *maxpool2d_grad_shape(struct node *n)
{
    const struct tensor *x = n->in[MAXPOOL2D_GRAD_X], *dy = n->in[MAXPOOL2D_GRAD_DY];
    const struct pool2d_attrs *a = n->attrs;

    if (!tensor_is_image(x))
        return "not an image";
    if (x->dim[IMAGE_H] != a->in_h || x->dim[IMAGE_W] != a->in_w || !pool2d_fits(a, dy) ||
        dy->dim[IMAGE_N] != x->dim[IMAGE_N] || dy->dim[IMAGE_C] != x->dim[IMAGE_C])
        return "x and dy do not fit";
    tensor_like(n->out[0], x);
    return NULL;
}

static int64_t maxpool2d_grad_flops(const struct node *n)
{
    return pool2d_flops(n->attrs, n->in[MAXPOOL2D_GRAD_DY]);
}

static int maxpool2d_place(const struct step *s, const int64_t window[4])
{
    int place;

    (void)pool2d_winner(s->node->attrs, s->node->in[MAXPOOL2D_GRAD_X],
                        s->in[MAXPOOL2D_GRAD_X], window, &place);
    return place;
}

static float maxpool2d_won(const struct step *s, const int64_t ptr[4])
{
    return pool2d_won(s->node->attrs, s, MAXPOOL2D_GRAD_DY, maxpool2d_place, ptr);
}

static void maxpool2d_grad_ref(const struct step *s)
{
    pool2d_each(s, maxpool2d_won);
}

const struct op op_maxpool2d_grad = {
    .name = "maxpool2d_grad",
    .attrs = pool2d_attr_table,
    .attrs_size = sizeof(struct pool2d_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = maxpool2d_grad_shape,
    .flops = maxpool2d_grad_flops,
    .ref = maxpool2d_grad_ref,
};
