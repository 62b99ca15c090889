#include "models/resnet_attend.h"

#include "ops/activation.h"
#include "ops/add.h"
#include "ops/concat.h"
#include "ops/conv2d.h"
#include "ops/expr.h"
#include "ops/global_avgpool.h"
#include "ops/image.h"
#include "ops/scale_channels.h"
#include "ops/view.h"

enum { PATHS = 2 };

/* Returns the odd number that is (log2(channels) + 1) / 2 or the next one, at least 3. */
static int taps(int64_t channels)
{
    int log = 0, t;

    while (channels >> (log + 1))
        log++;
    t = (log + 1) / 2;
    t += t % 2 == 0;
    return t > 3 ? t : 3;
}

/* Returns the elements of x, an image of one row or column, in other dims. */
static struct tensor *reshape(struct net *n, struct tensor *x, const char *layer,
                              int64_t rows, int64_t channels)
{
    int64_t dim[] = {x->dim[IMAGE_N], rows, 1, channels};

    x = view_plain(n->b, view_tokens(n->b, x, layer), layer, 4, dim);
    return view_image(n->b, x, layer);
}

struct tensor *efficient_attention(struct net *n, struct tensor *x, const char *prefix)
{
    const char *layer = layer_name(n, prefix, "conv");
    int64_t c = x->dim[IMAGE_C], k = taps(c), shape[] = {1, 1, k}, dim[] = {1, k, 1, 1};
    struct tensor *s = global_avgpool(n->b, x, layer_name(n, prefix, "pool")), *w;

    w = graph_param(n->b, layer, "weight", LAYOUT_PLAIN, 3, shape,
                    init_rule_init(INIT_RULE_PYTORCH, k, k));
    w = view_image(n->b, view_plain(n->b, w, layer, 4, dim), layer);
    s = conv2d_with(n->b, reshape(n, s, layer, c, 1), w, layer, .pad_h = (int)k / 2);
    s = activation(n->b, reshape(n, s, layer, 1, c), "sigmoid", 0,
                   layer_name(n, prefix, "gate"));
    return scale_channels(n->b, x, s, prefix);
}

static int attention_width(const struct selective_kernel_attrs *a)
{
    int d = a->divisor, w = (a->out / a->ratio + d / 2) / d * d;

    return w < d ? d : w;
}

static struct tensor *half(struct net *n, struct tensor *x, const char *layer, int i)
{
    int len = (int)x->dim[IMAGE_C] / PATHS;
    struct slice_attrs a = {layer, IMAGE_C, i * len, len};

    return node(n->b, &op_slice, layer, &a, &x, 1);
}

static struct tensor *path(struct net *n, struct tensor *x,
                           const struct selective_kernel_attrs *a, int i)
{
    const char *p = arena_printf(&n->b->g->arena, "%s.paths.%d", a->prefix, i);

    if (a->split)
        x = half(n, x, layer_name(n, p, "half"), i);
    return conv_bn(n, x, p, "conv", "bn", "act", .out = a->out, .kernel = 3,
                   .stride = a->stride, .dilation = a->dilation * (i + 1),
                   .groups = a->groups);
}

static struct tensor *conv1x1(struct net *n, struct tensor *x, const char *layer, int out)
{
    return conv2d(n->b, x, layer, .out = out, .kernel = 1, .init = n->init);
}

/* x times the weight of path i: the softmax of two logits is a sigmoid. */
static struct tensor *weigh(struct net *n, struct tensor *x, struct tensor *logits,
                            const char *p, int i)
{
    struct tensor *in[] = {half(n, logits, layer_name(n, p, "logits"), i),
                           half(n, logits, layer_name(n, p, "logits"), 1 - i)};
    struct expr e = expr_start(layer_name(n, p, "softmax"), 2, in);
    struct tensor *s =
        expr_end(n->b, &e, expr_add(&e, EXPR_SIGMOID, expr_add(&e, EXPR_SUB, 0, 1)));

    return scale_channels(n->b, x, s, layer_name(n, p, "scale"));
}

struct tensor *selective_kernel_(struct net *n, struct tensor *x,
                                 const struct selective_kernel_attrs *a)
{
    const char *p = layer_name(n, a->prefix, "attn");
    struct tensor *part[PATHS], *s;

    for (int i = 0; i < PATHS; i++)
        part[i] = path(n, x, a, i);
    s = add(n->b, part[0], part[1], layer_name(n, p, "add"));
    s = global_avgpool(n->b, s, layer_name(n, p, "pool"));
    s = conv_bn(n, s, p, "fc_reduce", "bn", "act", .out = attention_width(a),
                .kernel = 1);
    s = conv1x1(n, s, layer_name(n, p, "fc_select"), PATHS * a->out);
    for (int i = 0; i < PATHS; i++)
        part[i] = weigh(n, part[i], s, p, i);
    return add(n->b, part[0], part[1], layer_name(n, a->prefix, "add"));
}
