#include "ops/resample.h"

#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/image.h"

enum { SIDE = 1 << 20 };

static const struct attr resample_attr_table[] = {
    ATTR_INT(struct resample_attrs, out_h, 1, SIDE, "rows of the result"),
    ATTR_INT(struct resample_attrs, out_w, 1, SIDE, "columns of the result"),
    ATTR_INT(struct resample_attrs, mode, 0, RESAMPLE_MODES - 1, "interpolation"),
    ATTR_INT(struct resample_attrs, align_corners, 0, 1, "corner pixels stay corners"),
    ATTR_INT(struct resample_attrs, antialias, 0, 1, "smooths before it shrinks"),
    ATTR_FLOAT(struct resample_attrs, scale_h, 0, SIDE, "factor of the height"),
    ATTR_FLOAT(struct resample_attrs, scale_w, 0, SIDE, "factor of the width"),
    {0},
};

struct tensor *resample_(struct builder *b, struct tensor *x,
                         const struct resample_attrs *a)
{
    struct resample_attrs r = *a;

    r.in_h = (int)x->dim[IMAGE_H];
    r.in_w = (int)x->dim[IMAGE_W];
    return node(b, &op_resample, r.layer, &r, &x, 1);
}

static struct resample_taps taps_of(const struct node *n, int in, int out, float scale)
{
    const struct resample_attrs *a = n->attrs;
    struct resample_taps t = resample_taps_of(&(const struct resample_axis){
        .mode = a->mode,
        .align_corners = a->align_corners,
        .antialias = a->antialias,
        .scale = (double)scale,
        .in = in,
        .out = out,
    });
    struct resample_taps transposed;

    if (n->op == &op_resample)
        return t;
    transposed = resample_taps_transposed(&t, in);
    resample_taps_release(&t);
    return transposed;
}

struct resample_taps resample_rows(const struct node *n)
{
    const struct resample_attrs *a = n->attrs;

    return taps_of(n, a->in_h, a->out_h, a->scale_h);
}

struct resample_taps resample_columns(const struct node *n)
{
    const struct resample_attrs *a = n->attrs;

    return taps_of(n, a->in_w, a->out_w, a->scale_w);
}

static const char *resample_shape(struct node *n)
{
    const struct resample_attrs *a = n->attrs;
    const struct tensor *x = n->in[RESAMPLE_X];

    if (!tensor_is_image(x))
        return "not an image";
    if (x->dim[IMAGE_H] != a->in_h || x->dim[IMAGE_W] != a->in_w)
        return "in_h and in_w are not those of x";
    if (a->mode != RESAMPLE_BILINEAR && a->mode != RESAMPLE_BICUBIC &&
        (a->align_corners || a->antialias))
        return "align_corners and antialias are for bilinear and bicubic";
    tensor_image(n->out[0], x->dtype, x->dim[IMAGE_N], x->dim[IMAGE_C], a->out_h,
                 a->out_w);
    return NULL;
}

static void resample_grad(struct builder *b, const struct node *n)
{
    struct tensor *dy = grad_of(b, n->out[0]);

    grad_add(b, n->in[RESAMPLE_X],
             node(b, &op_resample_grad, n->layer, n->attrs, &dy, 1));
}

/* Those of the taps of a pixel, rows first. */
static int64_t resample_flops(const struct node *n)
{
    struct resample_taps rows = resample_rows(n), columns = resample_columns(n);
    const struct tensor *x = n->in[0], *y = n->out[0];
    int64_t flops = 2 * (tensor_len(x) / x->dim[IMAGE_H] * y->dim[IMAGE_H] * rows.width +
                         tensor_len(y) * columns.width);

    resample_taps_release(&rows);
    resample_taps_release(&columns);
    return flops;
}

static void resample_pixel(const struct step *s, const struct resample_taps *rows,
                           const struct resample_taps *columns, int64_t image, int64_t h,
                           int64_t w)
{
    const struct tensor *x = s->node->in[0], *y = s->node->out[0];
    const float *row = rows->weight + h * rows->width;
    const float *column = columns->weight + w * columns->width;

    for (int64_t c = 0; c < y->dim[IMAGE_C]; c++) {
        double sum = 0;

        for (int i = 0; i < rows->count[h]; i++)
            for (int j = 0; j < columns->count[w]; j++)
                sum += (double)row[i] * (double)column[j] *
                       ((const float *)s->in[0])[image_at(x, image, c, rows->first[h] + i,
                                                          columns->first[w] + j)];
        ((float *)s->out[0])[image_at(y, image, c, h, w)] = (float)sum;
    }
}

static void resample_ref(const struct step *s)
{
    struct resample_taps rows = resample_rows(s->node);
    struct resample_taps columns = resample_columns(s->node);
    const struct tensor *y = s->node->out[0];

    for (int64_t n = 0; n < y->dim[IMAGE_N]; n++)
        for (int64_t h = 0; h < y->dim[IMAGE_H]; h++)
            for (int64_t w = 0; w < y->dim[IMAGE_W]; w++)
                resample_pixel(s, &rows, &columns, n, h, w);
    resample_taps_release(&rows);
    resample_taps_release(&columns);
}

const struct op op_resample = {
    .name = "resample",
    .attrs = resample_attr_table,
    .attrs_size = sizeof(struct resample_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = resample_shape,
    .grad = resample_grad,
    .flops = resample_flops,
    .ref = resample_ref,
};

static const char *resample_grad_shape(struct node *n)
{
    const struct resample_attrs *a = n->attrs;
    const struct tensor *dy = n->in[RESAMPLE_GRAD_DY];

    if (!tensor_is_image(dy) || dy->dim[IMAGE_H] != a->out_h ||
        dy->dim[IMAGE_W] != a->out_w)
        return "dy does not fit";
    tensor_image(n->out[0], dy->dtype, dy->dim[IMAGE_N], dy->dim[IMAGE_C], a->in_h,
                 a->in_w);
    return NULL;
}

const struct op op_resample_grad = {
    .name = "resample_grad",
    .attrs = resample_attr_table,
    .attrs_size = sizeof(struct resample_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = resample_grad_shape,
    .flops = resample_flops,
    .ref = resample_ref,
};
