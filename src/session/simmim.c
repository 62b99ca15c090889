#include "session/simmim.h"

#include <math.h>

#include "config/names.h"
#include "config/value.h"
#include "models/masking.h"
#include "ops/avgpool2d.h"
#include "ops/conv2d.h"
#include "ops/expr.h"
#include "ops/global_avgpool.h"
#include "ops/image.h"
#include "ops/patch_mask.h"
#include "ops/strided_copy.h"
#include "ops/view.h"
#include "session/task_config.h"

/* ---- configuration ---- */

void simmim_preset(struct config *cfg)
{
    static const char *const preset[][2] = {
        {"AUG.SCALE", "[0.67, 1.0]"},
        {"AUG.AUTO_AUGMENT", "none"},
        {"AUG.COLOR_JITTER", "0.0"},
        {"AUG.REPROB", "0.0"},
        {"AUG.MIXUP", "0.0"},
        {"AUG.CUTMIX", "0.0"},
        {"DATA.INTERPOLATION", "bilinear"},
    };

    for (size_t i = 0; i < sizeof(preset) / sizeof(preset[0]); i++)
        config_preset(cfg, preset[i][0], preset[i][1], "MODEL.TASK simmim");
}

void simmim_warn_unread(const struct config *cfg, struct problems *p)
{
    static const char *const key[] = {"DATA.MASK_PATCH_SIZE", "DATA.MASK_RATIO",
                                      "MODEL.SIMMIM.NORM_TARGET.ENABLE",
                                      "MODEL.SIMMIM.NORM_TARGET.PATCH_SIZE"};

    for (size_t i = 0; i < sizeof(key) / sizeof(key[0]); i++)
        config_warn_unread(cfg, p, key[i], "only MODEL.TASK simmim reads it");
}

void simmim_check(const struct config *cfg, struct problems *p)
{
    int64_t size = cfg->data.img_size, patch = cfg->data.mask_patch_size,
            window = config_get(cfg, "MODEL.SIMMIM.NORM_TARGET.PATCH_SIZE")->i;

    task_check_single(cfg, false, p);
    if (size % patch)
        config_blame(cfg, p, KEYS("DATA.MASK_PATCH_SIZE", "DATA.IMG_SIZE"),
                     "DATA.MASK_PATCH_SIZE %lld does not divide DATA.IMG_SIZE %lld",
                     (long long)patch, (long long)size);
    else if (size / patch * (size / patch) > PATCH_MASK_CELLS)
        config_blame(cfg, p, KEYS("DATA.MASK_PATCH_SIZE", "DATA.IMG_SIZE"),
                     "DATA.MASK_PATCH_SIZE %lld: images of %lld pixels a side have more "
                     "than %d patches",
                     (long long)patch, (long long)size, PATCH_MASK_CELLS);
    if (window % 2 == 0)
        config_blame(cfg, p, KEYS("MODEL.SIMMIM.NORM_TARGET.PATCH_SIZE"),
                     "MODEL.SIMMIM.NORM_TARGET.PATCH_SIZE %lld must be odd",
                     (long long)window);
    if (cfg->aug.mixup_prob > 0 &&
        (cfg->aug.mixup > 0 || cfg->aug.cutmix > 0 || cfg->aug.cutmix_minmax.item))
        config_blame(
            cfg, p, KEYS("AUG.MIXUP", "AUG.CUTMIX", "AUG.CUTMIX_MINMAX"),
            "AUG.MIXUP and AUG.CUTMIX cannot be combined with MODEL.TASK simmim");
    if (cfg->train.layer_decay < 1 || cfg->train.layer_decay > 1)
        config_blame(cfg, p, KEYS("TRAIN.LAYER_DECAY"),
                     "TRAIN.LAYER_DECAY %g is for fine-tuning, and MODEL.TASK is simmim",
                     cfg->train.layer_decay);
    config_warn_unread(cfg, p, "MODEL.LABEL_SMOOTHING",
                       "MODEL.TASK simmim reads no labels");
}

struct masking masking_of_config(const struct config *cfg)
{
    int side = (int)(cfg->data.img_size / cfg->data.mask_patch_size);

    if (cfg->model.task != TASK_SIMMIM)
        return (struct masking){0};
    return (struct masking){side, (int)ceil(side * side * cfg->data.mask_ratio)};
}

/* ---- masks and targets ---- */

struct tensor *masking_cells(struct builder *b, const struct masking *m,
                             struct tensor *keys)
{
    return patch_mask(b, keys, "simmim.mask", .cells = m->side * m->side,
                      .count = m->count);
}

struct tensor *masking_pixels(struct builder *b, struct tensor *cells, int64_t size)
{
    return view_image(b, mask_spread(b, cells, size, "simmim.pixels"), "simmim.pixels");
}

static struct tensor *mean_around(struct builder *b, struct tensor *x, const char *layer,
                                  int window, int padded)
{
    return avgpool2d(b, x, layer, .kernel = window, .stride = 1, .padding = window / 2,
                     .count_include_pad = padded);
}

/* Returns the pixels of the image in the window around each, [N, 1, H, W]. */
static struct tensor *count_around(struct builder *b, struct tensor *mask, int window)
{
    struct expr e = expr_start("simmim.ones", 1, &mask);
    struct tensor *ones = expr_end(b, &e, expr_add(&e, EXPR_EQUAL, 0, 0));

    ones = mean_around(b, ones, "simmim.share", window, 1);
    return expr_scale_by(b, ones, (float)window * (float)window, "simmim.count");
}

struct tensor *simmim_norm(struct builder *b, struct tensor *x, struct tensor *mask,
                           int window)
{
    struct expr e = expr_start("simmim.square", 1, &x);
    struct tensor *square = expr_end(b, &e, expr_add(&e, EXPR_SQUARE, 0));
    struct tensor *in[] = {x, mean_around(b, x, "simmim.mean", window, 0),
                           mean_around(b, square, "simmim.mean_square", window, 0),
                           count_around(b, mask, window)};
    int var, correction;

    /* (x - mean) / sqrt(var + 1e-6), var = (mean of squares - mean^2) n / (n - 1) */
    e = expr_start("simmim.norm", 4, in);
    var = expr_add(&e, EXPR_SUB, 2, expr_add(&e, EXPR_SQUARE, 1));
    correction = expr_add(&e, EXPR_DIV, 3, expr_number(&e, EXPR_ADD_BY, 3, -1));
    var = expr_number(&e, EXPR_AT_LEAST, expr_add(&e, EXPR_MUL, var, correction), 0);
    var = expr_add(&e, EXPR_RSQRT, expr_number(&e, EXPR_ADD_BY, var, 1e-6f));
    return expr_end(b, &e, expr_add(&e, EXPR_MUL, expr_add(&e, EXPR_SUB, 0, 1), var));
}

struct tensor *simmim_target(struct builder *b, const struct model_options *o,
                             const struct normalize_attrs *input, struct tensor *bytes,
                             struct tensor *mask)
{
    struct normalize_attrs a = *input;
    struct tensor *x;

    a.layer = "simmim.target";
    x = normalize_(b, bytes, &a);
    return o->norm_target ? simmim_norm(b, x, mask, (int)o->norm_window) : x;
}

/* ---- the net ---- */

/* Channel (c s + i) s + j of a place is the pixel (i, j) of channel c of its square. */
static struct tensor *pixel_shuffle(struct builder *b, struct tensor *z, int64_t channels,
                                    int64_t s)
{
    int64_t n = z->dim[IMAGE_N], h = z->dim[IMAGE_H], w = z->dim[IMAGE_W],
            k = z->dim[IMAGE_C], dim[] = {n, h * s, w * s, channels};

    z = strided_copy(b, z, "decoder.1", .n = 6, .len = {n, h, s, w, s, channels},
                     .stride = {h * w * k, w * k, s, k, 1, s * s});
    return view_image(b, view_plain(b, z, "decoder.1", 4, dim), "decoder");
}

struct tensor *simmim_net(struct builder *b, const struct model *m,
                          const struct model_options *o, struct tensor *x)
{
    int64_t channels = x->dim[IMAGE_C], side = x->dim[IMAGE_H], s;
    struct tensor *z;

    b->part_prefix = "encoder.";
    z = model_build(b, m, o, x);
    b->part_prefix = NULL;
    s = side / z->dim[IMAGE_H];
    z = conv2d(b, z, "decoder.0", .out = (int)(s * s * channels), .kernel = 1, .bias = 1,
               .init = INIT_RULE_PYTORCH);
    return pixel_shuffle(b, z, channels, s);
}

/* ---- the loss ---- */

struct tensor *simmim_values(struct builder *b, struct tensor *x)
{
    int64_t dim[] = {x->dim[IMAGE_N], tensor_len(x) / x->dim[IMAGE_N]};

    return view_plain(b, view_tokens(b, x, "simmim.values"), "simmim.values", 2, dim);
}

/* Returns the mean of all values of an image, [1]. */
static struct tensor *mean_of(struct builder *b, struct tensor *x, const char *layer)
{
    int64_t n = x->dim[IMAGE_N], c = x->dim[IMAGE_C], all[] = {1, n, c, 1}, one = 1;

    x = view_tokens(b, global_avgpool(b, x, layer), layer);
    x = view_image(b, view_plain(b, x, layer, 4, all), layer);
    x = view_tokens(b, global_avgpool(b, x, layer), layer);
    return view_plain(b, x, layer, 1, &one);
}

struct tensor *simmim_loss(struct builder *b, struct tensor *x, struct tensor *target,
                           struct tensor *mask)
{
    double pixels = (double)tensor_len(mask);
    struct tensor *in[] = {x, target, mask}, *mean[2];
    struct expr e = expr_start("simmim.error", 3, in);
    int size = expr_add(&e, EXPR_ABS, expr_add(&e, EXPR_SUB, 0, 1));

    mean[0] = mean_of(b, expr_end(b, &e, expr_add(&e, EXPR_MUL, size, 2)), "simmim.sum");
    mean[1] = mean_of(b, mask, "simmim.masked");
    e = expr_start("simmim.loss", 2, mean);
    size = expr_number(&e, EXPR_ADD_BY, 1, (float)(1e-5 / pixels));
    return expr_end(b, &e, expr_add(&e, EXPR_DIV, 0, size));
}
