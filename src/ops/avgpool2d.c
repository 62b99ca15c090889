#include "ops/avgpool2d.h"

#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/image.h"
#include "ops/pool2d.h"
#include "ops/window.h"

static const struct attr avgpool2d_attr_table[] = {
    ATTR_INT(struct avgpool2d_attrs, kernel, 1, 1024, "rows and columns of the window"),
    ATTR_INT(struct avgpool2d_attrs, stride, 1, 1024, "distance between windows"),
    ATTR_INT(struct avgpool2d_attrs, padding, 0, 512,
             "rows and columns around the image"),
    ATTR_INT(struct avgpool2d_attrs, ceil_mode, 0, 1, "windows may hang over the end"),
    {0},
};

struct tensor *avgpool2d_(struct builder *b, struct tensor *x,
                          const struct avgpool2d_attrs *a)
{
    struct avgpool2d_attrs r = *a;

    if (r.stride == 0)
        r.stride = r.kernel;
    r.in_h = (int)x->dim[IMAGE_H];
    r.in_w = (int)x->dim[IMAGE_W];
    return node(b, &op_avgpool2d, r.layer, &r, &x, 1);
}

static struct pool2d avgpool2d_windows(const struct node *n)
{
    const struct avgpool2d_attrs *a = n->attrs;

    return (struct pool2d){a->kernel, a->stride, a->padding, a->ceil_mode};
}

static const char *avgpool2d_shape(struct node *n)
{
    struct pool2d p = avgpool2d_windows(n);

    return pool2d_shape(&p, n->in[AVGPOOL2D_X], n->out[0]);
}

static void avgpool2d_grad(struct builder *b, const struct node *n)
{
    struct tensor *dy = grad_of(b, n->out[0]);

    grad_add(b, n->in[AVGPOOL2D_X],
             node(b, &op_avgpool2d_grad, n->layer, n->attrs, &dy, 1));
}

static int64_t avgpool2d_flops(const struct node *n)
{
    const struct avgpool2d_attrs *a = n->attrs;

    return tensor_len(n->out[0]) * a->kernel * a->kernel;
}

/* Gets the positions [*first, *end) of the image that window o covers. */
static void avgpool2d_span(const struct avgpool2d_attrs *a, int64_t o, int64_t in,
                           int64_t *first, int64_t *end)
{
    window_span(o, in, a->kernel, a->stride, a->padding, first, end);
}

static float avgpool2d_mean(const struct step *s, const int64_t at[4])
{
    const struct tensor *t = s->node->in[AVGPOOL2D_X];
    const float *x = s->in[AVGPOOL2D_X];
    int64_t top, bottom, left, right;
    double sum = 0;

    avgpool2d_span(s->node->attrs, at[IMAGE_H], t->dim[IMAGE_H], &top, &bottom);
    avgpool2d_span(s->node->attrs, at[IMAGE_W], t->dim[IMAGE_W], &left, &right);
    for (int64_t h = top; h < bottom; h++)
        for (int64_t w = left; w < right; w++)
            sum += x[image_at(t, at[IMAGE_N], at[IMAGE_C], h, w)];
    return (float)(sum / (double)((bottom - top) * (right - left)));
}

static void avgpool2d_ref(const struct step *s)
{
    pool2d_each(s, avgpool2d_mean);
}

const struct op op_avgpool2d = {
    .name = "avgpool2d",
    .attrs = avgpool2d_attr_table,
    .attrs_size = sizeof(struct avgpool2d_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = avgpool2d_shape,
    .grad = avgpool2d_grad,
    .flops = avgpool2d_flops,
    .ref = avgpool2d_ref,
};

static const char *avgpool2d_grad_shape(struct node *n)
{
    const struct avgpool2d_attrs *a = n->attrs;
    const struct tensor *dy = n->in[AVGPOOL2D_GRAD_DY];
    struct pool2d p = avgpool2d_windows(n);

    if (!pool2d_fits(&p, a->in_h, a->in_w, dy))
        return "dy does not fit";
    tensor_image(n->out[0], dy->dtype, dy->dim[IMAGE_N], dy->dim[IMAGE_C], a->in_h,
                 a->in_w);
    return NULL;
}

static int64_t avgpool2d_grad_flops(const struct node *n)
{
    const struct avgpool2d_attrs *a = n->attrs;

    return tensor_len(n->in[AVGPOOL2D_GRAD_DY]) * a->kernel * a->kernel;
}

/* dx = sum of dy / (positions of the window) over the windows that cover it */
static float avgpool2d_share(const struct step *s, const int64_t at[4])
{
    const struct avgpool2d_attrs *a = s->node->attrs;
    const struct tensor *t = s->node->in[AVGPOOL2D_GRAD_DY];
    const float *dy = s->in[AVGPOOL2D_GRAD_DY];
    int64_t top, bottom, left, right;
    double sum = 0;

    for (int64_t h = 0; h < t->dim[IMAGE_H]; h++) {
        avgpool2d_span(a, h, a->in_h, &top, &bottom);
        if (at[IMAGE_H] < top || at[IMAGE_H] >= bottom)
            continue;
        for (int64_t w = 0; w < t->dim[IMAGE_W]; w++) {
            avgpool2d_span(a, w, a->in_w, &left, &right);
            if (at[IMAGE_W] >= left && at[IMAGE_W] < right)
                sum += dy[image_at(t, at[IMAGE_N], at[IMAGE_C], h, w)] /
                       (double)((bottom - top) * (right - left));
        }
    }
    return (float)sum;
}

static void avgpool2d_grad_ref(const struct step *s)
{
    pool2d_each(s, avgpool2d_share);
}

const struct op op_avgpool2d_grad = {
    .name = "avgpool2d_grad",
    .attrs = avgpool2d_attr_table,
    .attrs_size = sizeof(struct avgpool2d_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = avgpool2d_grad_shape,
    .flops = avgpool2d_grad_flops,
    .ref = avgpool2d_grad_ref,
};
