#include "models/convnext.h"

#include <math.h>

#include "models/blocks.h"
#include "models/image_size.h"
#include "models/rows.h"
#include "models/stages.h"
#include "ops/activation.h"
#include "ops/add.h"
#include "ops/conv2d.h"
#include "ops/dropout.h"
#include "ops/expr.h"
#include "ops/global_avgpool.h"
#include "ops/image.h"
#include "ops/layer_scale.h"
#include "ops/layernorm.h"
#include "ops/linear.h"
#include "ops/scale_channels.h"
#include "ops/view.h"

/* A net under construction. */
struct convnext_net {
    struct builder *b;
    const struct convnext *arch;
    const struct model_options *o;
    int init; /* enum init_rule */
    int block, nblock;
};

static float norm_eps(const struct convnext_net *v)
{
    return v->arch->eps > 0 ? v->arch->eps : 1e-6f;
}

/* Normalizes the channels of each pixel: plain tokens. */
static struct tensor *norm(struct convnext_net *v, struct tensor *x, const char *name)
{
    return layernorm(v->b, view_tokens(v->b, x, name), name, .eps = norm_eps(v));
}

static struct tensor *norm_image(struct convnext_net *v, struct tensor *x,
                                 const char *name, const char *view)
{
    return view_image(v->b, norm(v, x, name), view);
}

static struct tensor *conv(struct convnext_net *v, struct tensor *x, const char *name,
                           int out, int kernel, int stride)
{
    int padding = kernel > stride ? kernel / 2 : 0;

    return conv2d(v->b, x, name, .out = out, .kernel = kernel, .stride = stride,
                  .padding = padding, .bias = 1, .init = v->init,
                  .bias_init = INIT_RULE_ZERO);
}

static struct tensor *dense(struct convnext_net *v, struct tensor *x, const char *name,
                            int out)
{
    return linear(v->b, x, name, .out = out, .bias = 1, .init = v->init,
                  .bias_init = INIT_RULE_ZERO);
}

/* Returns x, tokens or an image, as an image. */
static struct tensor *image(struct convnext_net *v, struct tensor *x, const char *name)
{
    return tensor_is_image(x) ? x : view_image(v->b, x, name);
}

/* Returns the mean over the channels of x [N,C,1,1], an image of one pixel. */
static struct tensor *mean_of_channels(struct convnext_net *v, struct tensor *x,
                                       const char *name)
{
    int64_t rows[] = {x->dim[0], x->dim[1], 1, 1};

    x = view_plain(v->b, view_tokens(v->b, x, name), name, 4, rows);
    return global_avgpool(v->b, view_image(v->b, x, name), name);
}

static struct tensor *zeros(struct convnext_net *v, const char *p, const char *name,
                            int64_t c)
{
    return graph_param(v->b, p, name, LAYOUT_PLAIN, 1, &c, (struct init){INIT_ZERO, 0});
}

/*
 * Global response normalization, x (1 + weight norm / (mean norm + eps)) + bias with the
 * L2 norm of each channel of an image. All norms have the factor `unit`, so that squares
 * of 16 bits do not overflow; a channel of zeros has no gradient, as in PyTorch.
 */
static struct tensor *response_norm(struct convnext_net *v, struct tensor *x,
                                    const char *p)
{
    int64_t c = x->dim[1];
    float unit = 0.125f / sqrtf((float)(x->dim[2] * x->dim[3]));
    struct tensor *weight = zeros(v, p, "weight", c), *bias = zeros(v, p, "bias", c);
    struct expr e = expr_start(layer_below(v->b, p, "square"), 1, &x);
    struct tensor *length, *factor;
    int value;

    value = expr_add(&e, EXPR_SQUARE, expr_number(&e, EXPR_SCALE_BY, 0, 0.125f));
    length =
        global_avgpool(v->b, expr_end(v->b, &e, value), layer_below(v->b, p, "mean"));
    e = expr_start(layer_below(v->b, p, "norm"), 1, &length);
    value = expr_add(&e, EXPR_SQRT, expr_number(&e, EXPR_AT_LEAST, 0, 1e-30f));
    length = expr_end(v->b, &e, value);

    e = expr_start(layer_below(v->b, p, "factor"), 3,
                   (struct tensor *[]){
                       length,
                       mean_of_channels(v, length, layer_below(v->b, p, "mean_norm")),
                       weight});
    value = expr_add(&e, EXPR_DIV, 0, expr_number(&e, EXPR_ADD_BY, 1, 1e-6f * unit));
    value = expr_number(&e, EXPR_ADD_BY, expr_add(&e, EXPR_MUL, value, 2), 1);
    factor = expr_end(v->b, &e, value);

    x = scale_channels(v->b, x, factor, layer_below(v->b, p, "scale"));
    e = expr_start(layer_below(v->b, p, "shift"), 2, (struct tensor *[]){x, bias});
    return expr_end(v->b, &e, expr_add(&e, EXPR_ADD, 0, 1));
}

/* Returns tokens, or an image if linear layers are convolutions. */
static struct tensor *mlp(struct convnext_net *v, struct tensor *x, const char *p)
{
    const struct convnext *a = v->arch;
    int c = (int)x->dim[3];

    if (a->conv_mlp)
        x = conv(v, image(v, x, p), layer_below(v->b, p, "fc1"), 4 * c, 1, 1);
    else
        x = dense(v, x, layer_below(v->b, p, "fc1"), 4 * c);
    x = activation(v->b, x, a->act ? a->act : "gelu", 0, layer_below(v->b, p, "act"));
    if (a->grn)
        x = response_norm(v, image(v, x, layer_below(v->b, p, "grn")),
                          layer_below(v->b, p, "grn"));
    if (a->conv_mlp)
        return conv(v, x, layer_below(v->b, p, "fc2"), c, 1, 1);
    x = tensor_is_image(x) ? view_tokens(v->b, x, p) : x;
    return dense(v, x, layer_below(v->b, p, "fc2"), c);
}

static struct tensor *block(struct convnext_net *v, struct tensor *x, const char *p,
                            int kernel)
{
    float rate =
        v->nblock > 1 ? (float)(v->o->drop_path * v->block / (v->nblock - 1)) : 0;
    int c = (int)x->dim[1];
    struct tensor *y, *gamma = NULL;

    if (!v->arch->grn)
        gamma = layer_scale_gamma(v->b, p, c, 1e-6f); /* timm's order */
    scope_begin(v->b);
    y = conv2d(v->b, x, layer_below(v->b, p, "conv_dw"), .out = c, .kernel = kernel,
               .padding = kernel / 2, .groups = c, .bias = 1, .init = v->init,
               .bias_init = INIT_RULE_ZERO);
    y = mlp(v, norm(v, y, layer_below(v->b, p, "norm")), layer_below(v->b, p, "mlp"));
    if (gamma)
        y = layer_scale(v->b, y, p, .gamma = gamma);
    y = image(v, y, layer_below(v->b, p, "gamma"));
    y = drop_path(v->b, y, layer_below(v->b, p, "drop_path"), .rate = rate);
    x = add(v->b, y, x, layer_below(v->b, p, "add"));
    scope_end(v->b);
    v->block++;
    return x;
}

static struct tensor *stage(struct convnext_net *v, struct tensor *x, int i)
{
    const struct convnext *a = v->arch;
    const char *p = arena_printf(&v->b->g->arena, "stages.%d", i);

    if (i > 0) {
        x = norm_image(v, x, layer_below(v->b, p, "downsample.0"),
                       layer_below(v->b, p, "downsample"));
        x = conv(v, x, layer_below(v->b, p, "downsample.1"), a->width[i], 2, 2);
    }
    for (int k = 0; k < a->depth[i]; k++)
        x = block(v, x, arena_printf(&v->b->g->arena, "%s.blocks.%d", p, k),
                  a->kernel[i] ? a->kernel[i] : 7);
    return x;
}

static struct tensor *stem(struct convnext_net *v, struct tensor *x)
{
    int width = v->arch->width[0];
    int half = (width / 2 + 4) / 8 * 8; /* the nearest multiple of 8 */

    if (v->arch->stem == CONVNEXT_PATCHES)
        return norm_image(v, conv(v, x, "stem.0", width, 4, 4), "stem.1", "stem");
    x = conv(v, x, "stem.0", v->arch->stem == CONVNEXT_TIERED ? half : width, 3, 2);
    return norm_image(v, conv(v, x, "stem.1", width, 3, 2), "stem.2", "stem");
}

static struct tensor *head(struct convnext_net *v, struct tensor *x)
{
    if (v->arch->norm_first)
        x = norm_image(v, x, "norm_pre", "norm_pre");
    x = global_avgpool(v->b, x, "head.global_pool");
    if (!v->arch->norm_first)
        x = norm_image(v, x, "head.norm", "head");
    if (v->arch->hidden)
        x = gelu(v->b, dense(v, x, "head.pre_logits.fc", v->arch->hidden),
                 "head.pre_logits.act");
    x = dropout(v->b, x, "head.drop", .rate = (float)v->o->drop_rate);
    return dense(v, x, "head.fc", (int)v->o->classes);
}

static struct tensor *convnext_build(struct builder *b, const void *arch,
                                     const struct model_options *o, struct tensor *x)
{
    struct convnext_net v = {.b = b,
                             .arch = arch,
                             .o = o,
                             .init = o->init ? o->init : INIT_RULE_TRUNC_NORMAL_02};

    for (int i = 0; i < CONVNEXT_STAGES; i++)
        v.nblock += v.arch->depth[i];
    x = stem(&v, x);
    for (int i = 0; i < CONVNEXT_STAGES; i++) {
        x = stage(&v, x, i);
        if (model_stage(o, arena_printf(&b->g->arena, "stages.%d", i), 4 << i, x))
            return NULL;
    }
    return head(&v, x);
}

static const char *const *check(const struct model *m, const struct model_options *o,
                                int height, int width, struct strbuf *why)
{
    return size_for_halvings(m, o, 5, height, width, why);
}

static const char *const reads[] = {"MODEL.NUM_CLASSES", "MODEL.DROP_RATE",
                                    "MODEL.DROP_PATH_RATE", "MODEL.INIT", NULL};

/* clang-format off */
#define ATTO  .depth = {2, 2, 6, 2}, .width = {40, 80, 160, 320}
#define FEMTO .depth = {2, 2, 6, 2}, .width = {48, 96, 192, 384}
#define PICO  .depth = {2, 2, 6, 2}, .width = {64, 128, 256, 512}
#define NANO  .depth = {2, 2, 8, 2}, .width = {80, 160, 320, 640}
#define TINY  .depth = {3, 3, 9, 3}, .width = {96, 192, 384, 768}
#define SMALL .depth = {3, 3, 27, 3}, .width = {96, 192, 384, 768}
#define BASE  .depth = {3, 3, 27, 3}, .width = {128, 256, 512, 1024}
#define LARGE .depth = {3, 3, 27, 3}, .width = {192, 384, 768, 1536}
#define CONV  .conv_mlp = true
#define V2    .grn = true
#define CONVNEXT(...) \
    .family = &convnext_family, .classes = 1000, .arch = &(const struct convnext){__VA_ARGS__}

static const struct model models[] = {
    {ROW(convnext_atto), CONVNEXT(ATTO, CONV), IMAGENET(224, 0.875), TAGS "d2_in1k"},
    {ROW(convnext_atto_ols), CONVNEXT(ATTO, CONV, .stem = CONVNEXT_TIERED), IMAGENET(224, 0.875), TAGS "a2_in1k"},
    {ROW(convnext_femto), CONVNEXT(FEMTO, CONV), IMAGENET(224, 0.875), TAGS "d1_in1k"},
    {ROW(convnext_femto_ols), CONVNEXT(FEMTO, CONV, .stem = CONVNEXT_TIERED), IMAGENET(224, 0.875), TAGS "d1_in1k"},
    {ROW(convnext_pico), CONVNEXT(PICO, CONV), IMAGENET(224, 0.875), TAGS "d1_in1k"},
    {ROW(convnext_pico_ols), CONVNEXT(PICO, CONV, .stem = CONVNEXT_TIERED), IMAGENET(224, 0.95), TAGS "d1_in1k"},
    {ROW(convnext_nano), CONVNEXT(NANO, CONV), IMAGENET(224, 0.95),
     TAGS "in12k_ft_in1k d1h_in1k r384_in12k_ft_in1k in12k r384_in12k r384_ad_in12k"},
    {ROW(convnext_nano_ols), CONVNEXT(NANO, CONV, .stem = CONVNEXT_OVERLAP), IMAGENET(224, 0.95), TAGS "d1h_in1k"},
    {ROW(convnext_tiny), CONVNEXT(TINY), IMAGENET(224, 0.95), RECIPE "convnext_tiny.yaml",
     TAGS "in12k_ft_in1k in12k_ft_in1k_384 in12k fb_in22k_ft_in1k fb_in1k fb_in22k_ft_in1k_384 fb_in22k "
     "dinov3_lvd1689m eupe_lvd1689m"},
    {ROW(convnext_tiny_hnf), CONVNEXT(TINY, CONV, .norm_first = true), IMAGENET(224, 0.95), TAGS "a2h_in1k"},
    {ROW(convnext_small), CONVNEXT(SMALL), IMAGENET(224, 0.95),
     TAGS "in12k_ft_in1k in12k_ft_in1k_384 in12k fb_in22k_ft_in1k fb_in1k fb_in22k_ft_in1k_384 fb_in22k "
     "dinov3_lvd1689m eupe_lvd1689m"},
    {ROW(convnext_base), CONVNEXT(BASE), IMAGENET(224, 0.875),
     TAGS "fb_in22k_ft_in1k fb_in1k fb_in22k_ft_in1k_384 fb_in22k clip_laion2b_augreg_ft_in12k_in1k "
     "clip_laion2b_augreg_ft_in12k_in1k_384 clip_laion2b_augreg_ft_in1k "
     "clip_laiona_augreg_ft_in1k_384 clip_laion2b_augreg_ft_in12k clip_laion2b clip_laion2b_augreg "
     "clip_laiona clip_laiona_320 clip_laiona_augreg_320 dinov3_lvd1689m eupe_lvd1689m"},
    {ROW(convnext_large), CONVNEXT(LARGE), IMAGENET(224, 0.875),
     TAGS "fb_in22k_ft_in1k fb_in1k fb_in22k_ft_in1k_384 fb_in22k dinov3_lvd1689m"},
    {ROW(convnext_large_mlp), CONVNEXT(LARGE, .hidden = 1536), OPENAI(320, 1.0),
     TAGS "clip_laion2b_soup_ft_in12k_in1k_320 clip_laion2b_soup_ft_in12k_in1k_384 "
     "clip_laion2b_augreg_ft_in1k clip_laion2b_augreg_ft_in1k_384 clip_laion2b_soup_ft_in12k_320 "
     "clip_laion2b_augreg_ft_in12k_384 clip_laion2b_soup_ft_in12k_384 clip_laion2b_augreg "
     "clip_laion2b_ft_320 clip_laion2b_ft_soup_320"},
    {ROW(convnext_xlarge), CONVNEXT(.depth = {3, 3, 27, 3}, .width = {256, 512, 1024, 2048}), IMAGENET(224, 0.875),
     TAGS "fb_in22k_ft_in1k fb_in22k_ft_in1k_384 fb_in22k"},
    {ROW(convnext_xxlarge), CONVNEXT(.depth = {3, 4, 30, 3}, .width = {384, 768, 1536, 3072}, .eps = 1e-5f), OPENAI(256, 1.0),
     TAGS "clip_laion2b_soup_ft_in1k clip_laion2b_soup_ft_in12k clip_laion2b_soup clip_laion2b_rewind"},
    {ROW(convnextv2_atto), CONVNEXT(ATTO, CONV, V2), IMAGENET(224, 0.875), TAGS "fcmae_ft_in1k fcmae"},
    {ROW(convnextv2_femto), CONVNEXT(FEMTO, CONV, V2), IMAGENET(224, 0.875), TAGS "fcmae_ft_in1k fcmae"},
    {ROW(convnextv2_pico), CONVNEXT(PICO, CONV, V2), IMAGENET(224, 0.875), TAGS "fcmae_ft_in1k fcmae"},
    {ROW(convnextv2_nano), CONVNEXT(NANO, CONV, V2), IMAGENET(224, 0.875),
     TAGS "fcmae_ft_in22k_in1k fcmae_ft_in22k_in1k_384 fcmae_ft_in1k fcmae"},
    {ROW(convnextv2_tiny), CONVNEXT(TINY, V2), IMAGENET(224, 0.875),
     TAGS "fcmae_ft_in22k_in1k fcmae_ft_in22k_in1k_384 fcmae_ft_in1k fcmae"},
    {ROW(convnextv2_small), CONVNEXT(SMALL, V2), IMAGENET(224, 0.875), TAGS ""},
    {ROW(convnextv2_base), CONVNEXT(BASE, V2), IMAGENET(224, 0.875),
     TAGS "fcmae_ft_in22k_in1k fcmae_ft_in22k_in1k_384 fcmae_ft_in1k fcmae"},
    {ROW(convnextv2_large), CONVNEXT(LARGE, V2), IMAGENET(224, 0.875),
     TAGS "fcmae_ft_in22k_in1k fcmae_ft_in22k_in1k_384 fcmae_ft_in1k fcmae"},
    {ROW(convnextv2_huge), CONVNEXT(.depth = {3, 3, 27, 3}, .width = {352, 704, 1408, 2816}, V2), IMAGENET(384, 1.0),
     TAGS "fcmae_ft_in22k_in1k_384 fcmae_ft_in22k_in1k_512 fcmae_ft_in1k fcmae"},
    {ROW(test_convnext), CONVNEXT(.depth = {1, 2, 4, 2}, .width = {24, 32, 48, 64}, .eps = 1e-5f, .act = "gelu_tanh"), HALF(160, 0.95), TAGS "r160_in1k"},
    {ROW(test_convnext2), CONVNEXT(.depth = {1, 1, 1, 1}, .width = {32, 64, 96, 128}, .eps = 1e-5f, .act = "gelu_tanh"), HALF(160, 0.95), TAGS "r160_in1k"},
    {ROW(test_convnext3), CONVNEXT(.depth = {1, 1, 1, 1}, .width = {32, 64, 96, 128}, .eps = 1e-5f, .kernel = {7, 5, 5, 3}, .act = "silu"), HALF(160, 0.95), TAGS "r160_in1k"},
    {.name = NULL},
};
/* clang-format on */

/* As in timm, a downsampling belongs to the layer of the next block. */
static const struct layer_rule layers[] = {
    {.pattern = "^stem", .group = 0},
    {.pattern = "^stages\\.([0-9]+)\\.downsample",
     .group = 1,
     .then = 0,
     .has_then = true},
    {.pattern = "^stages\\.([0-9]+)\\.blocks\\.([0-9]+)", .group = 1},
    {.pattern = "^norm_pre", .group = 1, .joins = true},
    {.pattern = NULL},
};

const struct model_family convnext_family = {
    .type = "convnext",
    .layer_norm = true,
    .task = MODEL_CLASSIFY,
    .models = models,
    .reads = reads,
    .layers = layers,
    .build = convnext_build,
    .check = check,
};
