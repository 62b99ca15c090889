/*
 * Convolutions on the CPU by oneDNN, fused with the ops that cpu/conv/chain.h finds. relu
 * is our own loop over the result, because oneDNN's relu turns NaN into 0.
 */
#include "ops/conv2d.h"

#include "cpu/computed_weights.h"
#include "cpu/conv/chain.h"
#include "cpu/conv2d.h"
#include "cpu/device.h"
#include "cpu/kernels.h"
#include "cpu/weights.h"
#include "graph/kernel.h"
#include "ops/activation.h"
#include "ops/add.h"
#include "ops/batchnorm.h"
#include "ops/image.h"

struct onednn_conv conv2d_geometry(const struct node *n, const struct tensor *x,
                                   const struct tensor *y,
                                   enum onednn_direction direction)
{
    const struct conv2d_attrs *a = n->attrs;
    return (struct onednn_conv){
        .direction = direction,
        .type = x->dtype,
        .groups = a->groups,
        .batch = x->dim[IMAGE_N],
        .in = x->dim[IMAGE_C],
        .height = x->dim[IMAGE_H],
        .width = x->dim[IMAGE_W],
        .out = y->dim[IMAGE_C],
        .out_height = y->dim[IMAGE_H],
        .out_width = y->dim[IMAGE_W],
        .kernel = {a->kernel_h, a->kernel_w},
        .stride = {a->stride_h, a->stride_w},
        .dilation = {a->dilation_h, a->dilation_w},
        .pad = {a->pad_h, a->pad_w},
        .pad_end = {a->pad_h + a->extra_h, a->pad_w + a->extra_w},
    };
}

struct conv2d_state {
    struct onednn_prim *prim;
    int bias, add; /* indices of reads, or -1 */
    bool fold, computed;
    struct computed_weights weights; /* if computed */
    struct loop_activation act;
};

static const char *conv2d_decline(const struct conv_chain *f)
{
    if (f->conv->op != &op_conv2d)
        return "it is a linear layer";
    if (f->fold && !weights_master(f->conv->in[CONV2D_WEIGHT]))
        return "the weights are computed";
    if (!onednn_has_dtype(f->conv->in[CONV2D_X]->dtype) ||
        f->conv->out[0]->dtype != f->conv->in[CONV2D_X]->dtype)
        return "oneDNN computes in fp32 and bf16 only";
    if (f->other && f->other->dtype != f->conv->out[0]->dtype)
        return "the shortcut has another type";
    return NULL;
}

static void conv2d_claim_chain(struct region *r, const struct conv_chain *f)
{
    conv_chain_claim(r, f);
    if (weights_master(f->conv->in[CONV2D_WEIGHT]))
        weights_read(r, f->conv->in[CONV2D_WEIGHT]);
}

static void conv2d_derive(struct region *r, struct device *dev,
                          const struct conv_chain *f, struct conv2d_state *st)
{
    struct node *conv = f->conv;
    struct tensor *bias = conv->nin > CONV2D_BIAS ? conv->in[CONV2D_BIAS] : NULL;
    struct weights_fold fold = {0};

    if (f->fold) {
        fold = weights_fold(f->fold);
        st->fold = true;
    }
    st->computed = !weights_master(conv->in[CONV2D_WEIGHT]);
    if (st->computed)
        computed_weights_claim(&st->weights, r, dev->onednn, st->prim,
                               conv->in[CONV2D_WEIGHT]);
    else
        (void)weights_derive(r, dev, st->prim, conv->out[0]->dtype,
                             weights_master(conv->in[CONV2D_WEIGHT]),
                             f->fold ? &fold : NULL);
    if (f->fold)
        (void)weights_bias(r, &fold, bias);
    st->bias = bias && !f->fold ? region_read(r, bias) : -1;
}

static const char *conv2d_claim(struct region *r, struct graph *g, struct node *n,
                                struct device *dev)
{
    struct conv2d_state *st = region_state(r);
    struct conv_chain f;
    struct onednn_conv c;
    const char *why;

    if (!conv_chain_find(&f, g, n))
        return "no convolution, nor what may follow one";
    why = conv2d_decline(&f);
    if (why)
        return why;
    c = conv2d_geometry(f.conv, f.conv->in[CONV2D_X], f.conv->out[0], ONEDNN_FORWARD);
    c.bias = f.fold || f.conv->nin > CONV2D_BIAS;
    c.add = f.add != NULL;
    st->prim = onednn_conv_new(dev->onednn, &c);
    if (!st->prim)
        return "oneDNN has no fast code for it";

    conv2d_claim_chain(r, &f);
    (void)region_read(r, f.conv->in[CONV2D_X]);
    conv2d_derive(r, dev, &f, st);
    st->add = f.add ? region_read(r, f.other) : -1;
    st->act = loop_activation(f.act);
    (void)region_write(r, n->out[0]);
    region_workspace(r, st->weights.bytes + onednn_prim_scratch(st->prim));
    return NULL;
}

struct act_job {
    const struct device *dev;
    enum dtype t;
    struct loop_activation act;
    char *y;
};

static void act_part(void *arg, int64_t lo, int64_t hi)
{
    const struct act_job *j = arg;
    char *y = j->y + (size_t)lo * dtype_size(j->t);

    if (loop_relu(j->act))
        j->dev->loops->relu_forward(j->t, y, y, hi - lo, 0, false);
    else
        j->dev->loops->pointwise(j->t, j->act.row->value, j->act.m, y, y, y, hi - lo,
                                 false);
}

static void conv2d_run(struct step *s, struct device *dev)
{
    const struct conv2d_state *st = s->state;
    struct onednn_args a = {
        .src = s->in[0],
        .weights = st->computed ? computed_weights_run(&st->weights, s, s->workspace)
                                : s->derived[0],
        .bias = st->fold        ? s->derived[1]
                : st->bias >= 0 ? s->in[st->bias]
                                : NULL,
        .dst = s->out[0],
        .add = st->add >= 0 ? s->in[st->add] : NULL,
        .scratch = (char *)s->workspace + st->weights.bytes,
    };
    struct act_job j = {dev, s->out_tensor[0]->dtype, st->act, s->out[0]};

    onednn_prim_run(st->prim, &a);
    if (st->act.row)
        cpu_for(dev, tensor_len(s->out_tensor[0]), 64, act_part, &j);
}

static void conv2d_release(struct step *s)
{
    struct conv2d_state *st = s->state;

    computed_weights_release(&st->weights);
    onednn_prim_free(st->prim);
}

const struct kernel cpu_conv2d = {
    .name = "cpu conv2d",
    .claim = conv2d_claim,
    .run = conv2d_run,
    .release = conv2d_release,
    .state_size = sizeof(struct conv2d_state),
};
