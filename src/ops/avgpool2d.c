#include "ops/avgpool2d.h"

#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/image.h"
#include "ops/pool2d.h"

struct tensor *avgpool2d_(struct builder *b, struct tensor *x,
                          const struct pool2d_attrs *a)
{
    struct pool2d_attrs r = pool2d_resolve(a, x);

    return node(b, &op_avgpool2d, r.layer, &r, &x, 1);
}

static const char *avgpool2d_shape(struct node *n)
{
    return pool2d_shape(n->attrs, n->in[AVGPOOL2D_X], n->out[0]);
}

static void avgpool2d_grad(struct builder *b, const struct node *n)
{
    struct tensor *dy = grad_of(b, n->out[0]);

    grad_add(b, n->in[AVGPOOL2D_X],
             node(b, &op_avgpool2d_grad, n->layer, n->attrs, &dy, 1));
}

static int64_t avgpool2d_flops(const struct node *n)
{
    return pool2d_flops(n->attrs, n->out[0]);
}

static float avgpool2d_mean(const struct step *s, const int64_t ptr[4])
{
    const struct tensor *t = s->node->in[AVGPOOL2D_X];
    const float *x = s->in[AVGPOOL2D_X];
    int64_t top, bottom, left, right;
    int64_t rows = pool2d_span(s->node->attrs, IMAGE_H, ptr[IMAGE_H], &top, &bottom);
    int64_t columns = pool2d_span(s->node->attrs, IMAGE_W, ptr[IMAGE_W], &left, &right);
    double sum = 0;

    for (int64_t h = top; h < bottom; h++)
        for (int64_t w = left; w < right; w++)
            sum += x[image_at(t, ptr[IMAGE_N], ptr[IMAGE_C], h, w)];
    return (float)(sum / (double)(rows * columns));
}

static void avgpool2d_ref(const struct step *s)
{
    pool2d_each(s, avgpool2d_mean);
}

const struct op op_avgpool2d = {
    .name = "avgpool2d",
    .attrs = pool2d_attr_table,
    .attrs_size = sizeof(struct pool2d_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = avgpool2d_shape,
    .grad = avgpool2d_grad,
    .flops = avgpool2d_flops,
    .ref = avgpool2d_ref,
};

static const char *avgpool2d_grad_shape(struct node *n)
{
    const struct pool2d_attrs *a = n->attrs;
    const struct tensor *dy = n->in[AVGPOOL2D_GRAD_DY];

    if (!pool2d_fits(a, dy))
        return "dy does not fit";
    tensor_image(n->out[0], dy->dtype, dy->dim[IMAGE_N], dy->dim[IMAGE_C], a->in_h,
                 a->in_w);
    return NULL;
}

static int64_t avgpool2d_grad_flops(const struct node *n)
{
    return pool2d_flops(n->attrs, n->in[AVGPOOL2D_GRAD_DY]);
}

/* dx = sum of dy / (counted positions of the window) over the windows that cover it */
static float avgpool2d_share(const struct step *s, const int64_t pos[4])
{
    const struct pool2d_attrs *a = s->node->attrs;
    const struct tensor *t = s->node->in[AVGPOOL2D_GRAD_DY];
    const float *dy = s->in[AVGPOOL2D_GRAD_DY];
    int64_t top, bottom, left, right;
    double sum = 0;

    for (int64_t h = 0; h < t->dim[IMAGE_H]; h++) {
        int64_t rows = pool2d_span(a, IMAGE_H, h, &top, &bottom);

        if (pos[IMAGE_H] < top || pos[IMAGE_H] >= bottom)
            continue;
        for (int64_t w = 0; w < t->dim[IMAGE_W]; w++) {
            int64_t columns = pool2d_span(a, IMAGE_W, w, &left, &right);

            if (pos[IMAGE_W] >= left && pos[IMAGE_W] < right)
                sum += dy[image_at(t, pos[IMAGE_N], pos[IMAGE_C], h, w)] /
                       (double)(rows * columns);
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
    .attrs = pool2d_attr_table,
    .attrs_size = sizeof(struct pool2d_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = avgpool2d_grad_shape,
    .flops = avgpool2d_grad_flops,
    .ref = avgpool2d_grad_ref,
};
