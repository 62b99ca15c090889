/*
 * Convolutions on the CPU by oneDNN. Forward takes a relu behind it and, for inference, a
 * batch norm (folded into the packed weights) and a residual add:
 *
 *   conv2d [batchnorm_inference] [add] [relu]
 *
 * relu is our own loop over the result: oneDNN's turns NaN into 0.
 */
#include "ops/conv2d.h"

#include "cpu/conv2d.h"
#include "cpu/device.h"
#include "cpu/kernels.h"
#include "cpu/weights.h"
#include "graph/kernel.h"
#include "ops/add.h"
#include "ops/batchnorm.h"
#include "ops/image.h"
#include "ops/relu.h"

struct onednn_conv conv2d_geometry(const struct node *n, const struct tensor *x,
                                   const struct tensor *y, enum onednn_job job)
{
    const struct conv2d_attrs *a = n->attrs;
    return (struct onednn_conv){
        .job = job,
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
        .pad_end = {a->pad_h, a->pad_w},
    };
}

struct conv2d_state {
    struct onednn_prim *prim;
    int bias, add; /* reads, or -1 */
    bool fold, relu;
};

struct found {
    struct node *conv, *bn, *add, *relu;
    struct tensor *other; /* the other operand of the add */
};

/* The producer of t, if n alone reads it and it may be taken. */
static struct node *step_down(const struct graph *g, struct tensor *t)
{
    struct node *p = t->producer;

    return p && node_free(p) && tensor_only_reader(g, t) ? p : NULL;
}

static bool find_conv(struct found *f, const struct graph *g, struct node *n)
{
    f->bn = NULL;
    if (n && n->op == &op_batchnorm_inference) {
        f->bn = n;
        n = step_down(g, n->in[BATCHNORM_X]);
    }
    f->conv = n && n->op == &op_conv2d ? n : NULL;
    return f->conv != NULL;
}

static bool find_add(struct found *f, const struct graph *g, struct node *add)
{
    if (add->nin != 2)
        return false;
    f->add = add;
    for (int i = 1; i >= 0; i--) { /* the residual branch comes first in the add */
        f->other = add->in[i];
        if (find_conv(f, g, step_down(g, add->in[1 - i])))
            return f->other != add->in[1 - i];
    }
    return false;
}

/* From a relu, an add or a batch norm down to the convolution. */
static bool find(struct found *f, const struct graph *g, struct node *n)
{
    if (n->op == &op_relu && !(((const struct relu_attrs *)n->attrs)->limit > 0)) {
        f->relu = n;
        n = step_down(g, n->in[RELU_X]);
    }
    if (n && n->op == &op_add)
        return find_add(f, g, n);
    return n && find_conv(f, g, n);
}

static const char *conv2d_decline(const struct found *f)
{
    if (!weights_master(f->conv->in[CONV2D_WEIGHT]))
        return "the weights are computed";
    if (!onednn_has_dtype(f->conv->in[CONV2D_X]->dtype) ||
        f->conv->out[0]->dtype != f->conv->in[CONV2D_X]->dtype)
        return "oneDNN computes in fp32 and bf16 only";
    if (f->other && f->other->dtype != f->conv->out[0]->dtype)
        return "the shortcut has another type";
    return NULL;
}

static void conv2d_take(struct region *r, const struct found *f)
{
    region_take(r, f->conv);
    if (f->bn)
        region_take(r, f->bn);
    if (f->add)
        region_take(r, f->add);
    if (f->relu)
        region_take(r, f->relu);
    weights_read(r, f->conv->in[CONV2D_WEIGHT]);
}

static void conv2d_derive(struct region *r, struct device *dev, const struct found *f,
                          struct conv2d_state *st)
{
    struct node *conv = f->conv, *bn = f->bn;
    struct tensor *bias = conv->nin > CONV2D_BIAS ? conv->in[CONV2D_BIAS] : NULL;
    struct weights_fold fold = {0};

    if (bn) {
        fold = (struct weights_fold){
            .weight = bn->in[BATCHNORM_WEIGHT],
            .bias = bn->in[BATCHNORM_BIAS],
            .mean = bn->in[BATCHNORM_INFERENCE_MEAN],
            .var = bn->in[BATCHNORM_INFERENCE_VAR],
            .eps = ((const struct batchnorm_attrs *)bn->attrs)->eps,
        };
        st->fold = true;
    }
    (void)weights_derive(r, dev, st->prim, conv->out[0]->dtype,
                         weights_master(conv->in[CONV2D_WEIGHT]), bn ? &fold : NULL);
    if (bn)
        (void)weights_bias(r, &fold, bias);
    st->bias = bias && !bn ? region_read(r, bias) : -1;
}

static const char *conv2d_claim(struct region *r, struct graph *g, struct node *n,
                                struct device *dev)
{
    struct conv2d_state *st = region_state(r);
    struct found f = {0};
    struct onednn_conv c;
    const char *why;

    if (!find(&f, g, n))
        return "no convolution, nor what may stand behind one";
    why = conv2d_decline(&f);
    if (why)
        return why;
    c = conv2d_geometry(f.conv, f.conv->in[CONV2D_X], f.conv->out[0], ONEDNN_FORWARD);
    c.bias = f.bn || f.conv->nin > CONV2D_BIAS;
    c.add = f.add != NULL;
    st->prim = onednn_conv_new(dev->onednn, &c);
    if (!st->prim)
        return "oneDNN has no fast code for it";

    conv2d_take(r, &f);
    (void)region_read(r, f.conv->in[CONV2D_X]);
    conv2d_derive(r, dev, &f, st);
    st->add = f.add ? region_read(r, f.other) : -1;
    st->relu = f.relu != NULL;
    (void)region_write(r, n->out[0]);
    region_workspace(r, onednn_prim_scratch(st->prim));
    return NULL;
}

struct relu_job {
    const struct device *dev;
    enum dtype t;
    char *y;
};

static void relu_part(void *arg, int64_t lo, int64_t hi)
{
    const struct relu_job *j = arg;
    char *y = j->y + (size_t)lo * dtype_size(j->t);

    j->dev->loops->relu_forward(j->t, y, y, hi - lo, 0, false);
}

static void conv2d_run(struct step *s, struct device *dev)
{
    const struct conv2d_state *st = s->state;
    struct onednn_args a = {
        .src = s->in[0],
        .weights = s->derived[0],
        .bias = st->fold        ? s->derived[1]
                : st->bias >= 0 ? s->in[st->bias]
                                : NULL,
        .dst = s->out[0],
        .add = st->add >= 0 ? s->in[st->add] : NULL,
        .scratch = s->workspace,
    };
    struct relu_job j = {dev, s->out_tensor[0]->dtype, s->out[0]};

    onednn_prim_run(st->prim, &a);
    if (st->relu)
        cpu_for(dev, tensor_len(s->out_tensor[0]), 64, relu_part, &j);
}

static void conv2d_release(struct step *s)
{
    struct conv2d_state *st = s->state;

    onednn_prim_free(st->prim);
}

const struct kernel cpu_conv2d = {
    .name = "cpu conv2d",
    .claim = conv2d_claim,
    .run = conv2d_run,
    .release = conv2d_release,
    .state_size = sizeof(struct conv2d_state),
};
