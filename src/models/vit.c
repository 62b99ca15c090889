#include "models/vit.h"

#include <math.h>
#include <string.h>

#include "models/attend.h"
#include "models/blocks.h"
#include "models/image_size.h"
#include "models/masking.h"
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
#include "ops/position.h"
#include "ops/strided_copy.h"
#include "ops/tokens.h"
#include "ops/view.h"
#include "ops/window_attention.h"

/* A net under construction. */
struct vit_net {
    struct builder *b;
    const struct vit *arch;
    const struct model_options *o;
    int init; /* enum init_rule of linear layers */
};

/* How many tokens come before the patches: class, distillation, registers. */
static int front(const struct vit *a)
{
    return !a->no_class + a->distilled + a->registers;
}

static struct tensor *norm(struct vit_net *v, struct tensor *x, const char *name)
{
    return layernorm(v->b, x, name, .eps = v->arch->eps > 0 ? v->arch->eps : 1e-6f);
}

static struct tensor *dense(struct vit_net *v, struct tensor *x, const char *name,
                            int out, bool bias)
{
    return linear(v->b, x, name, .out = out, .bias = bias, .init = v->init,
                  .bias_init = INIT_RULE_ZERO);
}

/* Returns NULL if n is 0. */
static struct tensor *token(struct vit_net *v, const char *name, int64_t n, float std)
{
    int64_t dim[] = {1, n, v->arch->width};

    if (!n)
        return NULL;
    return graph_param(v->b, "", name, LAYOUT_PLAIN, 3, dim,
                       (struct init){INIT_NORMAL, std});
}

static struct tensor *prepend(struct vit_net *v, struct tensor *x, struct tensor *tokens,
                              const char *name)
{
    return tokens ? prepend_token(v->b, x, tokens, name) : x;
}

/* Returns the patches of x [N, 3, H, W], [N, H / side, W / side, width]. */
static struct tensor *patches(struct vit_net *v, struct tensor *x)
{
    const struct vit *a = v->arch;

    x = conv2d(v->b, x, "patch_embed.proj", .out = a->width, .kernel = a->patch,
               .stride = a->patch, .bias = !a->pre_norm,
               .init = v->o->init ? v->o->init : INIT_RULE_PYTORCH);
    return view_tokens(v->b, x, "patch_embed");
}

/* Returns tokens [N, front + patches, width]; in timm's order, parameters without a layer
 * come first. */
static struct tensor *embed(struct vit_net *v, struct tensor *x)
{
    const struct vit *a = v->arch;
    int64_t n = x->dim[2] / a->patch * (x->dim[3] / a->patch);
    struct tensor *cls = token(v, "cls_token", !a->no_class, 1e-6f);
    struct tensor *reg = token(v, "reg_token", a->registers, 1e-6f);
    struct tensor *pos =
        token(v, "pos_embed", n + (a->patch_position ? 0 : front(a)), 0.02f);
    struct tensor *dist = token(v, "dist_token", a->distilled, 0.02f);
    struct tensor *mask = v->o->cells ? mask_token(v->b, a->width) : NULL;
    int64_t flat[] = {x->dim[0], n, a->width};

    x = patches(v, x);
    if (mask)
        x = mask_tokens(v->b, x, mask, v->o->cells);
    x = view_plain(v->b, x, "patch_embed", 3, flat);
    if (a->patch_position)
        x = add_position(v->b, x, pos, "pos_embed");
    x = prepend(v, x, dist, "dist_token");
    x = prepend(v, x, reg, "reg_token");
    x = prepend(v, x, cls, "cls_token");
    if (!a->patch_position)
        x = add_position(v->b, x, pos, "pos_embed");
    return a->pre_norm ? norm(v, x, "norm_pre") : x;
}

/* All tokens of an image are one window of height 1. */
static struct tensor *attention(struct vit_net *v, struct tensor *x, const char *p)
{
    int64_t n = x->dim[0], tokens = x->dim[1], c = x->dim[2];
    int64_t map[] = {n, 1, tokens, 3 * c}, flat[] = {n, tokens, c};

    x = dense(v, x, layer_below(v->b, p, "attn.qkv"), (int)(3 * c),
              !v->arch->no_qkv_bias);
    x = view_plain(v->b, x, layer_below(v->b, p, "attn.map"), 4, map);
    x = window_attention(v->b, x, layer_below(v->b, p, "attn"), .heads = v->arch->heads);
    x = view_plain(v->b, x, layer_below(v->b, p, "attn.tokens"), 3, flat);
    return dense(v, x, layer_below(v->b, p, "attn.proj"), (int)c, true);
}

/* x sigmoid(1.702 x) */
static struct tensor *quick_gelu(struct vit_net *v, struct tensor *x, const char *name)
{
    struct expr e = expr_start(name, 1, &x);
    int gate = expr_add(&e, EXPR_SIGMOID, expr_number(&e, EXPR_SCALE_BY, 0, 1.702f));

    return expr_end(v->b, &e, expr_add(&e, EXPR_MUL, 0, gate));
}

/* silu(a) b of x [N, tokens, a and b] */
static struct tensor *swiglu(struct vit_net *v, struct tensor *x, const char *name)
{
    int half = (int)x->dim[2] / 2;
    struct tensor *in[2];
    struct expr e;

    for (int i = 0; i < 2; i++) {
        struct slice_attrs slice = {
            .layer = name, .axis = 2, .first = i * half, .len = half};

        in[i] = node(v->b, &op_slice, name, &slice, &x, 1);
    }
    e = expr_start(name, 2, in);
    return expr_end(v->b, &e, expr_add(&e, EXPR_MUL, expr_add(&e, EXPR_SILU, 0), 1));
}

static struct tensor *act(struct vit_net *v, struct tensor *x, const char *name)
{
    const char *act = v->arch->act;

    if (v->arch->swiglu)
        return swiglu(v, x, name);
    if (act && !strcmp(act, "quick_gelu"))
        return quick_gelu(v, x, name);
    return activation(v->b, x, act ? act : "gelu", 0, name);
}

static struct tensor *mlp(struct vit_net *v, struct tensor *x, const char *p)
{
    int c = (int)x->dim[2], hidden = v->arch->hidden ? v->arch->hidden : 4 * c;

    x = act(v, dense(v, x, layer_below(v->b, p, "mlp.fc1"), hidden, true),
            layer_below(v->b, p, "mlp.act"));
    return dense(v, x, layer_below(v->b, p, "mlp.fc2"), c, true);
}

static struct tensor *scale(struct vit_net *v, struct tensor *x, const char *name)
{
    float init = v->arch->layer_scale;

    return init > 0 ? layer_scale(v->b, x, name, .init = init) : x;
}

static struct tensor *block(struct vit_net *v, struct tensor *x, int i)
{
    const char *p = arena_printf(&v->b->g->arena, "blocks.%d", i);
    int last = v->arch->depth - 1;
    float rate = last ? (float)(v->o->drop_path * i / last) : 0;
    struct tensor *y;

    scope_begin(v->b);
    y = attention(v, norm(v, x, layer_below(v->b, p, "norm1")), p);
    y = scale(v, y, layer_below(v->b, p, "ls1"));
    y = drop_path(v->b, y, layer_below(v->b, p, "drop_path1"), .rate = rate);
    x = add(v->b, y, x, layer_below(v->b, p, "add1"));
    y = mlp(v, norm(v, x, layer_below(v->b, p, "norm2")), p);
    y = scale(v, y, layer_below(v->b, p, "ls2"));
    y = drop_path(v->b, y, layer_below(v->b, p, "drop_path2"), .rate = rate);
    x = add(v->b, y, x, layer_below(v->b, p, "add2"));
    scope_end(v->b);
    return x;
}

/* Returns the logits of x [N, width]. */
static struct tensor *classify(struct vit_net *v, struct tensor *x, const char *name)
{
    if (v->arch->norm == VIT_NORM_POOLED)
        x = norm(v, x, "fc_norm");
    x = dropout(v->b, x, layer_below(v->b, name, "drop"), .rate = (float)v->o->drop_rate);
    return dense(v, x, name, (int)v->o->classes, true);
}

static struct tensor *head(struct vit_net *v, struct tensor *x, int i, const char *name)
{
    return classify(v, select_token(v->b, x, i, layer_below(v->b, name, "token")), name);
}

/* Returns the tokens of the patches. */
static struct tensor *patches_of(struct vit_net *v, struct tensor *x)
{
    int first = front(v->arch);

    return first ? slice_tokens(v->b, x, first, (int)x->dim[1] - first, "norm") : x;
}

/* The same as an image. */
static struct tensor *map_of(struct vit_net *v, struct tensor *x, int height, int width)
{
    int64_t dim[] = {x->dim[0], height, width, x->dim[2]};

    return view_image(v->b, view_plain(v->b, patches_of(v, x), "norm", 4, dim), "norm");
}

/* Classifies the mean of the patches. */
static struct tensor *mean_head(struct vit_net *v, struct tensor *x, int height,
                                int width)
{
    int64_t flat[] = {x->dim[0], x->dim[2]};

    x = global_avgpool(v->b, map_of(v, x, height, width), "pool");
    x = view_plain(v->b, view_tokens(v->b, x, "pool"), "pool", 2, flat);
    return classify(v, x, "head");
}

/* Classifies what a query, the same for all images, reads from the tokens x. */
static struct tensor *attend_head(struct vit_net *v, struct tensor *x)
{
    int64_t n = x->dim[0], c = x->dim[2], flat[] = {n, c};
    struct tensor *q = token(v, "attn_pool.latent", 1, 1 / sqrtf((float)c)), *kv, *y;

    q = dense(v, q, "attn_pool.q", (int)c, true);
    q = strided_copy(v->b, q, "attn_pool.images", .n = 3, .len = {n, 1, c},
                     .stride = {0, 0, 1});
    kv = dense(v, x, "attn_pool.kv", (int)(2 * c), true);
    x = attend(v->b, q, attend_part(v->b, kv, "attn_pool.k", 0, 2),
               attend_part(v->b, kv, "attn_pool.v", 1, 2), "attn_pool",
               .heads = v->arch->heads);
    x = dense(v, x, "attn_pool.proj", (int)c, true);
    y = mlp(v, norm(v, x, "attn_pool.norm"), "attn_pool");
    x = add(v->b, y, x, "attn_pool.add");
    return classify(v, view_plain(v->b, x, "attn_pool", 2, flat), "head");
}

static struct tensor *vit_build(struct builder *b, const void *arch,
                                const struct model_options *o, struct tensor *x)
{
    struct vit_net v = {.b = b,
                        .arch = arch,
                        .o = o,
                        .init = o->init ? o->init : INIT_RULE_TRUNC_NORMAL_02};
    int side = v.arch->patch, height = (int)x->dim[2] / side,
        width = (int)x->dim[3] / side;
    struct tensor *logits, *taught;

    x = embed(&v, x);
    for (int i = 0; i < v.arch->depth; i++) {
        x = block(&v, x, i);
        if (model_stage_tokens(o, arena_printf(&b->g->arena, "blocks.%d", i), side, x,
                               front(v.arch), height, width))
            return NULL;
    }
    if (v.arch->norm == VIT_NORM_TOKENS)
        x = norm(&v, x, "norm");
    if (o->cells)
        return map_of(&v, x, height, width);
    if (v.arch->mean)
        return mean_head(&v, x, height, width);
    if (v.arch->attends)
        return attend_head(&v, patches_of(&v, x));
    logits = head(&v, x, 0, "head");
    if (!v.arch->distilled)
        return logits;
    taught = head(&v, x, 1, "head_dist");
    if (o->stages) {
        o->stages->logits = logits;
        o->stages->distilled = taught;
    }
    logits = add(b, logits, taught, "heads");
    return expr_scale_by(b, logits, 0.5f, "mean");
}

static const char *const *check(const struct model *m, const struct model_options *o,
                                int height, int width, struct strbuf *why)
{
    (void)o;
    return size_in_patches(m, ((const struct vit *)m->arch)->patch, height, width, why);
}

static const char *const no_decay[] = {"pos_embed",  "cls_token",  "reg_token",
                                       "dist_token", "mask_token", NULL};
static const struct model_grid grids[] = {
    {"pos_embed", GRID_ANTIALIAS, GRID_ANTIALIAS, .suffix = false}, {.end = NULL}};
static const char *const heads[] = {"head", "head_dist", NULL};
static const char *const reads[] = {"MODEL.NUM_CLASSES",
                                    "MODEL.DROP_RATE",
                                    "MODEL.DROP_PATH_RATE",
                                    "MODEL.INIT",
                                    "MODEL.SIMMIM.NORM_TARGET.ENABLE",
                                    "MODEL.SIMMIM.NORM_TARGET.PATCH_SIZE",
                                    NULL};

/* Same as timm's. */
static const struct layer_rule layers[] = {
    {.pattern = "^(cls_token|reg_token|dist_token|pos_embed|patch_embed|norm_pre)",
     .group = 0},
    {.pattern = "^blocks\\.([0-9]+)", .group = 1},
    {.pattern = "^norm\\.", .group = 1, .joins = true},
    {.pattern = NULL},
};

const struct model_family vit_family = {
    .type = "vit",
    .layer_norm = true,
    .masks = true,
    .task = MODEL_CLASSIFY,
    .models = vit_models,
    .reads = reads,
    .no_decay = no_decay,
    .layers = layers,
    .grids = grids,
    .heads = heads,
    .default_stages = 3, /* timm's */
    .cam = ".norm1",
    .build = vit_build,
    .check = check,
};
