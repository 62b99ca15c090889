/* Layers with weights, and dropout. */
#include <math.h>
#include <string.h>

#include "ops/conv2d.h"
#include "ops/dropout.h"
#include "ops/image.h"
#include "ops/linear.h"
#include "pt2/compose.h"
#include "pt2/table.h"

/* True if v is a parameter as it is, of `ndim` dims. */
static bool is_weight(const struct pt2_value *v, int ndim)
{
    return v->t && v->t->kind == TENSOR_PARAM && v->ndim == ndim && v->t->ndim == ndim &&
           !memcmp(v->dim, v->t->dim, (size_t)ndim * sizeof(*v->dim));
}

/* Returns the weight of a convolution as an image: a parameter, or a computed one. */
static struct tensor *kernel_of(struct pt2_import *c, const struct pt2_value *w)
{
    if (c->why->len)
        return NULL;
    return is_weight(w, 4) && w->t->layout == LAYOUT_IMAGE ? w->t : pt2_image(c, w);
}

/* Sets the result y, [N,C,...], plus a bias that is no parameter of the layer. */
static void add_bias(struct pt2_import *c, struct pt2_value y,
                     const struct pt2_value *bias)
{
    struct pt2_value b;

    if (bias && !c->why->len) {
        b = *bias;
        for (; b.ndim > 0 && b.ndim < y.ndim - 1; b.ndim++)
            b.dim[b.ndim] = b.stride[b.ndim] = 1;
        y = pt2_sum(c, &y, &b);
    }
    if (!c->why->len)
        pt2_result(c, y);
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

/* Sets the convolution of x and w with the attributes read so far, of `ndim` dims. */
static void map_conv(struct pt2_import *c, const struct pt2_value *x,
                     const struct pt2_value *w, const struct pt2_value *bias,
                     struct conv2d_attrs a, int ndim)
{
    struct pt2_value y;
    struct tensor *in[3];

    if (!c->why->len && w->ndim != 4)
        pt2_refuse(c, "its weight has %d dims", w->ndim);
    in[CONV2D_WEIGHT] = kernel_of(c, w);
    in[CONV2D_X] = c->why->len ? NULL : pt2_image(c, x);
    a.out = (int)w->dim[WEIGHT_O];
    a.kernel_h = (int)w->dim[WEIGHT_H];
    a.kernel_w = (int)w->dim[WEIGHT_W];
    a.bias = bias && is_weight(bias, 1);
    if (a.bias)
        in[CONV2D_BIAS] = pt2_vector(c, bias, a.out);
    if (c->why->len)
        return;
    a.in_h = (int)in[0]->dim[IMAGE_H];
    a.in_w = (int)in[0]->dim[IMAGE_W];
    a.layer = pt2_layer_of(c, in[CONV2D_WEIGHT]);
    a.init = INIT_RULE_PYTORCH;
    y = pt2_value_of(node(c->b, &op_conv2d, a.layer, &a, in, a.bias ? 3 : 2));
    y.ndim = ndim;
    add_bias(c, y, a.bias ? NULL : bias);
}

void pt2_map_conv2d(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_tensor(c, "input"), *w = pt2_tensor(c, "weight"),
                           *bias = pt2_optional(c, "bias");
    struct conv2d_attrs a = {0};

    read_conv(c, &a);
    read_padding(c, w, &a);
    if (!c->why->len)
        map_conv(c, x, w, bias, a, 4);
}

/* Vectors [N,C,L] as images of one column; a kernel of one element is a product. */
void pt2_map_conv1d(struct pt2_import *c)
{
    const struct pt2_value *bias;
    struct pt2_value x = *pt2_tensor(c, "input"), w = *pt2_tensor(c, "weight"), y;
    struct conv2d_attrs a = {0};
    static const int rows[] = {0, 2, 1};

    bias = pt2_optional(c, "bias");
    read_conv(c, &a);
    a.stride_w = a.dilation_w = 1;
    if (x.ndim != 3 || w.ndim != 3)
        pt2_refuse(c, "its operand is not [N, channels, length]");
    if (c->why->len)
        return;
    if (w.dim[2] == 1 && a.groups == 1 && a.stride_h == 1 && !pt2_has(c, "padding")) {
        w.ndim = 2;
        pt2_value_permute(&w, (const int[]){1, 0});
        pt2_value_permute(&x, rows);
        y = pt2_product(c, &x, &w);
        pt2_value_permute(&y, rows);
        add_bias(c, y, bias);
        return;
    }
    if (!strcmp(c->node->target, "aten.conv1d.default")) {
        int pad[2] = {0, 0};

        (void)pt2_pair(c, "padding", pad);
        a.pad_h = pad[0];
    }
    x.dim[3] = x.stride[3] = w.dim[3] = w.stride[3] = 1;
    x.ndim = w.ndim = 4;
    map_conv(c, &x, &w, bias, a, 3);
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
    if (!c->why->len && !is_weight(w, 4))
        pt2_refuse(c, "its weight is computed, which is not supported");
    if (c->why->len)
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
    a.layer = pt2_layer_of(c, w->t);
    pt2_result_tensor(c, node(c->b, &op_conv2d_data_grad, a.layer, &a, in, bias ? 3 : 2));
}

/* A linear layer whose weight is computed. */
static struct pt2_value product(struct pt2_import *c, const struct pt2_value *x,
                                const struct pt2_value *w, const struct pt2_value *bias)
{
    struct pt2_value matrix = *w, y;

    pt2_value_permute(&matrix, (const int[]){1, 0});
    y = pt2_product(c, x, &matrix);
    return bias && !c->why->len ? pt2_sum(c, &y, bias) : y;
}

struct pt2_value pt2_affine(struct pt2_import *c, const struct pt2_value *x,
                            const struct pt2_value *w, const struct pt2_value *bias)
{
    struct linear_attrs a = {.bias = bias && is_weight(bias, 1)};
    struct tensor *in[3], *t;
    struct pt2_value y;
    int order[PT2_DIMS] = {0, 1};

    if (c->why->len)
        return *x;
    if (w->ndim != 2 || x->ndim < 1 || x->dim[x->ndim - 1] != w->dim[1]) {
        pt2_refuse(c, "its weight does not fit its operand");
        return *x;
    }
    if (!is_weight(w, 2))
        return product(c, x, w, bias);
    if (x->ndim == 2 && x->t && tensor_is_image(x->t) && x->t->dim[IMAGE_H] == 1 &&
        x->t->dim[IMAGE_W] == 1 && tensor_channels(x->t) == w->dim[1] &&
        pt2_value_stored(x, order))
        in[LINEAR_X] = x->t; /* as nets of this program do after a global pool */
    else
        in[LINEAR_X] = pt2_rows(c, x, order);
    in[LINEAR_WEIGHT] = w->t;
    a.out = (int)w->dim[0];
    if (a.bias)
        in[LINEAR_BIAS] = pt2_vector(c, bias, a.out);
    if (c->why->len)
        return *x;
    a.image = tensor_is_image(in[LINEAR_X]);
    a.layer = pt2_layer_of(c, w->t);
    t = node(c->b, &op_linear, a.layer, &a, in, a.bias ? 3 : 2);
    y = pt2_rows_value(x, order, t);
    return bias && !a.bias ? pt2_sum(c, &y, bias) : y;
}

void pt2_map_linear(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_tensor(c, "input"), *w = pt2_tensor(c, "weight");
    struct pt2_value y = pt2_affine(c, x, w, pt2_optional(c, "bias"));

    if (!c->why->len)
        pt2_result(c, y);
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
