/*
 * Factorised convolutions by our own loops (cpu/conv_direct.h) instead of oneDNN: forward
 * with bias and a relu behind it, the data gradient with the relu's gradient behind it,
 * and the weight gradient with the bias's.
 */
#include "cpu/conv_direct.h"

#include "cpu/device.h"
#include "cpu/kernels.h"
#include "cpu/weights.h"
#include "graph/kernel.h"
#include "ops/batchnorm.h"
#include "ops/bias_grad.h"
#include "ops/conv2d.h"
#include "ops/image.h"
#include "ops/relu.h"

struct direct_state {
    struct direct shape; /* of the loops that run */
    int bias, mask;      /* what is read, or for gradients written, or -1 */
    bool relu;
};

/* The shape, if the loops can do it; x and y are those of the forward convolution. */
static const char *direct_shape(struct direct *s, const struct node *n,
                                const struct tensor *x, const struct tensor *y)
{
    const struct conv2d_attrs *a = n->attrs;

    if (x->dtype != y->dtype)
        return "x and y have different types";
    if (a->groups != 1 || a->stride_h != 1 || a->stride_w != 1)
        return "stride 1 without groups only";
    if (2 * a->pad_h != (a->kernel_h - 1) * a->dilation_h ||
        2 * a->pad_w != (a->kernel_w - 1) * a->dilation_w)
        return "height and width must stay";
    *s = (struct direct){
        .type = x->dtype,
        .n = (int)x->dim[IMAGE_N],
        .h = (int)x->dim[IMAGE_H],
        .w = (int)x->dim[IMAGE_W],
        .c = (int)x->dim[IMAGE_C],
        .k = (int)y->dim[IMAGE_C],
        .kernel_h = a->kernel_h,
        .kernel_w = a->kernel_w,
        .dilation_h = a->dilation_h,
        .dilation_w = a->dilation_w,
    };
    return direct_supported(s)
               ? NULL
               : "not 1 by n, not the channels of our loops, or no AVX512-BF16";
}

/* ---- weights ---- */

struct pack_state {
    const struct device *dev;
    struct direct shape;
    bool backward;
};

static void pack(void *dst, void *const *from, void *state)
{
    const struct pack_state *st = state;

    direct_pack(st->dev, &st->shape, dst, from[0], st->backward);
}

/* Packed weights depend on the channels and taps alone: train and accumulation share. */
static void derive(struct region *r, const struct device *dev, const struct direct *s,
                   struct tensor *w, bool backward)
{
    struct pack_state st = {dev, *s, backward};
    int key[] = {(int)s->type, s->c, s->k, s->kernel_h, s->kernel_w, backward};

    (void)weights_pack(r, w, direct_packed(s), pack, &st, sizeof(st), key, sizeof(key));
}

/* ---- forward and data gradient ---- */

/* What makes t, if n alone reads it and it may be taken, and it is of this op. */
static struct node *behind(const struct graph *g, struct tensor *t, const struct op *op)
{
    struct node *p = t->producer;

    return p && p->op == op && node_free(p) && tensor_only_reader(g, t) ? p : NULL;
}

static const char *forward_claim(struct region *r, struct graph *g, struct node *n,
                                 struct device *dev)
{
    struct direct_state *st = region_state(r);
    struct node *conv = n;
    const struct node *next;
    const char *why;

    if (n->op == &op_relu && !(((const struct relu_attrs *)n->attrs)->limit > 0))
        conv = behind(g, n->in[RELU_X], &op_conv2d);
    if (!conv || conv->op != &op_conv2d)
        return "no convolution, nor a relu behind one";
    if (!weights_master(conv->in[CONV2D_WEIGHT]))
        return "the weights are computed";
    next = tensor_only_reader(g, conv->out[0]);
    if (next && next->op == &op_batchnorm_inference)
        return "the batch norm behind it can be folded";
    why = direct_shape(&st->shape, conv, conv->in[CONV2D_X], conv->out[0]);
    if (why)
        return why;

    region_take(r, conv);
    if (n != conv)
        region_take(r, n);
    derive(r, dev, &st->shape, conv->in[CONV2D_WEIGHT], false);
    (void)region_read(r, conv->in[CONV2D_X]);
    st->bias = conv->nin > CONV2D_BIAS ? region_read(r, conv->in[CONV2D_BIAS]) : -1;
    st->mask = -1;
    st->relu = n != conv;
    (void)region_write(r, n->out[0]);
    region_workspace(r, direct_forward_scratch(&st->shape, dev->threads));
    return NULL;
}

static const char *data_grad_claim(struct region *r, struct graph *g, struct node *n,
                                   struct device *dev)
{
    struct direct_state *st = region_state(r);
    struct node *grad = n;
    struct direct forward;
    const char *why;

    if (n->op == &op_relu_grad && !(((const struct relu_attrs *)n->attrs)->limit > 0))
        grad = behind(g, n->in[RELU_GRAD_DY], &op_conv2d_data_grad);
    if (!grad || grad->op != &op_conv2d_data_grad || grad->nin > CONV2D_DATA_GRAD_BIAS)
        return "no data gradient of a convolution, nor a relu's behind one";
    if (!weights_master(grad->in[CONV2D_DATA_GRAD_WEIGHT]))
        return "the weights are computed";
    if (n != grad && n->in[RELU_GRAD_Y]->dtype != n->out[0]->dtype)
        return "the relu has another type";
    why = direct_shape(&forward, grad, grad->out[0], grad->in[CONV2D_DATA_GRAD_DY]);
    if (why)
        return why;
    st->shape = direct_backward(&forward);
    if (!direct_supported(&st->shape))
        return "not a shape of our loops the other way round";

    region_take(r, grad);
    if (n != grad)
        region_take(r, n);
    derive(r, dev, &forward, grad->in[CONV2D_DATA_GRAD_WEIGHT], true);
    (void)region_read(r, grad->in[CONV2D_DATA_GRAD_DY]);
    st->bias = -1;
    st->mask = n != grad ? region_read(r, n->in[RELU_GRAD_Y]) : -1;
    st->relu = false;
    (void)region_write(r, n->out[0]);
    region_workspace(r, direct_forward_scratch(&st->shape, dev->threads));
    return NULL;
}

static void forward_run(struct step *s, struct device *dev)
{
    const struct direct_state *st = s->state;

    direct_forward(dev, &st->shape,
                   &(const struct direct_args){
                       .x = s->in[0],
                       .packed = s->derived[0],
                       .bias = st->bias >= 0 ? s->in[st->bias] : NULL,
                       .mask = st->mask >= 0 ? s->in[st->mask] : NULL,
                       .y = s->out[0],
                       .relu = st->relu,
                       .scratch = s->workspace,
                   });
}

/* ---- weight gradient ---- */

/* The first free reader of dy that is of this op. */
static struct node *free_reader(const struct graph *g, const struct tensor *dy,
                                const struct op *op)
{
    struct node *n;

    for (int i = 0; (n = tensor_reader(g, dy, i)) != NULL; i++)
        if (n->op == op && node_free(n))
            return n;
    return NULL;
}

/* From either of both gradients; the bias's comes later in the graph. */
static const char *weight_grad_claim(struct region *r, struct graph *g, struct node *n,
                                     struct device *dev)
{
    struct direct_state *st = region_state(r);
    struct node *weight = n, *bias = NULL;
    const char *why;

    if (n->op == &op_bias_grad) {
        bias = n;
        weight = free_reader(g, n->in[BIAS_GRAD_DY], &op_conv2d_weight_grad);
    }
    if (!weight || weight->op != &op_conv2d_weight_grad)
        return "not the weight gradient of a convolution, nor its bias's";
    if (!bias)
        bias = free_reader(g, n->in[CONV2D_WEIGHT_GRAD_DY], &op_bias_grad);
    if (weight->out[0]->dtype != DTYPE_F32)
        return "the gradient must be fp32";
    why = direct_shape(&st->shape, weight, weight->in[CONV2D_WEIGHT_GRAD_X],
                       weight->in[CONV2D_WEIGHT_GRAD_DY]);
    if (why)
        return why;

    region_take(r, weight);
    if (bias)
        region_take(r, bias);
    (void)region_read(r, weight->in[CONV2D_WEIGHT_GRAD_X]);
    (void)region_read(r, weight->in[CONV2D_WEIGHT_GRAD_DY]);
    (void)region_write(r, weight->out[0]);
    st->bias = bias ? region_write(r, bias->out[0]) : -1;
    region_workspace(r, direct_weight_grad_scratch(&st->shape, dev->threads));
    return NULL;
}

static void weight_grad_run(struct step *s, struct device *dev)
{
    const struct direct_state *st = s->state;

    direct_weight_grad(dev, &st->shape, s->in[0], s->in[1], s->out[0],
                       st->bias >= 0 ? s->out[st->bias] : NULL, s->workspace);
}

const struct kernel cpu_conv2d_direct = {
    .name = "cpu conv2d direct",
    .claim = forward_claim,
    .run = forward_run,
    .state_size = sizeof(struct direct_state),
};

const struct kernel cpu_data_grad_direct = {
    .name = "cpu data_grad direct",
    .claim = data_grad_claim,
    .run = forward_run,
    .state_size = sizeof(struct direct_state),
};

const struct kernel cpu_weight_grad_direct = {
    .name = "cpu weight_grad direct",
    .claim = weight_grad_claim,
    .run = weight_grad_run,
    .state_size = sizeof(struct direct_state),
};
