/* What the ops of MODEL.LAYERS append: convolutions, linear layers, norms, and what has no
 * weights; pools are in layers/ops_pool.c. */
#include <string.h>

#include "layers/op.h"
#include "models/blocks.h"
#include "ops/activation.h"
#include "ops/add.h"
#include "ops/batchnorm.h"
#include "ops/concat.h"
#include "ops/conv2d.h"
#include "ops/conv_transpose2d.h"
#include "ops/dropout.h"
#include "ops/expr.h"
#include "ops/groupnorm.h"
#include "ops/image.h"
#include "ops/layernorm.h"
#include "ops/linear.h"
#include "ops/strided_copy.h"
#include "ops/view.h"
#include "ops/window.h"

/* ---- convolutions and linear layers ---- */

/* Sets the zeros before and after an axis. Returns false if they are refused. */
static bool read_padding(struct layer_call *c, const struct conv2d_attrs *a, int axis,
                         int *pad, int *extra)
{
    int kernel = axis ? a->kernel_w : a->kernel_h,
        stride = axis ? a->stride_w : a->stride_h,
        dilation = axis ? a->dilation_w : a->dilation_h;
    const char *word = layer_word(c, "padding");
    int all = word && !strcmp(word, "same") ? dilation * (kernel - 1) : 0;

    if (!word) {
        *pad = layer_pair(c, "padding")[axis];
        return true;
    }
    *pad = all / 2; /* PyTorch has the odd one at the end, too */
    *extra = all % 2;
    if (*word == 's' && stride != 1)
        layer_refuse(c, "padding same needs stride 1, as in PyTorch, not %d", stride);
    return !c->why->len;
}

static bool wants_groups(struct layer_call *c, const struct tensor *x, int out,
                         int groups)
{
    if (x->dim[IMAGE_C] % groups || out % groups)
        layer_refuse(c,
                     "groups %d must divide the input channels, which are %lld, and "
                     "out_channels, which is %d",
                     groups, (long long)x->dim[IMAGE_C], out);
    return !c->why->len;
}

struct tensor *layer_conv2d(struct layer_call *c)
{
    struct tensor *x = c->in[0];
    const int *kernel = layer_pair(c, "kernel_size"), *stride = layer_pair(c, "stride"),
              *dilation = layer_pair(c, "dilation");
    struct conv2d_attrs a = {
        .layer = c->layer,
        .out = layer_int(c, "out_channels"),
        .kernel_h = kernel[0],
        .kernel_w = kernel[1],
        .stride_h = stride[0],
        .stride_w = stride[1],
        .dilation_h = dilation[0],
        .dilation_w = dilation[1],
        .groups = layer_int(c, "groups"),
        .bias = layer_int(c, "bias"),
        .init = INIT_RULE_PYTORCH,
    };

    if (!layer_wants_image(c, x) || !read_padding(c, &a, 0, &a.pad_h, &a.extra_h) ||
        !read_padding(c, &a, 1, &a.pad_w, &a.extra_w) ||
        !wants_groups(c, x, a.out, a.groups) ||
        !layer_wants_size(c,
                          window_count(x->dim[IMAGE_H] + a.extra_h, kernel[0], stride[0],
                                       a.pad_h, dilation[0], false),
                          window_count(x->dim[IMAGE_W] + a.extra_w, kernel[1], stride[1],
                                       a.pad_w, dilation[1], false)) ||
        !layer_wants_weights(c, (double)a.out * (double)x->dim[IMAGE_C] / a.groups *
                                    kernel[0] * kernel[1]))
        return NULL;
    return conv2d_(c->b, x, &a);
}

struct tensor *layer_conv_transpose2d(struct layer_call *c)
{
    struct tensor *x = c->in[0];
    struct conv_transpose2d_attrs a = {
        .layer = c->layer,
        .out = layer_int(c, "out_channels"),
        .kernel = layer_int(c, "kernel_size"),
        .stride = layer_int(c, "stride"),
        .padding = layer_int(c, "padding"),
        .output_padding = layer_int(c, "output_padding"),
        .bias = layer_int(c, "bias"),
    };
    int64_t more = a.kernel - 2 * (int64_t)a.padding + a.output_padding;

    if (a.output_padding >= a.stride)
        layer_refuse(c, "output_padding %d must be below the stride, which is %d",
                     a.output_padding, a.stride);
    if (!layer_wants_image(c, x) ||
        !layer_wants_size(c, (x->dim[IMAGE_H] - 1) * a.stride + more,
                          (x->dim[IMAGE_W] - 1) * a.stride + more) ||
        !layer_wants_weights(c, (double)a.out * (double)x->dim[IMAGE_C] * a.kernel *
                                    a.kernel))
        return NULL;
    return conv_transpose2d_(c->b, x, &a);
}

struct tensor *layer_linear(struct layer_call *c)
{
    struct linear_attrs a = {.layer = c->layer,
                             .out = layer_int(c, "out_features"),
                             .bias = layer_int(c, "bias")};

    if (!layer_wants_vector(c, c->in[0]) ||
        !layer_wants_weights(c, (double)a.out * (double)c->in[0]->dim[1]))
        return NULL;
    return linear_(c->b, c->in[0], &a);
}

/* Images are stored channels last, and PyTorch's order is channels first. */
struct tensor *layer_flatten(struct layer_call *c)
{
    struct tensor *x = c->in[0];
    int64_t n = x->dim[IMAGE_N], h, w, k = x->dim[IMAGE_C], flat[2] = {n, k};

    if (x->ndim == 2)
        return x;
    if (!layer_wants_image(c, x))
        return NULL;
    h = x->dim[IMAGE_H];
    w = x->dim[IMAGE_W];
    flat[1] = k * h * w;
    if (h * w == 1 || k == 1)
        x = view_tokens(c->b, x, c->layer);
    else
        x = strided_copy(c->b, x, c->layer, .n = 4, .len = {n, k, h, w},
                         .stride = {flat[1], 1, w * k, k});
    return view_plain(c->b, x, c->layer, 2, flat);
}

/* ---- norms ---- */

/* [N, features] as images of a pixel. */
static struct tensor *view_pixels(struct layer_call *c, struct tensor *x)
{
    int64_t dim[] = {x->dim[0], 1, 1, x->dim[1]};

    return view_image(c->b, view_plain(c->b, x, c->layer, 4, dim), c->layer);
}

struct tensor *layer_batchnorm(struct layer_call *c)
{
    struct tensor *x = c->in[0], *y;
    bool vector = x->ndim == 2;

    if (!vector && !layer_wants_image(c, x))
        return NULL;
    y = batchnorm(c->b, vector ? view_pixels(c, x) : x, c->layer,
                  .eps = (float)layer_float(c, "eps"),
                  .momentum = (float)layer_float(c, "momentum"));
    return vector ? view_like(c->b, y, x, c->layer) : y;
}

struct tensor *layer_groupnorm(struct layer_call *c)
{
    struct tensor *x = c->in[0];
    int groups = layer_int(c, "num_groups");

    if (!layer_wants_image(c, x))
        return NULL;
    if (x->dim[IMAGE_C] % groups)
        return layer_refuse(c, "num_groups %d does not divide the %lld channels", groups,
                            (long long)x->dim[IMAGE_C]);
    return groupnorm(c->b, x, c->layer, .groups = groups,
                     .eps = (float)layer_float(c, "eps"));
}

struct tensor *layer_layernorm(struct layer_call *c)
{
    if (!layer_wants_vector(c, c->in[0]))
        return NULL;
    return layernorm(c->b, c->in[0], c->layer, .eps = (float)layer_float(c, "eps"),
                     .no_affine = !layer_int(c, "elementwise_affine"));
}

struct tensor *layer_layernorm2d(struct layer_call *c)
{
    if (!layer_wants_image(c, c->in[0]))
        return NULL;
    return layernorm(c->b, c->in[0], c->layer, .eps = (float)layer_float(c, "eps"));
}

/* ---- without weights ---- */

struct tensor *layer_dropout(struct layer_call *c)
{
    return dropout(c->b, c->in[0], c->layer, .rate = (float)layer_float(c, "p"));
}

struct tensor *layer_dropout2d(struct layer_call *c)
{
    if (!layer_wants_image(c, c->in[0]))
        return NULL;
    return dropout2d(c->b, c->in[0], c->layer, .rate = (float)layer_float(c, "p"));
}

struct tensor *layer_drop_path(struct layer_call *c)
{
    return drop_path(c->b, c->in[0], c->layer, .rate = (float)layer_float(c, "p"));
}

struct tensor *layer_activation(struct layer_call *c)
{
    const struct layer_arg *a = c->op->args;

    if (!strcmp(c->op->name, "relu6"))
        return relu(c->b, c->in[0], c->layer, .limit = 6);
    if (a && a->type == LAYER_WORD) /* gelu */
        return gelu(c->b, c->in[0], c->layer,
                    .tanh = !strcmp(layer_word(c, "approximate"), "tanh"));
    return activation(c->b, c->in[0], c->op->name, a ? (float)layer_float(c, a->name) : 0,
                      c->layer);
}

struct tensor *layer_squeeze_excite(struct layer_call *c)
{
    struct net n = {.b = c->b, .init = INIT_RULE_PYTORCH};
    int width = layer_int(c, "squeeze_channels");

    if (!layer_wants_image(c, c->in[0]))
        return NULL;
    return squeeze_excite(&n, c->in[0], c->layer, .width = width,
                          .act = layer_word(c, "activation"),
                          .gate = layer_word(c, "scale_activation"));
}

struct tensor *layer_identity(struct layer_call *c)
{
    return c->in[0];
}

/* ---- several inputs ---- */

static void refuse_shapes(struct layer_call *c, const char *what, int i)
{
    struct strbuf s = STRBUF_INIT;

    layer_add_shape(&s, c->in[0]);
    strbuf_addstr(&s, " and ");
    layer_add_shape(&s, c->in[i]);
    layer_refuse(c, "its inputs %s: %s", what, s.buf);
    strbuf_release(&s);
}

struct tensor *layer_concat(struct layer_call *c)
{
    for (int i = 1; i < c->nin; i++) {
        bool same = c->in[i]->ndim == c->in[0]->ndim;

        for (int d = 2; same && d < c->in[0]->ndim; d++)
            same = c->in[i]->dim[d] == c->in[0]->dim[d];
        if (!same) {
            refuse_shapes(c, "differ in more than their channels", i);
            return NULL;
        }
    }
    return concat(c->b, c->in, c->nin, c->layer, .axis = 1);
}

struct tensor *layer_add(struct layer_call *c)
{
    for (int i = 1; i < c->nin; i++)
        if (!tensor_same(c->in[i], c->in[0])) {
            refuse_shapes(c, "have different shapes", i);
            return NULL;
        }
    return node(c->b, &op_add, c->layer, NULL, c->in, c->nin);
}

/* True if y broadcasts to x: each of its dims is x's, or 1. */
static bool broadcasts(const struct tensor *x, const struct tensor *y)
{
    bool fits = x->layout == y->layout && x->ndim == y->ndim;

    for (int d = 0; fits && d < x->ndim; d++)
        fits = y->dim[d] == x->dim[d] || (d && y->dim[d] == 1);
    return fits;
}

struct tensor *layer_mul(struct layer_call *c)
{
    struct expr e = expr_start(c->layer, 2, c->in);

    if (!broadcasts(c->in[0], c->in[1]) && !broadcasts(c->in[1], c->in[0])) {
        refuse_shapes(c, "have shapes that do not fit", 1);
        return NULL;
    }
    return expr_end(c->b, &e, expr_add(&e, EXPR_MUL, 0, 1));
}
