#include "image/augment_ops.h"

#include <math.h>
#include <string.h>

#include "base/strbuf.h"
#include "image/augmix.h"
#include "image/blur.h"
#include "image/clahe.h"
#include "image/enhance.h"
#include "image/noise.h"
#include "image/warp.h"

/* ---- random numbers ---------------------------------------------------------------- */

struct augment_words augment_words_of(const struct augment_key *k, int i)
{
    struct philox r = augment_draw(k, AUGMENT_LIST, (uint32_t)i);

    return (struct augment_words){.seed = r.v[0] | (uint64_t)r.v[1] << 32,
                                  .epoch = k->epoch};
}

uint32_t augment_word(struct augment_words *r)
{
    if (r->next % 4 == 0)
        r->four = philox(r->seed, PHILOX_AUGMENT, r->epoch, r->next / 4);
    return r->four.v[r->next++ % 4];
}

double augment_share(struct augment_words *r)
{
    return augment_uniform(augment_word(r));
}

double augment_value(struct augment_words *r, const struct augment_range *v)
{
    return augment_between(augment_word(r), v->lo, v->hi);
}

int augment_whole(struct augment_words *r, const struct augment_range *v)
{
    return augment_integer(augment_word(r), (int)v->lo, (int)v->hi);
}

/* ---- operations that move pixels --------------------------------------------------- */

static void set_map(double m[9], const double affine[6])
{
    memcpy(m, affine, 6 * sizeof(*m));
    m[6] = m[7] = 0;
    m[8] = 1;
}

static void hflip_map(const struct augment_item *i, struct augment_words *r, int w, int h,
                      double m[9])
{
    (void)i, (void)r, (void)h;
    set_map(m, (const double[6]){-1, 0, w, 0, 1, 0});
}

static void vflip_map(const struct augment_item *i, struct augment_words *r, int w, int h,
                      double m[9])
{
    (void)i, (void)r, (void)w;
    set_map(m, (const double[6]){1, 0, 0, 0, -1, h});
}

static void hflip(const struct augment_item *i, struct augment_words *r,
                  struct policy_canvas *c)
{
    (void)i, (void)r;
    mirror_columns(c->pixel, c->w, c->h);
}

static void vflip(const struct augment_item *i, struct augment_words *r,
                  struct policy_canvas *c)
{
    (void)i, (void)r;
    mirror_rows(c->pixel, c->w, c->h);
}

static void rotate_map(const struct augment_item *i, struct augment_words *r, int w,
                       int h, double m[9])
{
    double affine[6];

    warp_rotate(affine, augment_value(r, &i->value[0]), w, h);
    set_map(m, affine);
}

/* torchvision's RandomAffine, but with degrees counterclockwise. */
static void affine_map(const struct augment_item *i, struct augment_words *r, int w,
                       int h, double m[9])
{
    double degrees = augment_value(r, &i->value[0]);
    double x = rint(w * augment_value(r, &i->value[1]));
    double y = rint(h * augment_value(r, &i->value[1]));
    double scale = augment_value(r, &i->value[2]);
    double shear = augment_value(r, &i->value[3]);
    double affine[6];

    warp_place(affine,
               &(struct warp_place){
                   .degrees = degrees, .x = x, .y = y, .scale = scale, .shear = shear},
               w, h);
    set_map(m, affine);
}

/* torchvision's RandomPerspective: each corner moves inward by up to half the distortion
 * of a side. */
static void perspective_map(const struct augment_item *i, struct augment_words *r, int w,
                            int h, double m[9])
{
    double d = augment_value(r, &i->value[0]);
    int x = (int)(d * (w / 2)), y = (int)(d * (h / 2)); /* NOLINT: whole halves */
    double corner[4][2];

    for (int k = 0; k < 4; k++) {
        int dx = augment_integer(augment_word(r), 0, x);
        int dy = augment_integer(augment_word(r), 0, y);

        corner[k][0] = k == 1 || k == 2 ? w - 1 - dx : dx;
        corner[k][1] = k >= 2 ? h - 1 - dy : dy;
    }
    warp_corners(m, w, h, corner);
}

/* ---- operations on colors ---------------------------------------------------------- */

static size_t pixels(const struct policy_canvas *c)
{
    return (size_t)c->w * (size_t)c->h;
}

/* Returns the factor of an enhancement, at least 0. */
static float factor(const struct augment_item *i, struct augment_words *r)
{
    double f = 1 + augment_value(r, &i->value[0]);

    return (float)(f > 0 ? f : 0);
}

static void brightness(const struct augment_item *i, struct augment_words *r,
                       struct policy_canvas *c)
{
    enhance_brightness(c->pixel, pixels(c), factor(i, r));
}

static void contrast(const struct augment_item *i, struct augment_words *r,
                     struct policy_canvas *c)
{
    enhance_contrast(c->pixel, pixels(c), factor(i, r));
}

static void saturation(const struct augment_item *i, struct augment_words *r,
                       struct policy_canvas *c)
{
    enhance_color(c->pixel, pixels(c), factor(i, r));
}

static void sharpness(const struct augment_item *i, struct augment_words *r,
                      struct policy_canvas *c)
{
    enhance_sharpness(c->pixel, c->w, c->h, factor(i, r), c->scratch);
}

static void hue(const struct augment_item *i, struct augment_words *r,
                struct policy_canvas *c)
{
    enhance_hue(c->pixel, pixels(c), augment_value(r, &i->value[0]));
}

static void grayscale(const struct augment_item *i, struct augment_words *r,
                      struct policy_canvas *c)
{
    (void)i, (void)r;
    enhance_color(c->pixel, pixels(c), 0);
}

static void posterize(const struct augment_item *i, struct augment_words *r,
                      struct policy_canvas *c)
{
    enhance_posterize(c->pixel, pixels(c), augment_whole(r, &i->value[0]));
}

static void solarize(const struct augment_item *i, struct augment_words *r,
                     struct policy_canvas *c)
{
    enhance_solarize(c->pixel, pixels(c), augment_whole(r, &i->value[0]));
}

static void equalize(const struct augment_item *i, struct augment_words *r,
                     struct policy_canvas *c)
{
    (void)i, (void)r;
    enhance_equalize(c->pixel, pixels(c));
}

static void autocontrast(const struct augment_item *i, struct augment_words *r,
                         struct policy_canvas *c)
{
    (void)i, (void)r;
    enhance_autocontrast(c->pixel, pixels(c));
}

static void invert(const struct augment_item *i, struct augment_words *r,
                   struct policy_canvas *c)
{
    (void)i, (void)r;
    enhance_invert(c->pixel, pixels(c));
}

/* ---- blur, noise, and holes -------------------------------------------------------- */

static void blur(const struct augment_item *i, struct augment_words *r,
                 struct policy_canvas *c)
{
    blur_gaussian(c, augment_value(r, &i->value[0]));
}

static void noise(const struct augment_item *i, struct augment_words *r,
                  struct policy_canvas *c)
{
    double std = augment_value(r, &i->value[0]);
    uint64_t seed = augment_word(r);

    seed |= (uint64_t)augment_word(r) << 32;
    noise_gaussian(c, 255 * std, seed);
}

/* Albumentations' CoarseDropout, filled with the mean color. */
static void coarse_dropout(const struct augment_item *i, struct augment_words *r,
                           struct policy_canvas *c)
{
    int holes = augment_whole(r, &i->value[0]);

    for (int k = 0; k < holes; k++) {
        int h = (int)(c->h * augment_value(r, &i->value[1]));
        int w = (int)(c->w * augment_value(r, &i->value[1]));
        struct augment_box b = {.w = w > 1 ? w : 1, .h = h > 1 ? h : 1};

        b.y = augment_integer(augment_word(r), 0, c->h - b.h);
        b.x = augment_integer(augment_word(r), 0, c->w - b.w);
        for (int y = b.y; y < b.y + b.h; y++)
            for (int x = b.x; x < b.x + b.w; x++)
                memcpy(c->pixel + 3 * ((size_t)y * (size_t)c->w + (size_t)x), c->fill, 3);
    }
}

static void equalize_tiles(const struct augment_item *i, struct augment_words *r,
                           struct policy_canvas *c)
{
    double limit = augment_value(r, &i->value[0]);

    clahe(c, limit, augment_whole(r, &i->value[1]));
}

/* ---- several operations ------------------------------------------------------------ */

/* DeiT III's 3-Augment (Touvron et al. 2022, arXiv 2204.07118): one of three. */
static void three_augment(const struct augment_item *i, struct augment_words *r,
                          struct policy_canvas *c)
{
    static const struct augment_range sigma = {0.1, 2};

    (void)i;
    switch (augment_integer(augment_word(r), 0, 2)) {
    case 0:
        enhance_color(c->pixel, pixels(c), 0);
        break;
    case 1:
        enhance_solarize(c->pixel, pixels(c), 128);
        break;
    default:
        blur_gaussian(c, augment_value(r, &sigma));
    }
}

static void augmix(const struct augment_item *i, struct augment_words *r,
                   struct policy_canvas *c)
{
    struct augmix a;
    int severity = augment_whole(r, &i->value[0]);

    augmix_draw(&a, r, severity, augment_whole(r, &i->value[1]), &i->value[2]);
    augmix_apply(&a, c);
}

/* ---- the table --------------------------------------------------------------------- */

#define AMOUNT                                                                           \
    {                                                                                    \
        .name = "amount", .def = {-0.4, 0.4}, .min = -1, .max = 10, .symmetric = true    \
    }

/* clang-format off */
const struct augment_op augment_ops[] = {
    {.name = "hflip", .help = "mirror left to right", .p = 0.5,
     .map = hflip_map, .apply = hflip},
    {.name = "vflip", .help = "mirror top to bottom", .p = 0.5,
     .map = vflip_map, .apply = vflip},
    {.name = "rotate", .help = "rotate about the center, counterclockwise", .p = 0.5,
     .field = {{.name = "degrees", .def = {-15, 15}, .min = -360, .max = 360,
                .symmetric = true}},
     .map = rotate_map},
    {.name = "affine", .help = "rotate, shift, scale, and shear in one resampling",
     .p = 0.5, .needless = true,
     .field = {{.name = "degrees", .min = -360, .max = 360, .symmetric = true},
               {.name = "translate", .min = -1, .max = 1, .symmetric = true},
               {.name = "scale", .def = {1, 1}, .min = 0.01, .max = 100},
               {.name = "shear", .min = -80, .max = 80, .symmetric = true}},
     .map = affine_map},
    {.name = "perspective", .help = "move each corner inward at random", .p = 0.5,
     .field = {{.name = "distortion", .def = {0.5, 0.5}, .max = 1}},
     .map = perspective_map},
    {.name = "blur", .help = "Gaussian blur", .p = 0.5,
     .field = {{.name = "sigma", .def = {0.1, 2}, .max = 50}}, .apply = blur},
    {.name = "noise", .help = "add Gaussian noise", .p = 0.5, .colors = true,
     .field = {{.name = "std", .def = {0.01, 0.05}, .max = 10}}, .apply = noise},
    {.name = "sharpness", .help = "blend with the smoothed image", .p = 0.5,
     .colors = true, .field = {AMOUNT}, .apply = sharpness},
    {.name = "brightness", .help = "blend with black", .p = 0.5, .colors = true,
     .field = {AMOUNT}, .apply = brightness},
    {.name = "contrast", .help = "blend with the mean gray", .p = 0.5, .colors = true,
     .field = {AMOUNT}, .apply = contrast},
    {.name = "saturation", .help = "blend with the gray image", .p = 0.5, .colors = true,
     .field = {AMOUNT}, .apply = saturation},
    {.name = "hue", .help = "shift the hue", .p = 0.5, .colors = true,
     .field = {{.name = "amount", .def = {-0.1, 0.1}, .min = -0.5, .max = 0.5,
                .symmetric = true}},
     .apply = hue},
    {.name = "grayscale", .help = "make the image gray", .p = 0.5, .colors = true,
     .apply = grayscale},
    {.name = "posterize", .help = "keep the highest bits of each value", .p = 0.5,
     .colors = true, .field = {{.name = "bits", .def = {4, 4}, .max = 8, .integer = true}},
     .apply = posterize},
    {.name = "solarize", .help = "invert the values from a threshold on", .p = 0.5,
     .colors = true,
     .field = {{.name = "threshold", .def = {128, 128}, .max = 256, .integer = true}},
     .apply = solarize},
    {.name = "equalize", .help = "equalize the histogram of each channel", .p = 0.5,
     .colors = true, .apply = equalize},
    {.name = "autocontrast", .help = "stretch each channel to 0 to 255", .p = 0.5,
     .colors = true, .apply = autocontrast},
    {.name = "invert", .help = "invert all values", .p = 0.5, .colors = true,
     .apply = invert},
    {.name = "clahe", .help = "equalize the lightness tile by tile", .p = 0.5,
     .colors = true,
     .field = {{.name = "clip_limit", .def = {1, 4}, .max = 100},
               {.name = "tiles", .def = {8, 8}, .min = 1, .max = CLAHE_TILES,
                .integer = true}},
     .apply = equalize_tiles},
    {.name = "coarse_dropout", .help = "fill boxes with the mean color", .p = 0.5,
     .field = {{.name = "holes", .def = {1, 2}, .min = 1, .max = 1000, .integer = true},
               {.name = "size", .def = {0.1, 0.2}, .max = 1}},
     .apply = coarse_dropout},
    {.name = "three_augment", .help = "grayscale, solarize, or blur (DeiT III)", .p = 1,
     .colors = true, .apply = three_augment},
    {.name = "augmix", .help = "mix chains of operations with the image (AugMix)",
     .p = 1, .colors = true, .whole_images = true,
     .field = {{.name = "severity", .def = {3, 3}, .min = 1, .max = AUGMIX_LEVELS,
                .integer = true},
               {.name = "width", .def = {3, 3}, .min = 1, .max = AUGMIX_CHAINS,
                .integer = true},
               {.name = "depth", .def = {1, 3}, .min = 1, .max = AUGMIX_DEPTH,
                .integer = true}},
     .apply = augmix},
    {0},
};
/* clang-format on */

const struct augment_op *augment_op_find(const char *name)
{
    for (const struct augment_op *o = augment_ops; o->name; o++)
        if (!strcmp(o->name, name))
            return o;
    return NULL;
}

static void add_range(struct strbuf *s, const struct augment_range *v)
{
    if (v->lo == v->hi)
        strbuf_addf(s, "%g", v->lo);
    else
        strbuf_addf(s, "%g to %g", v->lo, v->hi);
}

/* Returns "HELP: FIELD DEFAULT, ...", made once per operation. */
static const char *help_of(int i)
{
    enum { OPS = sizeof(augment_ops) / sizeof(augment_ops[0]) };
    static struct strbuf text[OPS];
    const struct augment_op *o = &augment_ops[i];

    if (text[i].len)
        return text[i].buf;
    strbuf_addstr(&text[i], o->help);
    for (int k = 0; k < AUGMENT_OP_FIELDS && o->field[k].name; k++) {
        strbuf_addf(&text[i], "%s%s ", k ? ", " : ": ", o->field[k].name);
        add_range(&text[i], &o->field[k].def);
    }
    if (o->p != 0.5)
        strbuf_addf(&text[i], "%sp %g", o->field[0].name ? ", " : ": ", o->p);
    return text[i].buf;
}

static struct named op_at(const void *table, int i)
{
    const struct augment_op *o = (const struct augment_op *)table + i;

    return (struct named){.name = o->name, .help = o->name ? help_of(i) : NULL};
}

const struct names augment_op_names = {.entry = op_at, .table = augment_ops};
