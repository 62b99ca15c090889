#include "ops/global_avgpool.h"

#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/image.h"

struct tensor *global_avgpool(struct builder *b, struct tensor *x, const char *layer)
{
    struct global_avgpool_attrs a = {
        .layer = layer, .in_h = (int)x->dim[IMAGE_H], .in_w = (int)x->dim[IMAGE_W]};

    return node(b, &op_global_avgpool, layer, &a, &x, 1);
}

static const char *global_avgpool_shape(struct node *n)
{
    const struct tensor *x = n->in[GLOBAL_AVGPOOL_X];

    if (!tensor_is_image(x))
        return "not an image";
    tensor_image(n->out[0], x->dtype, x->dim[IMAGE_N], x->dim[IMAGE_C], 1, 1);
    return NULL;
}

static void global_avgpool_grad(struct builder *b, const struct node *n)
{
    struct tensor *dy = grad_of(b, n->out[0]);

    grad_add(b, n->in[GLOBAL_AVGPOOL_X],
             node(b, &op_global_avgpool_grad, n->layer, n->attrs, &dy, 1));
}

static int64_t global_avgpool_flops(const struct node *n)
{
    return tensor_len(n->in[GLOBAL_AVGPOOL_X]);
}

static void global_avgpool_ref(const struct step *s)
{
    const struct tensor *t = s->node->in[GLOBAL_AVGPOOL_X];
    const float *x = s->in[GLOBAL_AVGPOOL_X];
    float *y = s->out[0];
    int64_t channels = t->dim[IMAGE_C], pixels = t->dim[IMAGE_H] * t->dim[IMAGE_W];

    for (int64_t i = 0; i < tensor_len(s->node->out[0]); i++) {
        int64_t first = i / channels * pixels * channels + i % channels;
        double sum = 0;

        for (int64_t p = 0; p < pixels; p++)
            sum += x[first + p * channels];
        y[i] = (float)(sum / (double)pixels);
    }
}

const struct op op_global_avgpool = {
    .name = "global_avgpool",
    .attrs_size = sizeof(struct global_avgpool_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = global_avgpool_shape,
    .grad = global_avgpool_grad,
    .flops = global_avgpool_flops,
    .ref = global_avgpool_ref,
};

static const char *global_avgpool_grad_shape(struct node *n)
{
    const struct global_avgpool_attrs *a = n->attrs;
    const struct tensor *dy = n->in[GLOBAL_AVGPOOL_GRAD_DY];

    if (!tensor_is_image(dy) || dy->dim[IMAGE_H] != 1 || dy->dim[IMAGE_W] != 1)
        return "dy does not fit";
    tensor_image(n->out[0], dy->dtype, dy->dim[IMAGE_N], dy->dim[IMAGE_C], a->in_h,
                 a->in_w);
    return NULL;
}

static int64_t global_avgpool_grad_flops(const struct node *n)
{
    return tensor_len(n->in[GLOBAL_AVGPOOL_GRAD_DY]);
}

/* dx = dy / (H W) */
static void global_avgpool_grad_ref(const struct step *s)
{
    const struct tensor *t = s->node->out[0];
    const float *dy = s->in[GLOBAL_AVGPOOL_GRAD_DY];
    float *dx = s->out[0];
    int64_t channels = t->dim[IMAGE_C], pixels = t->dim[IMAGE_H] * t->dim[IMAGE_W];

    for (int64_t i = 0; i < tensor_len(t); i++) {
        int64_t n = i / (pixels * channels), c = i % channels;

        dx[i] = (float)(dy[n * channels + c] / (double)pixels);
    }
}

const struct op op_global_avgpool_grad = {
    .name = "global_avgpool_grad",
    .attrs_size = sizeof(struct global_avgpool_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = global_avgpool_grad_shape,
    .flops = global_avgpool_grad_flops,
    .ref = global_avgpool_grad_ref,
};
