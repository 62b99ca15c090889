#include "ops/maxpool2d.h"

#include <math.h>

#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/image.h"
#include "ops/pool2d.h"
#include "ops/window.h"

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

/* Where in memory the winner of window (n,c,h,w) lies. */
static int64_t maxpool2d_winner(const struct maxpool2d_attrs *a, const struct tensor *t,
                                const float *x, const int64_t at[4])
{
    int64_t won = -1;

    for (int kh = 0; kh < a->kernel; kh++)
        for (int kw = 0; kw < a->kernel; kw++) {
            int64_t h = window_at(at[IMAGE_H], kh, a->stride, a->padding, 1);
            int64_t w = window_at(at[IMAGE_W], kw, a->stride, a->padding, 1);

            if (h < 0 || h >= t->dim[IMAGE_H] || w < 0 || w >= t->dim[IMAGE_W])
                continue;

            int64_t i = image_at(t, at[IMAGE_N], at[IMAGE_C], h, w);

            if (won < 0 || x[i] > x[won] || isnan(x[i]))
                won = i;
        }
    return won;
}

static float maxpool2d_value(const struct step *s, const int64_t at[4])
{
    const float *x = s->in[MAXPOOL2D_X];

    return x[maxpool2d_winner(s->node->attrs, s->node->in[MAXPOOL2D_X], x, at)];
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

/* The sum over the windows that x[at] wins. */
static float maxpool2d_won(const struct step *s, const int64_t at[4])
{
    const struct maxpool2d_attrs *a = s->node->attrs;
    const struct tensor *tx = s->node->in[MAXPOOL2D_GRAD_X];
    const struct tensor *ty = s->node->in[MAXPOOL2D_GRAD_DY];
    const float *x = s->in[MAXPOOL2D_GRAD_X], *dy = s->in[MAXPOOL2D_GRAD_DY];
    int64_t here = image_at(tx, at[0], at[1], at[2], at[3]);
    double sum = 0;

    for (int kh = 0; kh < a->kernel; kh++)
        for (int kw = 0; kw < a->kernel; kw++) {
            int64_t h = at[IMAGE_H] + a->padding - kh, w = at[IMAGE_W] + a->padding - kw;
            int64_t y[4] = {at[0], at[1], h / a->stride, w / a->stride};

            if (h < 0 || h % a->stride || y[IMAGE_H] >= ty->dim[IMAGE_H] || w < 0 ||
                w % a->stride || y[IMAGE_W] >= ty->dim[IMAGE_W])
                continue;
            if (maxpool2d_winner(a, tx, x, y) == here)
                sum += dy[image_at(ty, y[0], y[1], y[2], y[3])];
        }
    return (float)sum;
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
