/*
 * Narrow 3x3 convolutions in bf16 by our own loops (cpu/conv_narrow.h) instead of oneDNN:
 * forward, data gradient (stride 1) and weight gradient. Nothing is fused: what stands
 * behind a convolution in training is a batch norm, which reads it anyway.
 */
#include "cpu/conv_narrow.h"

#include "cpu/device.h"
#include "cpu/kernels.h"
#include "cpu/weights.h"
#include "graph/kernel.h"
#include "ops/conv2d.h"
#include "ops/image.h"

/* The shape, if the loops can do it; x and y are those of the forward convolution. */
static const char *narrow_shape(struct narrow *s, const struct node *n,
                                const struct tensor *x, const struct tensor *y)
{
    const struct conv2d_attrs *a = n->attrs;

    if (x->dtype != DTYPE_BF16 || y->dtype != DTYPE_BF16)
        return "bf16 only";
    if (a->kernel_h != 3 || a->kernel_w != 3 || a->pad_h != 1 || a->pad_w != 1 ||
        a->dilation_h != 1 || a->dilation_w != 1 || a->groups != 1 ||
        a->stride_h != a->stride_w)
        return "3x3 with padding 1, without groups or dilation only";
    *s = (struct narrow){
        .n = (int)x->dim[IMAGE_N],
        .h = (int)x->dim[IMAGE_H],
        .w = (int)x->dim[IMAGE_W],
        .c = (int)x->dim[IMAGE_C],
        .k = (int)y->dim[IMAGE_C],
        .stride = a->stride_h,
    };
    return narrow_supported(s) ? NULL : "not a narrow shape, or no AVX512-BF16";
}

struct pack_state {
    struct narrow shape;
    bool backward;
};

static void pack(void *dst, void *const *from, void *state)
{
    const struct pack_state *st = state;

    narrow_pack(&st->shape, dst, from[0], st->backward);
}

/* Packed weights depend on the channels alone, so train and accumulation share them. */
static void derive(struct region *r, const struct narrow *s, struct tensor *w,
                   bool backward)
{
    struct pack_state st = {*s, backward};
    int key[] = {s->c, s->k, backward};

    (void)weights_pack(r, w, narrow_packed_len(s) * sizeof(uint16_t), pack, &st,
                       sizeof(st), key, sizeof(key));
}

static const char *forward_claim(struct region *r, struct graph *g, struct node *n,
                                 struct device *dev)
{
    struct narrow *s = region_state(r);
    const char *why;

    (void)g;
    if (n->op != &op_conv2d)
        return "not a convolution";
    if (n->nin > CONV2D_BIAS)
        return "it has a bias";
    if (!weights_master(n->in[CONV2D_WEIGHT]))
        return "the weights are computed";
    why = narrow_shape(s, n, n->in[CONV2D_X], n->out[0]);
    if (why)
        return why;

    region_take(r, n);
    derive(r, s, n->in[CONV2D_WEIGHT], false);
    (void)region_read(r, n->in[CONV2D_X]);
    (void)region_write(r, n->out[0]);
    region_workspace(r, narrow_scratch(s, dev->threads));
    return NULL;
}

static void forward_run(struct step *s, struct device *dev)
{
    (void)dev;
    narrow_forward(s->state, s->in[0], s->derived[0], s->out[0], s->workspace);
}

static const char *data_grad_claim(struct region *r, struct graph *g, struct node *n,
                                   struct device *dev)
{
    struct narrow *back = region_state(r), s;
    const char *why;

    (void)g;
    if (n->op != &op_conv2d_data_grad || n->nin > CONV2D_DATA_GRAD_BIAS)
        return "not the data gradient of a convolution";
    if (!weights_master(n->in[CONV2D_DATA_GRAD_WEIGHT]))
        return "the weights are computed";
    why = narrow_shape(&s, n, n->out[0], n->in[CONV2D_DATA_GRAD_DY]);
    if (why)
        return why;
    if (!narrow_data_grad_supported(&s))
        return "stride 1 and 16 input channels or more only";

    /* The same loops as forward, from dy to dx. */
    *back = (struct narrow){s.n, s.h, s.w, s.k, s.c, 1};
    region_take(r, n);
    derive(r, &s, n->in[CONV2D_DATA_GRAD_WEIGHT], true);
    (void)region_read(r, n->in[CONV2D_DATA_GRAD_DY]);
    (void)region_write(r, n->out[0]);
    region_workspace(r, narrow_scratch(back, dev->threads));
    return NULL;
}

static const char *weight_grad_claim(struct region *r, struct graph *g, struct node *n,
                                     struct device *dev)
{
    struct narrow *s = region_state(r);
    const char *why;

    (void)g;
    if (n->op != &op_conv2d_weight_grad)
        return "not the weight gradient of a convolution";
    if (n->out[0]->dtype != DTYPE_F32)
        return "the gradient must be fp32";
    why = narrow_shape(s, n, n->in[CONV2D_WEIGHT_GRAD_X], n->in[CONV2D_WEIGHT_GRAD_DY]);
    if (why)
        return why;

    region_take(r, n);
    (void)region_read(r, n->in[CONV2D_WEIGHT_GRAD_X]);
    (void)region_read(r, n->in[CONV2D_WEIGHT_GRAD_DY]);
    (void)region_write(r, n->out[0]);
    region_workspace(r, narrow_scratch(s, dev->threads));
    return NULL;
}

static void weight_grad_run(struct step *s, struct device *dev)
{
    (void)dev;
    narrow_weight_grad(s->state, s->in[0], s->in[1], s->out[0], s->workspace);
}

const struct kernel cpu_conv2d_narrow = {
    .name = "cpu conv2d narrow",
    .claim = forward_claim,
    .run = forward_run,
    .state_size = sizeof(struct narrow),
};

const struct kernel cpu_data_grad_narrow = {
    .name = "cpu data_grad narrow",
    .claim = data_grad_claim,
    .run = forward_run,
    .state_size = sizeof(struct narrow),
};

const struct kernel cpu_weight_grad_narrow = {
    .name = "cpu weight_grad narrow",
    .claim = weight_grad_claim,
    .run = weight_grad_run,
    .state_size = sizeof(struct narrow),
};
