#include "models/mixer.h"

#include "models/blocks.h"
#include "models/image_size.h"
#include "models/rows.h"
#include "models/stages.h"
#include "ops/activation.h"
#include "ops/add.h"
#include "ops/concat.h"
#include "ops/conv2d.h"
#include "ops/dropout.h"
#include "ops/expr.h"
#include "ops/global_avgpool.h"
#include "ops/layer_scale.h"
#include "ops/layernorm.h"
#include "ops/linear.h"
#include "ops/strided_copy.h"
#include "ops/view.h"

/* A net under construction. */
struct mixer_net {
    struct builder *b;
    const struct mixer *arch;
    const struct model_options *o;
};

static int rule(const struct mixer_net *v, enum init_rule dflt)
{
    return v->o->init ? v->o->init : (int)dflt;
}

static struct tensor *dense(struct mixer_net *v, struct tensor *x, const char *name,
                            int out, enum init_rule bias)
{
    return linear(v->b, x, name, .out = out, .bias = 1,
                  .init = rule(v, INIT_RULE_XAVIER_UNIFORM), .bias_init = (int)bias);
}

/* [N,A,B] to [N,B,A] */
static struct tensor *transpose(struct mixer_net *v, struct tensor *x, const char *name)
{
    int64_t n = x->dim[0], rows = x->dim[1], columns = x->dim[2];

    return strided_copy(v->b, x, name, .n = 3, .len = {n, columns, rows},
                        .stride = {rows * columns, 1, columns});
}

/* Returns the first or the second half of the last dim. */
static struct tensor *half(struct mixer_net *v, struct tensor *x, const char *name,
                           int index)
{
    int len = (int)x->dim[2] / 2;
    struct slice_attrs a = {.layer = name, .axis = 2, .first = index * len, .len = len};

    return node(v->b, &op_slice, name, &a, &x, 1);
}

/* a b, or a silu(b) */
static struct tensor *gated(struct mixer_net *v, struct tensor *a, struct tensor *b,
                            const char *name, bool silu)
{
    struct expr e = expr_start(name, 2, (struct tensor *[]){a, b});
    int gate = silu ? expr_add(&e, EXPR_SILU, 1) : 1;

    return expr_end(v->b, &e, expr_add(&e, EXPR_MUL, 0, gate));
}

/* gMLP's spatial gating unit: the second half, mixed over the tokens, gates the first. */
static struct tensor *spatial_gate(struct mixer_net *v, struct tensor *x, const char *p)
{
    struct tensor *gate = half(v, x, layer_below(v->b, p, "half"), 1);

    gate = layernorm(v->b, gate, layer_below(v->b, p, "norm"));
    gate = transpose(v, gate, layer_below(v->b, p, "tokens"));
    gate = linear(v->b, gate, layer_below(v->b, p, "proj"), .out = (int)gate->dim[2],
                  .bias = 1, .init = rule(v, INIT_RULE_NORMAL_TINY),
                  .bias_init = INIT_RULE_ONE);
    gate = transpose(v, gate, layer_below(v->b, p, "channels"));
    return gated(v, half(v, x, layer_below(v->b, p, "half"), 0), gate, p, false);
}

/* An MLP of the last dim of x. */
static struct tensor *mlp(struct mixer_net *v, struct tensor *x, const char *p,
                          int hidden)
{
    enum mixer_kind kind = v->arch->kind;
    int out = (int)x->dim[2];

    x = dense(v, x, layer_below(v->b, p, "fc1"), hidden, INIT_RULE_NORMAL_TINY);
    if (kind == MIXER_GLU)
        x = gated(v, half(v, x, layer_below(v->b, p, "half"), 0),
                  half(v, x, layer_below(v->b, p, "half"), 1),
                  layer_below(v->b, p, "act"), true);
    else
        x = gelu(v->b, x, layer_below(v->b, p, "act"));
    if (kind == MIXER_GATE)
        x = spatial_gate(v, x, layer_below(v->b, p, "gate"));
    return dense(v, x, layer_below(v->b, p, "fc2"), out, INIT_RULE_NORMAL_TINY);
}

/* alpha x + beta of each channel */
static struct tensor *affine(struct mixer_net *v, struct tensor *x, const char *name)
{
    int64_t dim[] = {1, 1, x->dim[2]};
    struct init one = {INIT_CONSTANT, 1}, zero = {INIT_ZERO, 0};
    struct tensor *in[] = {x, graph_param(v->b, name, "alpha", LAYOUT_PLAIN, 3, dim, one),
                           graph_param(v->b, name, "beta", LAYOUT_PLAIN, 3, dim, zero)};
    struct expr e = expr_start(name, 3, in);

    return expr_end(v->b, &e, expr_add(&e, EXPR_ADD, expr_add(&e, EXPR_MUL, 0, 1), 2));
}

static struct tensor *norm(struct mixer_net *v, struct tensor *x, const char *name)
{
    if (v->arch->kind == MIXER_AFFINE)
        return affine(v, x, name);
    return layernorm(v->b, x, name, .eps = 1e-6f);
}

/* x + scale y; scale may be NULL. */
static struct tensor *join(struct mixer_net *v, struct tensor *x, struct tensor *y,
                           struct tensor *scale, const char *name)
{
    if (scale)
        y = layer_scale(v->b, y, layer_below(v->b, name, "scale"), .gamma = scale);
    y = drop_path(v->b, y, layer_below(v->b, name, "drop_path"),
                  .rate = (float)v->o->drop_path);
    return add(v->b, y, x, name);
}

static struct tensor *mix_tokens(struct mixer_net *v, struct tensor *x, const char *p)
{
    int width = v->arch->width;

    x = transpose(v, x, layer_below(v->b, p, "tokens"));
    if (v->arch->kind == MIXER_AFFINE)
        x = dense(v, x, layer_below(v->b, p, "linear_tokens"), (int)x->dim[2],
                  INIT_RULE_ZERO);
    else
        x = mlp(v, x, layer_below(v->b, p, "mlp_tokens"),
                v->arch->kind == MIXER_GLU ? width : width / 2);
    return transpose(v, x, layer_below(v->b, p, "channels"));
}

static struct tensor *scale(struct mixer_net *v, const char *p, const char *name)
{
    int64_t width = v->arch->width;
    struct init init = {INIT_CONSTANT, v->arch->layer_scale};

    if (v->arch->kind != MIXER_AFFINE)
        return NULL;
    return graph_param(v->b, p, name, LAYOUT_PLAIN, 1, &width, init);
}

static struct tensor *block(struct mixer_net *v, struct tensor *x, int i)
{
    const char *p = arena_printf(&v->b->g->arena, "blocks.%d", i);
    int width = v->arch->width;
    struct tensor *ls1 = scale(v, p, "ls1"), *ls2 = scale(v, p, "ls2"), *y;

    scope_begin(v->b);
    if (v->arch->kind == MIXER_GATE) {
        y = mlp(v, norm(v, x, layer_below(v->b, p, "norm")),
                layer_below(v->b, p, "mlp_channels"), 6 * width);
        x = join(v, x, y, NULL, layer_below(v->b, p, "add"));
    } else {
        y = mix_tokens(v, norm(v, x, layer_below(v->b, p, "norm1")), p);
        x = join(v, x, y, ls1, layer_below(v->b, p, "add1"));
        y = mlp(v, norm(v, x, layer_below(v->b, p, "norm2")),
                layer_below(v->b, p, "mlp_channels"), 4 * width);
        x = join(v, x, y, ls2, layer_below(v->b, p, "add2"));
    }
    scope_end(v->b);
    return x;
}

static struct tensor *mixer_build(struct builder *b, const void *arch,
                                  const struct model_options *o, struct tensor *x)
{
    struct mixer_net v = {.b = b, .arch = arch, .o = o};
    int side = v.arch->patch, height = (int)x->dim[2] / side,
        width = (int)x->dim[3] / side;
    int64_t n = x->dim[0], c = v.arch->width, flat[] = {n, (int64_t)height * width, c};
    int64_t map[] = {n, height, width, c};

    x = conv2d(b, x, "stem.proj", .out = (int)c, .kernel = side, .stride = side,
               .bias = 1, .init = rule(&v, INIT_RULE_LECUN_NORMAL),
               .bias_init = INIT_RULE_ZERO);
    x = view_plain(b, view_tokens(b, x, "stem"), "stem", 3, flat);
    for (int i = 0; i < v.arch->depth; i++) {
        x = block(&v, x, i);
        if (model_stage_tokens(o, arena_printf(&b->g->arena, "blocks.%d", i), side, x, 0,
                               height, width))
            return NULL;
    }
    x = view_plain(b, norm(&v, x, "norm"), "pool", 4, map);
    x = global_avgpool(b, view_image(b, x, "pool"), "pool");
    x = dropout(b, x, "head_drop", .rate = (float)o->drop_rate);
    return linear(b, x, "head", .out = (int)o->classes, .bias = 1,
                  .init = rule(&v, INIT_RULE_ZERO), .bias_init = INIT_RULE_ZERO);
}

static const char *const *check(const struct model *m, const struct model_options *o,
                                int height, int width, struct strbuf *why)
{
    (void)o;
    return size_in_patches(m, ((const struct mixer *)m->arch)->patch, height, width, why);
}

static const char *const reads[] = {"MODEL.NUM_CLASSES", "MODEL.DROP_RATE",
                                    "MODEL.DROP_PATH_RATE", "MODEL.INIT", NULL};

/* clang-format off */
#define MIXER(p, w, n, ...) \
    .family = &mixer_family, .classes = 1000, .arch = &(const struct mixer){(p), (w), (n), __VA_ARGS__}
#define RESMLP(scale) MIXER_AFFINE, (scale)

static const struct model models[] = {
    {ROW(mixer_s32_224), MIXER(32, 512, 8, MIXER_MLP, 0), HALF(224, 0.875), TAGS ""},
    {ROW(mixer_s16_224), MIXER(16, 512, 8, MIXER_MLP, 0), HALF(224, 0.875), TAGS ""},
    {ROW(mixer_b32_224), MIXER(32, 768, 12, MIXER_MLP, 0), HALF(224, 0.875), TAGS ""},
    {ROW(mixer_b16_224), MIXER(16, 768, 12, MIXER_MLP, 0), HALF(224, 0.875),
     TAGS "goog_in21k_ft_in1k goog_in21k miil_in21k miil_in21k_ft_in1k"},
    {ROW(mixer_l32_224), MIXER(32, 1024, 24, MIXER_MLP, 0), HALF(224, 0.875), TAGS ""},
    {ROW(mixer_l16_224), MIXER(16, 1024, 24, MIXER_MLP, 0), HALF(224, 0.875), TAGS "goog_in21k_ft_in1k goog_in21k"},
    {ROW(gmixer_12_224), MIXER(16, 384, 12, MIXER_GLU, 0), IMAGENET(224, 0.875), TAGS ""},
    {ROW(gmixer_24_224), MIXER(16, 384, 24, MIXER_GLU, 0), IMAGENET(224, 0.875), TAGS "ra3_in1k"},
    {ROW(resmlp_12_224), MIXER(16, 384, 12, RESMLP(1e-4f)), IMAGENET(224, 0.875), TAGS "fb_in1k fb_distilled_in1k"},
    {ROW(resmlp_24_224), MIXER(16, 384, 24, RESMLP(1e-5f)), IMAGENET(224, 0.875), TAGS "fb_in1k fb_distilled_in1k"},
    {ROW(resmlp_36_224), MIXER(16, 384, 36, RESMLP(1e-6f)), IMAGENET(224, 0.875), TAGS "fb_in1k fb_distilled_in1k"},
    {ROW(resmlp_big_24_224), MIXER(8, 768, 24, RESMLP(1e-6f)), IMAGENET(224, 0.875),
     TAGS "fb_in1k fb_distilled_in1k fb_in22k_ft_in1k"},
    {ROW(gmlp_ti16_224), MIXER(16, 128, 30, MIXER_GATE, 0), HALF(224, 0.875), TAGS ""},
    {ROW(gmlp_s16_224), MIXER(16, 256, 30, MIXER_GATE, 0), HALF(224, 0.875), TAGS "ra3_in1k"},
    {ROW(gmlp_b16_224), MIXER(16, 512, 30, MIXER_GATE, 0), HALF(224, 0.875), TAGS ""},
    {.name = NULL},
};
/* clang-format on */

/* Same as timm's. */
static const struct layer_rule layers[] = {
    {.pattern = "^stem", .group = 0},
    {.pattern = "^blocks\\.([0-9]+)", .group = 1},
    {.pattern = "^norm\\.", .group = 1, .joins = true},
    {.pattern = NULL},
};

const struct model_family mixer_family = {
    .type = "mixer",
    .layer_norm = true,
    .fixed_size = true,
    .task = MODEL_CLASSIFY,
    .models = models,
    .reads = reads,
    .layers = layers,
    .default_stages = 3, /* timm's */
    .build = mixer_build,
    .check = check,
};
