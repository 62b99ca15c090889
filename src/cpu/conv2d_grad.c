/*
 * The gradients of convolutions and of linear layers on the CPU, by oneDNN. It has no weight
 * gradient for 1x1 convolutions with a stride and few channels (first layers of RepVGG, MobileOne,
 * FastViT): the pixels that they read are copied, and they become linear layers.
 */
#include <string.h>

#include "base/half.h"
#include "cpu/computed_weights.h"
#include "cpu/conv2d.h"
#include "cpu/device.h"
#include "cpu/kernels.h"
#include "cpu/linear.h"
#include "cpu/weights.h"
#include "graph/kernel.h"
#include "ops/conv2d.h"
#include "ops/image.h"
#include "ops/linear.h"

struct grad_state {
    struct onednn_prim *prim;
    struct onednn_pack *unpack; /* NULL: oneDNN writes the plain order itself */
    /* of data gradients: indices of reads; bias -1 if there is none */
    int dy, bias;
    bool computed;
    struct computed_weights weights; /* of data gradients, if computed */
    size_t pixels;                   /* bytes of copied pixels in the workspace, or 0 */
    size_t packed;                   /* bytes of packed gradients in the workspace, after them */
};

/* A linear layer maps the channels of each position. */
struct onednn_linear linear_geometry(const struct tensor *x, const struct tensor *y,
                                     enum onednn_direction direction)
{
    return (struct onednn_linear){
        .direction = direction,
        .type = x->dtype,
        .rows = tensor_len(x) / tensor_channels(x),
        .in = tensor_channels(x),
        .out = tensor_channels(y),
    };
}

static bool is_data_grad(const struct node *n)
{
    return n->op == &op_conv2d_data_grad || n->op == &op_linear_data_grad;
}

static bool is_weight_grad(const struct node *n)
{
    return n->op == &op_conv2d_weight_grad || n->op == &op_linear_weight_grad;
}

static bool is_conv2d(const struct node *n)
{
    return n->op == &op_conv2d_data_grad || n->op == &op_conv2d_weight_grad;
}

static struct onednn_prim *grad_prim(const struct device *dev, const struct node *n,
                                     const struct tensor *x, const struct tensor *dy,
                                     enum onednn_direction direction)
{
    struct onednn_conv c;
    struct onednn_linear l;

    if (!is_conv2d(n)) {
        l = linear_geometry(x, dy, direction);
        return onednn_linear_new(dev->onednn, &l);
    }
    c = conv2d_geometry(n, x, dy, direction);
    return onednn_conv_new(dev->onednn, &c);
}

static const char *data_grad_claim(struct region *r, struct graph *g, struct node *n,
                                   struct device *dev)
{
    struct grad_state *st = region_state(r);
    struct tensor *w, *dy;

    (void)g;
    if (!is_data_grad(n))
        return "not the data gradient of a convolution or a linear layer";
    w = n->in[CONV2D_DATA_GRAD_WEIGHT];
    dy = n->in[CONV2D_DATA_GRAD_DY];
    if (!onednn_has_dtype(dy->dtype) || n->out[0]->dtype != dy->dtype)
        return "oneDNN computes in fp32 and bf16 only";
    st->prim = grad_prim(dev, n, n->out[0], dy, ONEDNN_BACKWARD_DATA);
    if (!st->prim)
        return "oneDNN has no fast code for it";

    region_claim(r, n);
    st->computed = !weights_master(w);
    if (st->computed) {
        computed_weights_claim(&st->weights, r, dev->onednn, st->prim, w);
    } else {
        weights_read(r, w);
        (void)weights_derive(r, dev, st->prim, dy->dtype, weights_master(w), NULL);
    }
    st->dy = region_read(r, dy);
    st->bias = n->nin > CONV2D_DATA_GRAD_BIAS
                   ? region_read(r, n->in[CONV2D_DATA_GRAD_BIAS])
                   : -1;
    (void)region_write(r, n->out[0]);
    region_workspace(r, st->weights.bytes + onednn_prim_scratch(st->prim));
    return NULL;
}

struct bias_job {
    enum dtype t;
    void *y;
    const float *bias;
    int64_t channels;
};

/* Adds the bias to pixels [lo, hi) of a transposed convolution. */
static void bias_part(void *arg, int64_t lo, int64_t hi)
{
    const struct bias_job *j = arg;

    for (int64_t i = lo; i < hi; i++) {
        float *f = (float *)j->y + i * j->channels;
        uint16_t *h = (uint16_t *)j->y + i * j->channels;

        for (int64_t c = 0; c < j->channels; c++)
            if (j->t == DTYPE_F32)
                f[c] += j->bias[c];
            else
                h[c] = bf16_from_float(bf16_to_float(h[c]) + j->bias[c]);
    }
}

static void data_grad_run(struct step *s, struct device *dev)
{
    const struct grad_state *st = s->state;
    const struct tensor *t = s->out_tensor[0];
    void *weights = st->computed ? computed_weights_run(&st->weights, s, s->workspace)
                                 : s->derived[0];

    onednn_prim_run(st->prim, &(struct onednn_args){
                                  .src = s->out[0],
                                  .weights = weights,
                                  .dst = s->in[st->dy],
                                  .scratch = (char *)s->workspace + st->weights.bytes,
                              });
    if (st->bias >= 0) {
        struct bias_job j = {t->dtype, s->out[0], s->in[st->bias], tensor_channels(t)};

        cpu_for(dev, tensor_len(t) / j.channels, 1, bias_part, &j);
    }
}

static void grad_release(struct step *s)
{
    struct grad_state *st = s->state;

    computed_weights_release(&st->weights);
    onednn_pack_free(st->unpack);
    onednn_prim_free(st->prim);
}

_Static_assert((int)CONV2D_DATA_GRAD_WEIGHT == (int)LINEAR_DATA_GRAD_WEIGHT &&
                   (int)CONV2D_DATA_GRAD_DY == (int)LINEAR_DATA_GRAD_DY &&
                   (int)CONV2D_WEIGHT_GRAD_X == (int)LINEAR_WEIGHT_GRAD_X &&
                   (int)CONV2D_WEIGHT_GRAD_DY == (int)LINEAR_WEIGHT_GRAD_DY,
               "both ops have the same slots");

static bool reads_pixels(const struct node *n)
{
    const struct conv2d_attrs *a = n->attrs;

    return is_conv2d(n) && a->kernel_h == 1 && a->kernel_w == 1 && a->groups == 1 &&
           !a->pad_h && !a->pad_w && !a->extra_h && !a->extra_w;
}

/* Makes a linear layer of a convolution that maps each pixel that it reads. */
static void claim_pixels(struct grad_state *st, const struct device *dev, const struct tensor *x,
                         const struct tensor *dy)
{
    const struct onednn_linear l = {
        .direction = ONEDNN_BACKWARD_WEIGHTS,
        .type = x->dtype,
        .rows = tensor_len(dy) / tensor_channels(dy),
        .in = tensor_channels(x),
        .out = tensor_channels(dy),
    };

    st->prim = onednn_linear_new(dev->onednn, &l);
    st->pixels = ((size_t)(l.rows * l.in) * dtype_size(l.type) + 63) / 64 * 64;
}

static const char *weight_grad_claim(struct region *r, struct graph *g, struct node *n,
                                     struct device *dev)
{
    struct grad_state *st = region_state(r);
    struct tensor *x, *dy;

    (void)g;
    if (!is_weight_grad(n))
        return "not the weight gradient of a convolution or a linear layer";
    x = n->in[CONV2D_WEIGHT_GRAD_X];
    dy = n->in[CONV2D_WEIGHT_GRAD_DY];
    if (!onednn_has_dtype(dy->dtype) || x->dtype != dy->dtype ||
        n->out[0]->dtype != DTYPE_F32)
        return "oneDNN computes in fp32 and bf16 only";
    st->prim = grad_prim(dev, n, x, dy, ONEDNN_BACKWARD_WEIGHTS);
    if (!st->prim && reads_pixels(n))
        claim_pixels(st, dev, x, dy);
    if (!st->prim)
        return "oneDNN has no fast code for it";

    if (!onednn_prim_plain(st->prim)) {
        st->unpack = onednn_pack_new(dev->onednn, st->prim, ONEDNN_UNPACK);
        st->packed = (onednn_prim_weights_size(st->prim) + 63) / 64 * 64;
    }
    region_claim(r, n);
    (void)region_read(r, x);
    (void)region_read(r, dy);
    (void)region_write(r, n->out[0]);
    region_workspace(r, st->pixels + st->packed + onednn_prim_scratch(st->prim));
    return NULL;
}

/* Copies the pixels of rows [lo, hi) of dy, over all images. */
static void pixels_part(void *arg, int64_t lo, int64_t hi)
{
    const struct step *s = arg;
    const struct conv2d_attrs *a = s->node->attrs;
    const struct tensor *x = s->in_tensor[CONV2D_WEIGHT_GRAD_X];
    const struct tensor *dy = s->in_tensor[CONV2D_WEIGHT_GRAD_DY];
    int64_t rows = dy->dim[IMAGE_H], width = dy->dim[IMAGE_W];
    size_t pixel = (size_t)x->dim[IMAGE_C] * dtype_size(x->dtype);

    for (int64_t i = lo; i < hi; i++) {
        int64_t row = i / rows * x->dim[IMAGE_H] + i % rows * a->stride_h;
        const char *src = (const char *)s->in[0] + (size_t)(row * x->dim[IMAGE_W]) * pixel;
        char *dst = (char *)s->workspace + (size_t)(i * width) * pixel;

        for (int64_t k = 0; k < width; k++)
            memcpy(dst + (size_t)k * pixel, src + (size_t)(k * a->stride_w) * pixel, pixel);
    }
}

static void weight_grad_run(struct step *s, struct device *dev)
{
    const struct grad_state *st = s->state;
    const struct tensor *dy = s->in_tensor[CONV2D_WEIGHT_GRAD_DY];
    char *after = (char *)s->workspace + st->pixels;
    void *packed = st->unpack ? after : s->out[0];

    if (st->pixels)
        cpu_for(dev, dy->dim[IMAGE_N] * dy->dim[IMAGE_H], 1, pixels_part, s);
    onednn_prim_run(st->prim, &(struct onednn_args){
                                  .src = st->pixels ? s->workspace : s->in[0],
                                  .weights = packed,
                                  .dst = s->in[1],
                                  .scratch = after + st->packed,
                              });
    if (st->unpack)
        onednn_pack_run(st->unpack, packed, s->out[0]);
}

const struct kernel cpu_data_grad = {
    .name = "cpu data_grad",
    .claim = data_grad_claim,
    .run = data_grad_run,
    .release = grad_release,
    .state_size = sizeof(struct grad_state),
};

const struct kernel cpu_weight_grad = {
    .name = "cpu weight_grad",
    .claim = weight_grad_claim,
    .run = weight_grad_run,
    .release = grad_release,
    .state_size = sizeof(struct grad_state),
};
