#include "models/mobile.h"

#include <math.h>

#include "base/error.h"
#include "models/blocks.h"
#include "models/stages.h"
#include "ops/activation.h"
#include "ops/add.h"
#include "ops/batchnorm.h"
#include "ops/conv2d.h"
#include "ops/dropout.h"
#include "ops/global_avgpool.h"
#include "ops/linear.h"

enum { BLOCKS = 128 };

/* A net under construction. */
struct mobile_net {
    struct net n;
    const struct mobile *a;
};

/* A block of the net: `index` counts within its stage. */
struct mobile_place {
    const struct mobile_blocks *row;
    int stage, index;
};

/* Rounds to a multiple of 8: at least 8, and (with `max`) at least 90 % of the width. */
static int round_width(double width, bool max)
{
    int w = (int)(width + 4) / 8 * 8;

    if (w < 8)
        w = 8;
    return max && w < 0.9 * width ? w + 8 : w;
}

static int scale_width(const struct mobile *a, int width)
{
    return a->width > 0 ? round_width(width * a->width, !a->rounds_down) : width;
}

static const struct mobile_blocks *stage_end(const struct mobile_blocks *row)
{
    for (row++; row->kind && row->same_stage;)
        row++;
    return row;
}

/*
 * Blocks of the rows of a stage, scaled by `depth`: the stage's sum is rounded up, and
 * distributed in proportion, from the last row on.
 */
static void scale_depth(const struct mobile_blocks *row, int rows, double depth,
                        int *repeat)
{
    int sum = 0, scaled;

    for (int i = 0; i < rows; i++)
        sum += row[i].repeat;
    scaled = (int)ceil(sum * depth);
    for (int i = rows - 1; i >= 0; i--) {
        repeat[i] = (int)fmax(1, rint((double)row[i].repeat / sum * scaled));
        sum -= row[i].repeat;
        scaled -= repeat[i];
    }
}

/* Lists the blocks of the net; returns their number. The list ends with an empty place. */
static int list_blocks(const struct mobile *a, struct mobile_place place[BLOCKS + 1])
{
    int n = 0, repeat[BLOCKS], stage = 0;

    for (const struct mobile_blocks *row = a->blocks, *end; row->kind; row = end) {
        bool fixed = a->fixed_ends && (stage == 0 || !stage_end(row)->kind);
        int index = 0;

        end = stage_end(row);
        scale_depth(row, (int)(end - row), fixed || !(a->depth > 0) ? 1 : a->depth,
                    repeat);
        for (int i = 0; i < end - row; i++)
            for (int k = 0; k < repeat[i]; k++) {
                if (n == BLOCKS)
                    BUG("more than %d blocks", BLOCKS);
                place[n++] = (struct mobile_place){&row[i], stage, index++};
            }
        stage++;
    }
    place[n] = (struct mobile_place){.stage = stage};
    return n;
}

/* Convolution, batch norm, activation. */
#define conv_act(n, x, p, CONV, BN, ...)                                                 \
    conv_bn((n), (x), (p), CONV, BN, BN ".act", __VA_ARGS__)
/* The same with the names of timm's ConvNormAct; a: the activation, or NULL. */
#define conv_norm(n, x, p, a, ...) conv_bn((n), (x), (p), "conv", "bn", (a), __VA_ARGS__)

static struct tensor *excite(struct mobile_net *m, struct tensor *x, const char *p,
                             const struct mobile_blocks *r)
{
    enum mobile_squeeze how = m->a->squeeze;
    double inside = (double)x->dim[1];
    int width = (int)rint(inside * (r->squeeze / r->expand));

    if (!(r->squeeze > 0))
        return x;
    if (how == MOBILE_SQUEEZE_INSIDE)
        width = (int)rint(inside * r->squeeze);
    if (how == MOBILE_SQUEEZE_RELU)
        width = round_width(inside * r->squeeze, true);
    return squeeze_excite(&m->n, x, layer_name(&m->n, p, "se"), .width = width,
                          .fc1 = "conv_reduce", .fc2 = "conv_expand",
                          .act = how == MOBILE_SQUEEZE_RELU ? "relu" : m->n.act,
                          .gate = how == MOBILE_SQUEEZE_INPUT ? "sigmoid" : "hardsigmoid",
                          .bias_init = INIT_RULE_ZERO);
}

static struct tensor *separable(struct mobile_net *m, struct tensor *x, const char *p,
                                const struct mobile_blocks *r, struct stage_strides s)
{
    int in = (int)x->dim[1];

    x = conv_act(&m->n, x, p, "conv_dw", "bn1", .out = in, .kernel = r->kernel,
                 .stride = s.stride, .dilation = s.first, .groups = in);
    x = excite(m, x, p, r);
    return conv_bn(&m->n, x, p, "conv_pw", "bn2", NULL, .out = scale_width(m->a, r->out),
                   .kernel = 1);
}

static struct tensor *inverted(struct mobile_net *m, struct tensor *x, const char *p,
                               const struct mobile_blocks *r, struct stage_strides s)
{
    int inside = round_width((double)x->dim[1] * r->expand, true);

    x = conv_act(&m->n, x, p, "conv_pw", "bn1", .out = inside, .kernel = 1);
    x = conv_act(&m->n, x, p, "conv_dw", "bn2", .out = inside, .kernel = r->kernel,
                 .stride = s.stride, .dilation = s.first, .groups = inside);
    x = excite(m, x, p, r);
    return conv_bn(&m->n, x, p, "conv_pwl", "bn3", NULL, .out = scale_width(m->a, r->out),
                   .kernel = 1);
}

static struct tensor *fused(struct mobile_net *m, struct tensor *x, const char *p,
                            const struct mobile_blocks *r, struct stage_strides s)
{
    int inside = round_width((double)x->dim[1] * r->expand, true);

    x = conv_act(&m->n, x, p, "conv_exp", "bn1", .out = inside, .kernel = r->kernel,
                 .stride = s.stride, .dilation = s.first);
    x = excite(m, x, p, r);
    return conv_bn(&m->n, x, p, "conv_pwl", "bn2", NULL, .out = scale_width(m->a, r->out),
                   .kernel = 1);
}

static struct tensor *plain(struct mobile_net *m, struct tensor *x, const char *p,
                            const struct mobile_blocks *r, struct stage_strides s)
{
    return conv_act(&m->n, x, p, "conv", "bn1", .out = scale_width(m->a, r->out),
                    .kernel = r->kernel, .stride = s.stride, .dilation = s.first);
}

static struct tensor *universal(struct mobile_net *m, struct tensor *x, const char *p,
                                const struct mobile_blocks *r, struct stage_strides s)
{
    struct net *n = &m->n;
    int in = (int)x->dim[1], inside = round_width(in * r->expand, true);

    if (r->start)
        x = conv_norm(n, x, layer_name(n, p, "dw_start"), NULL, .out = in,
                      .kernel = r->start, .stride = r->kernel ? 1 : s.stride,
                      .dilation = s.first, .groups = in);
    x = conv_norm(n, x, layer_name(n, p, "pw_exp"), "bn.act", .out = inside, .kernel = 1);
    if (r->kernel)
        x = conv_norm(n, x, layer_name(n, p, "dw_mid"), "bn.act", .out = inside,
                      .kernel = r->kernel, .stride = s.stride, .dilation = s.first,
                      .groups = inside);
    x = excite(m, x, p, r);
    return conv_norm(n, x, layer_name(n, p, "pw_proj"), NULL,
                     .out = scale_width(m->a, r->out), .kernel = 1);
}

static struct tensor *block(struct mobile_net *m, struct tensor *x, const char *p,
                            const struct mobile_blocks *r, struct stage_strides s)
{
    static struct tensor *(*const build[])(struct mobile_net *, struct tensor *,
                                           const char *, const struct mobile_blocks *,
                                           struct stage_strides) = {
        [MOBILE_SEPARABLE] = separable, [MOBILE_INVERTED] = inverted,
        [MOBILE_FUSED] = fused,         [MOBILE_CONV] = plain,
        [MOBILE_UNIVERSAL] = universal,
    };
    struct net *n = &m->n;
    struct tensor *y;

    n->act = r->relu ? "relu" : m->a->act;
    scope_begin(n->b);
    y = build[r->kind](m, x, p, r, s);
    if (!r->no_shortcut && s.stride == 1 && x->dim[1] == y->dim[1]) {
        y = net_drop_path(n, y, layer_name(n, p, "drop_path"));
        y = add(n->b, y, x, layer_name(n, p, "add"));
    } else {
        n->block++;
    }
    scope_end(n->b);
    n->act = m->a->act;
    return y;
}

/* Returns NULL if the net ends with one of the stages: where the map is halved next. */
static struct tensor *stages(struct mobile_net *m, struct tensor *x)
{
    struct mobile_place place[BLOCKS + 1];
    struct net *n = &m->n;
    struct arena *arena = &n->b->g->arena;
    struct stage_strides s = {.stride = 1};

    /* timm's rate of block i is rate * i / blocks */
    n->nblock = list_blocks(m->a, place) + 1;
    x = conv_act(n, x, "", "conv_stem", "bn1", .out = m->a->stem, .kernel = 3,
                 .stride = net_stride(n, 2));
    if (place[0].row->stride > 1 && model_stage(n->o, "bn1", n->reduction, x))
        return NULL;
    for (const struct mobile_place *item = place; item->row; item++) {
        const struct mobile_place *next = item + 1;

        if (item->index == 0)
            s = net_stage(n, item->row->stride);
        x = block(m, x, arena_printf(arena, "blocks.%d.%d", item->stage, item->index),
                  item->row, s);
        s.stride = 1;
        s.first = s.dilation;
        if (next->stage > item->stage && (!next->row || next->row->stride > 1) &&
            model_stage(n->o, arena_printf(arena, "blocks.%d", item->stage), n->reduction,
                        x))
            return NULL;
    }
    return x;
}

static struct tensor *head(struct mobile_net *m, struct tensor *x)
{
    struct net *n = &m->n;
    int out = m->a->features;
    enum mobile_head kind = m->a->head;

    if (kind == MOBILE_HEAD_CONV) {
        x = conv_act(n, x, "", "conv_head", "bn2", .out = out, .kernel = 1);
        return global_avgpool(n->b, x, "global_pool");
    }
    x = global_avgpool(n->b, x, "global_pool");
    x = conv2d(n->b, x, "conv_head", .out = out, .kernel = 1, .same = n->same,
               .bias = kind == MOBILE_HEAD_POOL_BIAS, .init = n->init,
               .bias_init = INIT_RULE_ZERO);
    if (kind == MOBILE_HEAD_POOL_NORM)
        x = batchnorm(n->b, x, "norm_head", .eps = n->eps);
    return activation(n->b, x, n->act, n->act_number, "act2");
}

struct tensor *mobile_build(struct builder *b, const void *arch,
                            const struct model_options *o, struct tensor *x)
{
    const struct mobile *a = arch;
    struct mobile_net m = {.n = {.b = b,
                                 .o = o,
                                 .init = o->init ? o->init : INIT_RULE_KAIMING_GROUPS,
                                 .act = a->act,
                                 .act_number = a->act_number,
                                 .eps = a->eps,
                                 .same = a->same,
                                 .reduction = 1},
                           .a = a};

    x = stages(&m, x);
    if (!x)
        return NULL;
    x = head(&m, x);
    x = dropout(b, x, "drop", .rate = (float)o->drop_rate);
    return linear(b, x, "classifier", .out = (int)o->classes, .bias = 1,
                  .init = o->init ? o->init : INIT_RULE_UNIFORM_OUT,
                  .bias_init = INIT_RULE_ZERO);
}

const char *const mobile_reads[] = {"MODEL.NUM_CLASSES",
                                    "MODEL.DROP_RATE",
                                    "MODEL.DROP_PATH_RATE",
                                    "MODEL.INIT",
                                    "MODEL.OUTPUT_STRIDE",
                                    "MODEL.SKIP_STRIDES",
                                    NULL};

const struct layer_rule mobile_layers_conv[] = {
    {.pattern = "^(conv_stem|bn1)\\.", .group = 0},
    {.pattern = "^blocks\\.([0-9]+)\\.([0-9]+)\\.", .group = 1},
    {.pattern = "^(conv_head|bn2)\\.", .group = 1, .joins = true},
    {.pattern = NULL},
};

const struct layer_rule mobile_layers_pool[] = {
    {.pattern = "^(conv_stem|bn1)\\.", .group = 0},
    {.pattern = "^blocks\\.([0-9]+)\\.([0-9]+)\\.", .group = 1},
    {.pattern = NULL},
};
