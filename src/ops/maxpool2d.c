#include "ops/maxpool2d.h"

#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/image.h"
#include "ops/pool2d.h"

static const struct attr maxpool2d_attr_table[] = {
    ATTR_INT(struct maxpool2d_attrs, kernel, 1, 1024, "rows and columns of the window"),
    ATTR_INT(struct maxpool2d_attrs, stride, 1, 1024, "distance between windows"),
    ATTR_INT(struct maxpool2d_attrs, padding, 0, 512,
             "rows and columns around the image"),
    {0},
};

struct tensor *maxpool2d_(struct builder *b, struct tensor *x,
                          const struct maxpool2d_attrs *a)
{
    struct maxpool2d_attrs r = *a;

    if (r.stride == 0)
        r.stride = r.kernel;
    return node(b, &op_maxpool2d, r.layer, &r, &x, 1);
}

static struct pool2d maxpool2d_windows(const struct node *n)
{
    const struct maxpool2d_attrs *a = n->attrs;

    return (struct pool2d){a->kernel, a->stride, a->padding, false};
}

static const char *maxpool2d_shape(struct node *n)
{
    struct pool2d p = maxpool2d_windows(n);

    return pool2d_shape(&p, n->in[MAXPOOL2D_X], n->out[0]);
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
    const struct maxpool2d_attrs *a = n->attrs;

    return tensor_len(n->out[0]) * a->kernel * a->kernel;
}

static float maxpool2d_value(const struct step *s, const int64_t at[4])
{
    struct pool2d p = maxpool2d_windows(s->node);
    const float *x = s->in[MAXPOOL2D_X];
    int place;

    return x[pool2d_winner(&p, s->node->in[MAXPOOL2D_X], x, at, &place)];
}

static void maxpool2d_ref(const struct step *s)
{
    pool2d_each(s, maxpool2d_value);
}

const struct op op_maxpool2d = {
    .name = "maxpool2d",
    .attrs = maxpool2d_attr_table,
    .attrs_size = sizeof(struct maxpool2d_attrs),
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
    struct pool2d p = maxpool2d_windows(n);

    if (!tensor_is_image(x))
        return "not an image";
    if (!pool2d_fits(&p, x->dim[IMAGE_H], x->dim[IMAGE_W], dy) ||
        dy->dim[IMAGE_N] != x->dim[IMAGE_N] || dy->dim[IMAGE_C] != x->dim[IMAGE_C])
        return "x and dy do not fit";
    tensor_like(n->out[0], x);
    return NULL;
}

static int64_t maxpool2d_grad_flops(const struct node *n)
{
    const struct maxpool2d_attrs *a = n->attrs;

    return tensor_len(n->in[MAXPOOL2D_GRAD_DY]) * a->kernel * a->kernel;
}

static int maxpool2d_place(const struct step *s, const int64_t window[4])
{
    struct pool2d p = maxpool2d_windows(s->node);
    int place;

    (void)pool2d_winner(&p, s->node->in[MAXPOOL2D_GRAD_X], s->in[MAXPOOL2D_GRAD_X],
                        window, &place);
    return place;
}

static float maxpool2d_won(const struct step *s, const int64_t at[4])
{
    struct pool2d p = maxpool2d_windows(s->node);

    return pool2d_won(&p, s, MAXPOOL2D_GRAD_DY, maxpool2d_place, at);
}

static void maxpool2d_grad_ref(const struct step *s)
{
    pool2d_each(s, maxpool2d_won);
}

const struct op op_maxpool2d_grad = {
    .name = "maxpool2d_grad",
    .attrs = maxpool2d_attr_table,
    .attrs_size = sizeof(struct maxpool2d_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = maxpool2d_grad_shape,
    .flops = maxpool2d_grad_flops,
    .ref = maxpool2d_grad_ref,
};
