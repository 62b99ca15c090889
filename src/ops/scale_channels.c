#include "ops/scale_channels.h"

#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/image.h"

struct tensor *scale_channels(struct builder *b, struct tensor *x, struct tensor *s,
                              const char *layer)
{
    struct tensor *in[] = {[SCALE_CHANNELS_X] = x, [SCALE_CHANNELS_S] = s};

    return node(b, &op_scale_channels, layer, NULL, in, 2);
}

static const char *scale_channels_shape(struct node *n)
{
    const struct tensor *x = n->in[SCALE_CHANNELS_X], *s = n->in[SCALE_CHANNELS_S];

    if (!tensor_is_image(x) || !tensor_is_image(s))
        return "not images";
    if (s->dim[IMAGE_N] != x->dim[IMAGE_N] || s->dim[IMAGE_C] != x->dim[IMAGE_C] ||
        s->dim[IMAGE_H] != 1 || s->dim[IMAGE_W] != 1)
        return "the scale must be N x C x 1 x 1";
    tensor_like(n->out[0], x);
    return NULL;
}

static void scale_channels_grad(struct builder *b, const struct node *n)
{
    struct tensor *x = n->in[SCALE_CHANNELS_X], *s = n->in[SCALE_CHANNELS_S];
    struct tensor *dy = grad_of(b, n->out[0]);
    struct tensor *in[] = {
        [SCALE_CHANNELS_SCALE_GRAD_X] = x, [SCALE_CHANNELS_SCALE_GRAD_DY] = dy};

    if (grad_wanted(x))
        grad_add(b, x, scale_channels(b, dy, s, n->layer));
    if (grad_wanted(s))
        grad_add(b, s, node(b, &op_scale_channels_scale_grad, n->layer, NULL, in, 2));
}

static int64_t scale_channels_flops(const struct node *n)
{
    return tensor_len(n->out[0]);
}

static void scale_channels_ref(const struct step *st)
{
    const struct tensor *t = st->node->out[0];
    const float *x = st->in[SCALE_CHANNELS_X], *s = st->in[SCALE_CHANNELS_S];
    float *y = st->out[0];
    int64_t channels = t->dim[IMAGE_C], pixels = t->dim[IMAGE_H] * t->dim[IMAGE_W];

    for (int64_t i = 0; i < tensor_len(t); i++)
        y[i] = x[i] * s[i / (pixels * channels) * channels + i % channels];
}

const struct op op_scale_channels = {
    .name = "scale_channels",
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = scale_channels_shape,
    .grad = scale_channels_grad,
    .flops = scale_channels_flops,
    .ref = scale_channels_ref,
};

static const char *scale_grad_shape(struct node *n)
{
    const struct tensor *x = n->in[SCALE_CHANNELS_SCALE_GRAD_X];

    if (!tensor_same(x, n->in[SCALE_CHANNELS_SCALE_GRAD_DY]))
        return "x and dy differ";
    tensor_image(n->out[0], DTYPE_F32, x->dim[IMAGE_N], x->dim[IMAGE_C], 1, 1);
    return NULL;
}

static int64_t scale_grad_flops(const struct node *n)
{
    return 2 * tensor_len(n->in[SCALE_CHANNELS_SCALE_GRAD_X]);
}

static void scale_grad_ref(const struct step *s)
{
    const struct tensor *t = s->node->in[SCALE_CHANNELS_SCALE_GRAD_X];
    const float *x = s->in[SCALE_CHANNELS_SCALE_GRAD_X];
    const float *dy = s->in[SCALE_CHANNELS_SCALE_GRAD_DY];
    float *ds = s->out[0];
    int64_t channels = t->dim[IMAGE_C], pixels = t->dim[IMAGE_H] * t->dim[IMAGE_W];

    for (int64_t i = 0; i < tensor_len(s->node->out[0]); i++) {
        int64_t first = i / channels * pixels * channels + i % channels;
        double sum = 0;

        for (int64_t p = 0; p < pixels; p++)
            sum += (double)x[first + p * channels] * dy[first + p * channels];
        ds[i] = (float)sum;
    }
}

const struct op op_scale_channels_scale_grad = {
    .name = "scale_channels_scale_grad",
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = scale_grad_shape,
    .flops = scale_grad_flops,
    .ref = scale_grad_ref,
};
