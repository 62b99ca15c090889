#include "models/blocks.h"

#include "ops/activation.h"
#include "ops/avgpool2d.h"
#include "ops/batchnorm.h"
#include "ops/concat.h"
#include "ops/conv2d.h"
#include "ops/dropout.h"
#include "ops/global_avgpool.h"
#include "ops/groupnorm.h"
#include "ops/image.h"
#include "ops/scale_channels.h"

char *layer_below(const struct builder *b, const char *prefix, const char *suffix)
{
    return arena_printf(&b->g->arena, "%s%s%s", prefix, *prefix ? "." : "", suffix);
}

char *layer_name(const struct net *n, const char *prefix, const char *suffix)
{
    return layer_below(n->b, prefix, suffix);
}

static struct tensor *activate(struct net *n, struct tensor *x, const char *act,
                               float number, const char *layer)
{
    return activation(n->b, x, act ? act : "relu", number, layer);
}

struct tensor *conv_bn_(struct net *n, struct tensor *x, const struct conv_bn_attrs *a)
{
    int dilation = a->dilation ? a->dilation : 1;

    x = conv2d(n->b, x, layer_name(n, a->prefix, a->conv), .out = a->out,
               .kernel = a->kernel, .stride = a->stride, .dilation = dilation,
               .padding = n->same ? 0 : dilation * (a->kernel - 1) / 2, .same = n->same,
               .groups = a->groups, .init = n->init);
    if (n->norm_groups)
        x = groupnorm(n->b, x, layer_name(n, a->prefix, a->bn), .groups = n->norm_groups,
                      .eps = n->eps, .zero_init = a->zero_init);
    else
        x = batchnorm(n->b, x, layer_name(n, a->prefix, a->bn), .eps = n->eps,
                      .momentum = n->momentum, .zero_init = a->zero_init);
    if (!a->act)
        return x;
    return activate(n, x, n->act, n->act_number, layer_name(n, a->prefix, a->act));
}

struct tensor *conv_bias(struct net *n, struct tensor *x, const char *layer, int out,
                         int kernel, int bias_init)
{
    return conv2d(n->b, x, layer, .out = out, .kernel = kernel, .padding = kernel / 2,
                  .bias = 1, .init = n->init, .bias_init = bias_init);
}

/* Prepends the second row (or column) of an image and appends the last but one: one pixel of
 * reflection, as far as windows of 3 with that stride reach. */
static struct tensor *reflect(struct net *n, struct tensor *x, const char *layer,
                              int axis, int stride)
{
    int len = (int)x->dim[axis], parts = len % 2 || stride == 1 ? 3 : 2;
    struct slice_attrs first = {layer, axis, 1, 1}, last = {layer, axis, len - 2, 1};
    struct tensor *part[3] = {NULL, x, NULL};

    part[0] = node(n->b, &op_slice, layer, &first, &x, 1);
    if (parts == 3)
        part[2] = node(n->b, &op_slice, layer, &last, &x, 1);
    return concat(n->b, part, parts, layer, .axis = axis);
}

struct tensor *blur_pool(struct net *n, struct tensor *x, const char *layer, int stride)
{
    x = reflect(n, x, layer_name(n, layer, "rows"), IMAGE_H, stride);
    x = reflect(n, x, layer_name(n, layer, "columns"), IMAGE_W, stride);
    x = avgpool2d(n->b, x, layer_name(n, layer, "mean"), .kernel = 2, .stride = 1);
    return avgpool2d(n->b, x, layer, .kernel = 2, .stride = stride);
}

struct tensor *squeeze_excite_(struct net *n, struct tensor *x,
                               const struct squeeze_excite_attrs *a)
{
    const char *p = a->prefix;
    struct tensor *s = global_avgpool(n->b, x, layer_name(n, p, "pool"));

    s = conv_bias(n, s, layer_name(n, p, a->fc1 ? a->fc1 : "fc1"), a->width, 1,
                  a->bias_init);
    s = activate(n, s, a->act, 0, layer_name(n, p, "act"));
    s = conv_bias(n, s, layer_name(n, p, a->fc2 ? a->fc2 : "fc2"), (int)x->dim[1], 1,
                  a->bias_init);
    s = activate(n, s, a->gate ? a->gate : "sigmoid", 0, layer_name(n, p, "gate"));
    return scale_channels(n->b, x, s, p);
}

struct tensor *net_drop_path(struct net *n, struct tensor *x, const char *layer)
{
    double rate = n->nblock > 1 ? n->o->drop_path * n->block / (n->nblock - 1) : 0;

    n->block++;
    return drop_path(n->b, x, layer, .rate = (float)rate);
}

int net_stride(struct net *n, int stride)
{
    if (stride > 1 && n->strides++ < n->o->skip_strides)
        stride = 1;
    n->reduction *= stride;
    return stride;
}

struct stage_strides net_stage(struct net *n, int stride)
{
    int before = n->dilation ? n->dilation : 1;

    n->dilation = before;
    if (n->o->output_stride && n->reduction >= n->o->output_stride)
        n->dilation *= stride, stride = 1;
    else
        stride = net_stride(n, stride);
    return (struct stage_strides){.stride = stride,
                                  .first = n->o->dilates_first ? n->dilation : before,
                                  .dilation = n->dilation};
}
