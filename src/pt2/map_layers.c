/* Layers with weights, and dropout. */
#include <math.h>
#include <string.h>

#include "ops/batchnorm.h"
#include "ops/conv2d.h"
#include "ops/dropout.h"
#include "ops/groupnorm.h"
#include "ops/image.h"
#include "ops/layernorm.h"
#include "ops/linear.h"
#include "pt2/place.h"
#include "pt2/table.h"

/* Returns the layer of a weight, "layer1.0.conv1" of "layer1.0.conv1.weight". */
static const char *layer_of(struct pt2_import *c, const struct tensor *w)
{
    const char *dot = strrchr(w->name, '.');

    if (!dot)
        return pt2_layer(c);
    return arena_printf(&c->b->g->arena, "%.*s", (int)(dot - w->name), w->name);
}

/* True if v is a parameter as it is, of `ndim` dims. */
static bool is_weight(struct pt2_import *c, const struct pt2_value *v, int ndim)
{
    if (!c->why->len &&
        (!v->t || v->t->kind != TENSOR_PARAM || v->ndim != ndim || v->t->ndim != ndim ||
         memcmp(v->dim, v->t->dim, (size_t)ndim * sizeof(*v->dim)) != 0))
        pt2_refuse(c, "its weight is computed, which is not supported yet");
    return !c->why->len;
}

/* ---- convolutions ---- */

/* Reads padding as two numbers, or "same" and "valid". */
static void read_padding(struct pt2_import *c, const struct pt2_value *w,
                         struct conv2d_attrs *a)
{
    int pad[2] = {0, 0};
    const char *text;

    if (!strcmp(c->node->target, "aten.conv2d.default")) {
        (void)pt2_pair(c, "padding", pad);
    } else {
        text = pt2_text(c, "padding", "valid");
        for (int i = 0; i < 2 && !strcmp(text, "same"); i++) {
            int64_t all = (w->dim[2 + i] - 1) * (i ? a->dilation_w : a->dilation_h);

            if (all % 2)
                pt2_refuse(c, "padding 'same' of an even kernel");
            pad[i] = (int)(all / 2);
        }
    }
    a->pad_h = pad[0];
    a->pad_w = pad[1];
}

static void read_conv(struct pt2_import *c, struct conv2d_attrs *a)
{
    int stride[2] = {1, 1}, dilation[2] = {1, 1};

    (void)pt2_pair(c, "stride", stride);
    (void)pt2_pair(c, "dilation", dilation);
    a->stride = a->dilation = 1;
    a->stride_h = stride[0];
    a->stride_w = stride[1];
    a->dilation_h = dilation[0];
    a->dilation_w = dilation[1];
    a->groups = pt2_count(c, "groups", 1);
    if (a->stride_h < 1 || a->stride_w < 1 || a->dilation_h < 1 || a->dilation_w < 1 ||
        a->groups < 1)
        pt2_refuse(c, "a stride, dilation, or number of groups below 1");
}

void pt2_map_conv2d(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_tensor(c, "input"), *w = pt2_tensor(c, "weight"),
                           *bias = pt2_optional(c, "bias");
    struct conv2d_attrs a = {0};
    struct tensor *in[3];

    read_conv(c, &a);
    read_padding(c, w, &a);
    if (!is_weight(c, w, 4))
        return;
    in[CONV2D_X] = pt2_image(c, x);
    in[CONV2D_WEIGHT] = w->t;
    a.out = (int)w->dim[WEIGHT_O];
    a.kernel_h = (int)w->dim[WEIGHT_H];
    a.kernel_w = (int)w->dim[WEIGHT_W];
    a.bias = bias != NULL;
    if (bias)
        in[CONV2D_BIAS] = pt2_vector(c, bias, a.out);
    if (c->why->len)
        return;
    a.in_h = (int)in[0]->dim[IMAGE_H];
    a.in_w = (int)in[0]->dim[IMAGE_W];
    a.layer = layer_of(c, w->t);
    a.init = INIT_RULE_PYTORCH;
    pt2_result_tensor(c, node(c->b, &op_conv2d, a.layer, &a, in, bias ? 3 : 2));
}

/* The data gradient of the convolution from its result to its operand
 * (ops/conv_transpose2d.h). */
void pt2_map_conv_transpose2d(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_tensor(c, "input"), *w = pt2_tensor(c, "weight"),
                           *bias = pt2_optional(c, "bias");
    struct conv2d_attrs a = {0};
    struct tensor *in[3];
    int pad[2] = {0, 0}, more[2] = {0, 0};
    int64_t h, width;

    read_conv(c, &a);
    (void)pt2_pair(c, "padding", pad);
    (void)pt2_pair(c, "output_padding", more);
    if (!is_weight(c, w, 4))
        return;
    if (a.groups != 1 || a.dilation_h != 1 || a.dilation_w != 1)
        pt2_refuse(c, "a transposed convolution with groups or dilation");
    in[CONV2D_DATA_GRAD_WEIGHT] = w->t;
    in[CONV2D_DATA_GRAD_DY] = pt2_image(c, x);
    if (bias)
        in[CONV2D_DATA_GRAD_BIAS] = pt2_vector(c, bias, w->dim[WEIGHT_I]);
    if (c->why->len)
        return;
    a.out = (int)w->dim[WEIGHT_O];
    a.kernel_h = (int)w->dim[WEIGHT_H];
    a.kernel_w = (int)w->dim[WEIGHT_W];
    a.pad_h = pad[0];
    a.pad_w = pad[1];
    a.bias = bias != NULL;
    h = (in[1]->dim[IMAGE_H] - 1) * a.stride_h - 2 * pad[0] + a.kernel_h + more[0];
    width = (in[1]->dim[IMAGE_W] - 1) * a.stride_w - 2 * pad[1] + a.kernel_w + more[1];
    if (more[0] >= a.stride_h || more[1] >= a.stride_w || h < 1 || width < 1 ||
        h > PT2_MOST || width > PT2_MOST) {
        pt2_refuse(c, "its output padding or padding does not fit its stride");
        return;
    }
    a.in_h = (int)h;
    a.in_w = (int)width;
    a.layer = layer_of(c, w->t);
    pt2_result_tensor(c, node(c->b, &op_conv2d_data_grad, a.layer, &a, in, bias ? 3 : 2));
}

void pt2_map_linear(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_tensor(c, "input"), *w = pt2_tensor(c, "weight"),
                           *bias = pt2_optional(c, "bias");
    struct linear_attrs a = {.bias = bias != NULL};
    struct tensor *in[3], *y;
    int order[PT2_DIMS] = {0, 1};

    if (!is_weight(c, w, 2))
        return;
    if (x->ndim == 2 && x->t && tensor_is_image(x->t) && x->t->dim[IMAGE_H] == 1 &&
        x->t->dim[IMAGE_W] == 1 && pt2_value_stored(x, order))
        in[LINEAR_X] = x->t; /* as nets of this program do after a global pool */
    else
        in[LINEAR_X] = pt2_rows(c, x, order);
    in[LINEAR_WEIGHT] = w->t;
    a.out = (int)w->dim[0];
    if (bias)
        in[LINEAR_BIAS] = pt2_vector(c, bias, a.out);
    if (!c->why->len && tensor_channels(in[LINEAR_X]) != w->dim[1])
        pt2_refuse(c, "its weight does not fit its operand");
    if (c->why->len)
        return;
    a.image = tensor_is_image(in[LINEAR_X]);
    a.layer = layer_of(c, w->t);
    y = node(c->b, &op_linear, a.layer, &a, in, bias ? 3 : 2);
    pt2_result(c, pt2_rows_value(x, order, y));
}

/* ---- norms ---- */

/* Reads the buffers of a batch norm. */
static void read_buffers(struct pt2_import *c, struct batchnorm_attrs *a,
                         int64_t channels)
{
    const struct pt2_value *mean = pt2_optional(c, "running_mean"),
                           *var = pt2_optional(c, "running_var");

    if (!mean || !var) {
        pt2_refuse(c, "a batch norm without running statistics");
        return;
    }
    a->running_mean = pt2_vector(c, mean, channels);
    a->running_var = pt2_vector(c, var, channels);
    if (!c->why->len &&
        (a->running_mean->kind != TENSOR_STATE || a->running_var->kind != TENSOR_STATE))
        pt2_refuse(c, "its running statistics are computed");
}

static struct tensor *counter_of(struct pt2_import *c, const struct tensor *mean)
{
    const char *dot = strrchr(mean->name, '.');

    return graph_find(c->b->g,
                      arena_printf(&c->b->g->arena, "%.*snum_batches_tracked",
                                   dot ? (int)(dot + 1 - mean->name) : 0, mean->name));
}

static struct tensor *add_batch_norm(struct pt2_import *c, struct tensor *x,
                                     struct tensor *weight, struct tensor *bias,
                                     struct batchnorm_attrs *a)
{
    struct tensor *in[5] = {x, weight, bias, a->running_mean, a->running_var}, *y;

    if (!c->b->g->training || a->running_mean->frozen)
        return node(c->b, &op_batchnorm_inference, a->layer, a, in, 5);
    y = node(c->b, &op_batchnorm, a->layer, a, in, 3);
    y->producer->out[BATCHNORM_MEAN]->statistic_of = a->running_mean;
    y->producer->out[BATCHNORM_VAR]->statistic_of = a->running_var;
    return y;
}

void pt2_map_batch_norm(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_tensor(c, "input"),
                           *weight = pt2_optional(c, "weight"),
                           *bias = pt2_optional(c, "bias");
    struct batchnorm_attrs a = {.eps = (float)pt2_number(c, "eps", 0),
                                .momentum = (float)pt2_number(c, "momentum", 0),
                                .group = c->b->g->norms};
    struct pt2_value image = *x;
    int64_t channels = x->ndim > 1 ? x->dim[1] : 0;
    struct tensor *t, *w, *bt;

    read_buffers(c, &a, channels);
    pt2_ignore(c, "cudnn_enabled");
    if (!pt2_flag(c, "training", false))
        pt2_refuse(c, "a batch norm that is not trained: export the model in train mode");
    if (!weight || !bias)
        pt2_refuse(c, "a batch norm without weight and bias");
    if (!(a.eps > 0) || !(a.momentum > 0) || a.momentum > 1)
        pt2_refuse(c, "its momentum or eps is out of range");
    if (x->ndim == 2) { /* [N,C]: pixels of images of 1 x 1 */
        image.ndim = 4;
        image.dim[2] = image.dim[3] = 1;
        image.stride[2] = image.stride[3] = 1;
    }
    t = c->why->len ? NULL : pt2_image(c, &image);
    if (!t)
        return;
    w = pt2_vector(c, weight, channels);
    bt = pt2_vector(c, bias, channels);
    if (c->why->len)
        return;
    a.batches = counter_of(c, a.running_mean);
    a.layer = layer_of(c, w);
    image = pt2_value_of(add_batch_norm(c, t, w, bt, &a));
    image.ndim = x->ndim;
    pt2_result(c, image);
}

void pt2_map_layer_norm(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_tensor(c, "input"),
                           *weight = pt2_optional(c, "weight"),
                           *bias = pt2_optional(c, "bias");
    struct layernorm_attrs a = {.eps = (float)pt2_number(c, "eps", 1e-5),
                                .no_affine = !weight};
    struct tensor *in[3], *y;
    int64_t shape[PT2_DIMS];
    int order[PT2_DIMS], n = pt2_ints(c, "normalized_shape", shape);

    pt2_ignore(c, "cudnn_enable");
    if (n != 1)
        pt2_refuse(c, "a layer norm over %d dims", n);
    if (!weight != !bias)
        pt2_refuse(c, "a layer norm with only one of weight and bias");
    in[LAYERNORM_X] = c->why->len ? NULL : pt2_rows(c, x, order);
    if (weight && bias && n == 1) {
        in[LAYERNORM_WEIGHT] = pt2_vector(c, weight, shape[0]);
        in[LAYERNORM_BIAS] = pt2_vector(c, bias, shape[0]);
    }
    if (c->why->len)
        return;
    if (x->t == NULL || x->dim[x->ndim - 1] != shape[0]) {
        pt2_refuse(c, "its shape does not fit its operand");
        return;
    }
    a.layer = weight ? layer_of(c, weight->t) : pt2_layer(c);
    y = node(c->b, &op_layernorm, a.layer, &a, in, weight ? 3 : 1);
    pt2_result(c, pt2_rows_value(x, order, y));
}

void pt2_map_group_norm(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_tensor(c, "input"),
                           *weight = pt2_optional(c, "weight"),
                           *bias = pt2_optional(c, "bias");
    struct groupnorm_attrs a = {.groups = pt2_count(c, "num_groups", 1),
                                .eps = (float)pt2_number(c, "eps", 1e-5)};
    struct tensor *in[3];

    pt2_ignore(c, "cudnn_enabled");
    if (!weight || !bias)
        pt2_refuse(c, "a group norm without weight and bias");
    in[GROUPNORM_X] = c->why->len ? NULL : pt2_image(c, x);
    if (c->why->len)
        return;
    in[GROUPNORM_WEIGHT] = pt2_vector(c, weight, x->dim[1]);
    in[GROUPNORM_BIAS] = pt2_vector(c, bias, x->dim[1]);
    if (c->why->len)
        return;
    a.layer = layer_of(c, weight->t);
    pt2_result_tensor(c, node(c->b, &op_groupnorm, a.layer, &a, in, 3));
}

/* ---- dropout ---- */

/* Returns the rate; 0 if the node drops nothing. */
static float rate_of(struct pt2_import *c)
{
    double p = pt2_number(c, "p", 0);
    bool train = pt2_flag(c, "train", true);

    if (!(p >= 0) || p > 0.999)
        pt2_refuse(c, "a rate of %g", p);
    return train ? (float)p : 0;
}

static struct pt2_value with_tensor(const struct pt2_value *x, struct tensor *t)
{
    struct pt2_value y = *x;

    y.t = t;
    return y;
}

void pt2_map_dropout(struct pt2_import *c)
{
    struct pt2_value x = *pt2_tensor(c, pt2_has(c, "input") ? "input" : "self");
    float rate = rate_of(c);

    if (rate == 0) {
        pt2_result_view(c, &x, x);
        return;
    }
    if (pt2_dense(c, &x))
        pt2_result(c, with_tensor(&x, dropout(c->b, x.t, pt2_layer(c), .rate = rate)));
}

void pt2_map_feature_dropout(struct pt2_import *c)
{
    struct pt2_value x = *pt2_tensor(c, pt2_has(c, "input") ? "input" : "self");
    float rate = rate_of(c);
    struct tensor *t = c->why->len ? NULL : pt2_image(c, &x);

    if (t)
        pt2_result_tensor(c, dropout2d(c->b, t, pt2_layer(c), .rate = rate));
}
