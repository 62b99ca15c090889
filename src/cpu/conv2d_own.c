/*
 * Convolutions and linear layers by our own loops (cpu/conv/conv.h) instead of oneDNN:
 * forward with bias and the ops that cpu/conv/chain.h finds after it, the data gradient
 * with a bias or followed by the relu's gradient, and the weight gradient with the bias
 * gradient.
 */
#include <string.h>

#include "cpu/conv/chain.h"
#include "cpu/conv/conv.h"
#include "cpu/device.h"
#include "cpu/kernel_table.h"
#include "cpu/kernels.h"
#include "cpu/weights.h"
#include "graph/kernel.h"
#include "ops/activation.h"
#include "ops/batchnorm.h"
#include "ops/bias_grad.h"
#include "ops/conv2d.h"
#include "ops/image.h"
#include "ops/linear.h"

struct own_state {
    const struct conv_loops *loops;
    struct conv_shape shape;  /* of the forward convolution */
    int bias, add, relu_mask; /* indices of reads (in gradients of writes), or -1 */
    bool fold;                /* the bias is derived */
    struct loop_activation act;
};

static bool is_linear(const struct node *n)
{
    return n->op == &op_linear || n->op == &op_linear_data_grad ||
           n->op == &op_linear_weight_grad;
}

static void find_linear(struct conv_shape *s, const struct tensor *x,
                        const struct tensor *y)
{
    int rows = (int)(tensor_len(x) / tensor_channels(x));

    *s = (struct conv_shape){
        .type = x->dtype,
        .n = 1,
        .h = rows,
        .w = 1,
        .c = (int)tensor_channels(x),
        .ho = rows,
        .wo = 1,
        .k = (int)tensor_channels(y),
        .kernel_h = 1,
        .kernel_w = 1,
        .stride_h = 1,
        .stride_w = 1,
        .dilation_h = 1,
        .dilation_w = 1,
        .linear = true,
    };
}

/* Fills in the shape of a node; x and y are those of the forward convolution. */
static const char *find_shape(struct conv_shape *s, const struct device *dev,
                              const struct conv_loops *loops, const struct node *n,
                              const struct tensor *x, const struct tensor *y)
{
    const struct conv2d_attrs *a = n->attrs;
    bool depthwise;

    if (x->dtype != y->dtype)
        return "x and y have different types";
    if (is_linear(n)) {
        if (!loops->linear)
            return "it is a linear layer";
        if (tensor_len(x) / tensor_channels(x) > INT32_MAX)
            return "more than 2^31 rows";
        find_linear(s, x, y);
        s->widen = dev->widen;
        return NULL;
    }
    depthwise =
        a->groups > 1 && a->groups == x->dim[IMAGE_C] && a->groups == y->dim[IMAGE_C];
    if (loops->depthwise != depthwise)
        return depthwise ? "it is depthwise" : "it is not depthwise";
    if (a->groups != 1 && !depthwise && !loops->grouped)
        return "without groups only";
    if ((a->extra_h || a->extra_w) && !depthwise)
        return "the padding is wider at the end";
    if (x->dim[IMAGE_N] * x->dim[IMAGE_H] * x->dim[IMAGE_W] > INT32_MAX ||
        y->dim[IMAGE_N] * y->dim[IMAGE_H] * y->dim[IMAGE_W] > INT32_MAX)
        return "more than 2^31 positions";
    *s = (struct conv_shape){
        .type = x->dtype,
        .n = (int)x->dim[IMAGE_N],
        .h = (int)x->dim[IMAGE_H],
        .w = (int)x->dim[IMAGE_W],
        .c = (int)x->dim[IMAGE_C],
        .ho = (int)y->dim[IMAGE_H],
        .wo = (int)y->dim[IMAGE_W],
        .k = (int)y->dim[IMAGE_C],
        .kernel_h = a->kernel_h,
        .kernel_w = a->kernel_w,
        .stride_h = a->stride_h,
        .stride_w = a->stride_w,
        .pad_h = a->pad_h,
        .pad_w = a->pad_w,
        .dilation_h = a->dilation_h,
        .dilation_w = a->dilation_w,
        .groups = a->groups,
        .depthwise = depthwise,
        .widen = dev->widen,
    };
    return NULL;
}

/* ---- weights ---- */

struct pack_state {
    const struct conv_loops *loops;
    const struct device *dev;
    struct conv_shape shape;
    bool backward;
};

static void pack(void *dst, const float *w, const void *state)
{
    const struct pack_state *st = state;

    st->loops->pack(st->dev, &st->shape, dst, w, st->backward);
}

/* Packed weights do not depend on the images, so training and accumulation share them. */
static void derive(struct region *r, const struct device *dev,
                   const struct own_state *conv, struct tensor *w,
                   const struct weights_fold *fold, bool backward)
{
    const struct conv_shape *s = &conv->shape;
    /* depthwise weights are packed alike in both directions, so they are shared, too */
    struct pack_state st = {conv->loops, dev, *s, backward && !s->depthwise};
    struct {
        const struct conv_loops *loops;
        int number[14];
    } key = {conv->loops,
             {(int)s->type, s->c, s->k, conv_groups(s), s->kernel_h, s->kernel_w,
              s->stride_h, s->stride_w, s->pad_h, s->pad_w, s->dilation_h, s->dilation_w,
              st.backward}};

    (void)weights_pack(r, w, fold,
                       &(const struct weights_packing){
                           .size = conv->loops->packed(s),
                           .pack = pack,
                           .state = &st,
                           .state_size = sizeof(st),
                           .key = &key,
                           .key_len = sizeof(key),
                       });
}

/* ---- forward and data gradient ---- */

/* Returns why the loops cannot do all links of the chain, or NULL. */
static const char *chain_decline(const struct conv_chain *f, const struct graph *g,
                                 const struct conv_loops *loops)
{
    const struct node *next = tensor_only_reader(g, f->conv->out[0]);

    if (!f->fold && next && next->op == &op_batchnorm_inference)
        return "the batch norm after it can be folded";
    if (loops->unfused && (f->fold || f->act || f->conv->nin > CONV2D_BIAS))
        return "these loops have no bias and no activation";
    if (f->fold && loops->chains < CONV_CHAINS_FOLD)
        return "these loops fold nothing";
    if (f->add && loops->chains < CONV_CHAINS_RELU)
        return "these loops add nothing";
    if (loops->chains == CONV_CHAINS_RELU && f->add && f->act &&
        !loop_relu(loop_activation(f->act)))
        return "these loops add only before a relu";
    if (f->other && f->other->dtype != f->conv->out[0]->dtype)
        return "the shortcut has another type";
    return weights_master(f->conv->in[CONV2D_WEIGHT]) ? NULL : "the weights are computed";
}

static void derive_chain(struct region *r, const struct device *dev, struct own_state *st,
                         const struct conv_chain *f)
{
    struct tensor *w = f->conv->in[CONV2D_WEIGHT];
    struct tensor *bias = f->conv->nin > CONV2D_BIAS ? f->conv->in[CONV2D_BIAS] : NULL;
    struct weights_fold fold;

    st->fold = f->fold != NULL;
    if (f->fold) {
        fold = weights_fold(f->fold);
        derive(r, dev, st, w, &fold, false);
        (void)weights_bias(r, &fold, bias);
        st->bias = -1;
    } else {
        derive(r, dev, st, w, NULL, false);
        st->bias = bias ? region_read(r, bias) : -1;
    }
}

/* Returns why rounding errors of these loops matter in this graph, or NULL. */
static const char *loops_decline(const struct conv_loops *loops, const struct graph *g)
{
    return loops->rounds_zeros && g->keeps_zeros
               ? "the optimizer would make steps of its rounding errors"
               : NULL;
}

/* Returns why another kernel should compute the convolution n, or NULL if these loops
 * should. Uses the measured choice if there is one, else the rule `slower`. */
static const char *choice_decline(const struct device *dev,
                                  const struct conv_loops *loops,
                                  const struct conv_shape *s, const struct node *n,
                                  const char *(*slower)(const struct device *dev,
                                                        const struct conv_shape *s))
{
    const char *choice = kernel_table_choice(dev->table, n);

    if (choice)
        return strcmp(choice, loops->name) != 0 ? "another kernel was measured faster"
                                                : NULL;
    return slower ? slower(dev, s) : NULL;
}

static const char *claim_forward(struct region *r, const struct graph *g, struct node *n,
                                 const struct device *dev, const struct conv_loops *loops)
{
    struct own_state *st = region_state(r);
    struct conv_chain f;
    const char *why;

    if (!conv_chain_find(&f, g, n))
        return "no convolution, nor what may follow one";
    why = loops_decline(loops, g);
    if (!why)
        why = chain_decline(&f, g, loops);
    st->loops = loops;
    if (!why)
        why = find_shape(&st->shape, dev, loops, f.conv, f.conv->in[CONV2D_X],
                         f.conv->out[0]);
    if (!why)
        why = loops->forward_can(dev, &st->shape);
    if (!why)
        why = choice_decline(dev, loops, &st->shape, f.conv, loops->slower);
    if (why)
        return why;

    conv_chain_claim(r, &f);
    (void)region_read(r, f.conv->in[CONV2D_X]);
    derive_chain(r, dev, st, &f);
    st->add = f.add ? region_read(r, f.other) : -1;
    st->relu_mask = -1;
    st->act = loop_activation(f.act);
    (void)region_write(r, n->out[0]);
    if (f.add)
        region_inplace(r, 0, st->add);
    region_workspace(r, loops->forward_scratch(&st->shape, dev->threads));
    return NULL;
}

static const char *claim_data_grad(struct region *r, const struct graph *g,
                                   struct node *n, const struct device *dev,
                                   const struct conv_loops *loops)
{
    struct own_state *st = region_state(r);
    struct node *grad = n;
    const char *why;

    if (is_plain_relu_grad(n))
        grad = sole_producer(g, n->in[ACTIVATION_GRAD_DY], &op_conv2d_data_grad);
    if (!grad || (grad->op != &op_conv2d_data_grad && grad->op != &op_linear_data_grad))
        return "no data gradient of a convolution, nor a relu's after one";
    if (loops->unfused && n != grad)
        return "these loops have no relu";
    if (grad->nin > CONV2D_DATA_GRAD_BIAS && !loops->data_grad_bias)
        return "it has a bias";
    if (!weights_master(grad->in[CONV2D_DATA_GRAD_WEIGHT]))
        return "the weights are computed";
    if (n != grad && n->in[ACTIVATION_GRAD_Y]->dtype != n->out[0]->dtype)
        return "the relu has another type";
    st->loops = loops;
    why = loops_decline(loops, g);
    if (!why)
        why = find_shape(&st->shape, dev, loops, grad, grad->out[0],
                         grad->in[CONV2D_DATA_GRAD_DY]);
    if (!why)
        why = loops->data_grad_can(dev, &st->shape);
    if (!why)
        why = choice_decline(dev, loops, &st->shape, grad, loops->slower);
    if (why)
        return why;

    region_claim(r, grad);
    if (n != grad)
        region_claim(r, n);
    derive(r, dev, st, grad->in[CONV2D_DATA_GRAD_WEIGHT], NULL, true);
    (void)region_read(r, grad->in[CONV2D_DATA_GRAD_DY]);
    st->bias = grad->nin > CONV2D_DATA_GRAD_BIAS
                   ? region_read(r, grad->in[CONV2D_DATA_GRAD_BIAS])
                   : -1;
    st->relu_mask = n != grad ? region_read(r, n->in[ACTIVATION_GRAD_Y]) : -1;
    st->add = -1;
    (void)region_write(r, n->out[0]);
    region_workspace(r, loops->data_grad_scratch(&st->shape, dev->threads));
    return NULL;
}

static struct conv_args args_of(const struct step *s)
{
    const struct own_state *st = s->state;

    return (struct conv_args){
        .src = s->in[0],
        .packed = s->derived[0],
        .bias = st->fold        ? s->derived[1]
                : st->bias >= 0 ? s->in[st->bias]
                                : NULL,
        .add = st->add >= 0 ? s->in[st->add] : NULL,
        .relu_mask = st->relu_mask >= 0 ? s->in[st->relu_mask] : NULL,
        .dst = s->out[0],
        .act = st->act,
        .scratch = s->workspace,
    };
}

static void forward_run(struct step *s, struct device *dev)
{
    const struct own_state *st = s->state;
    struct conv_args a = args_of(s);

    st->loops->forward(dev, &st->shape, &a);
}

static void data_grad_run(struct step *s, struct device *dev)
{
    const struct own_state *st = s->state;
    struct conv_args a = args_of(s);

    st->loops->data_grad(dev, &st->shape, &a);
}

/* ---- weight gradient ---- */

/* Returns the first unclaimed node of this op that reads dy as its input `index`. */
static struct node *free_reader(const struct graph *g, const struct tensor *dy,
                                const struct op *op, int index)
{
    struct node *n;

    for (int i = 0; (n = tensor_reader(g, dy, i)) != NULL; i++)
        if (n->op == op && node_free(n) && n->in[index] == dy)
            return n;
    return NULL;
}

/* Claims from either of the two gradients: claims go from last to first, and the bias
 * gradient comes later in the graph. */
static const char *claim_weight_grad(struct region *r, const struct graph *g,
                                     struct node *n, const struct device *dev,
                                     const struct conv_loops *loops)
{
    struct own_state *st = region_state(r);
    struct node *weight = n, *bias = NULL;
    const char *why;

    if (n->op == &op_bias_grad) {
        bias = n;
        weight = free_reader(g, n->in[BIAS_GRAD_DY], &op_conv2d_weight_grad,
                             CONV2D_WEIGHT_GRAD_DY);
        if (!weight)
            weight = free_reader(g, n->in[BIAS_GRAD_DY], &op_linear_weight_grad,
                                 CONV2D_WEIGHT_GRAD_DY);
    }
    if (!weight ||
        (weight->op != &op_conv2d_weight_grad && weight->op != &op_linear_weight_grad))
        return "not the weight gradient of a convolution, nor its bias's";
    if (loops->no_db && bias)
        return "these loops have no bias";
    if (!bias && !loops->no_db)
        bias = free_reader(g, n->in[CONV2D_WEIGHT_GRAD_DY], &op_bias_grad, BIAS_GRAD_DY);
    if (weight->out[0]->dtype != DTYPE_F32)
        return "the gradient must be fp32";
    st->loops = loops;
    why = loops_decline(loops, g);
    if (!why)
        why = find_shape(&st->shape, dev, loops, weight, weight->in[CONV2D_WEIGHT_GRAD_X],
                         weight->in[CONV2D_WEIGHT_GRAD_DY]);
    if (!why)
        why = loops->weight_grad_can(dev, &st->shape);
    if (!why)
        why = choice_decline(dev, loops, &st->shape, weight, loops->weight_grad_slower);
    if (why)
        return why;

    region_claim(r, weight);
    if (bias)
        region_claim(r, bias);
    (void)region_read(r, weight->in[CONV2D_WEIGHT_GRAD_X]);
    (void)region_read(r, weight->in[CONV2D_WEIGHT_GRAD_DY]);
    (void)region_write(r, weight->out[0]);
    st->bias = bias ? region_write(r, bias->out[0]) : -1;
    region_workspace(r, loops->weight_grad_scratch(&st->shape, dev->threads));
    return NULL;
}

static void weight_grad_run(struct step *s, struct device *dev)
{
    const struct own_state *st = s->state;

    st->loops->weight_grad(dev, &st->shape, s->in[0], s->in[1], s->out[0],
                           st->bias >= 0 ? s->out[st->bias] : NULL, s->workspace);
}

/* ---- the kernels: three for each set of loops ---- */

#define OWN(direction, set)                                                              \
    static const char *direction##_##set(struct region *r, struct graph *g,              \
                                         struct node *n, struct device *dev)             \
    {                                                                                    \
        return claim_##direction(r, g, n, dev, &conv_##set);                             \
    }                                                                                    \
    const struct kernel cpu_##direction##_##set = {                                      \
        .name = "cpu " NAME_##direction " " #set,                                        \
        .claim = direction##_##set,                                                      \
        .run = direction##_run,                                                          \
        .state_size = sizeof(struct own_state),                                          \
    };
#define NAME_forward     "forward"
#define NAME_data_grad   "data_grad"
#define NAME_weight_grad "weight_grad"

OWN(forward, amx)
OWN(data_grad, amx)
OWN(weight_grad, amx)
OWN(forward, depthwise)
OWN(data_grad, depthwise)
OWN(weight_grad, depthwise)
OWN(forward, direct)
OWN(data_grad, direct)
OWN(weight_grad, direct)
OWN(forward, narrow)
OWN(data_grad, narrow)
OWN(weight_grad, narrow)
OWN(forward, winograd)
OWN(data_grad, winograd)
OWN(weight_grad, winograd)
OWN(forward, gemm)
OWN(data_grad, gemm)
OWN(weight_grad, gemm)
