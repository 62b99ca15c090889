#include "ops/augment.h"

#include <string.h>

#include "graph/kernel.h"
#include "ops/image.h"

static struct tensor *augment(struct builder *b, const struct op *op, const char *layer,
                              const void *attrs, struct tensor *x, struct tensor *keys)
{
    struct tensor *in[] = {[AUGMENT_X] = x, [AUGMENT_KEYS] = keys};

    return node(b, op, layer, attrs, in, 2);
}

struct tensor *flip_(struct builder *b, struct tensor *x, struct tensor *keys,
                     const struct flip_attrs *a)
{
    return augment(b, &op_flip, a->layer, a, x, keys);
}

struct tensor *color_jitter_(struct builder *b, struct tensor *x, struct tensor *keys,
                             const struct color_jitter_attrs *a)
{
    return augment(b, &op_color_jitter, a->layer, a, x, keys);
}

struct tensor *erase_(struct builder *b, struct tensor *x, struct tensor *keys,
                      const struct erase_attrs *a)
{
    return augment(b, &op_erase, a->layer, a, x, keys);
}

/* ---- shapes ---- */

static const char *augment_shape(struct node *n)
{
    const struct tensor *x = n->in[AUGMENT_X], *keys = n->in[AUGMENT_KEYS];

    if ((!tensor_is_image(x) && !augment_is_label_maps(x)) || x->dtype != DTYPE_U8)
        return "neither an image of bytes nor label maps";
    if (keys->dtype != DTYPE_I32 || keys->ndim != 2 || keys->dim[0] != x->dim[IMAGE_N] ||
        keys->dim[1] != AUGMENT_KEY_WORDS)
        return "not a key for each image";
    tensor_like(n->out[0], x);
    n->out[0]->dtype = DTYPE_U8;
    return NULL;
}

static const char *color_shape(struct node *n)
{
    const struct tensor *x = n->in[AUGMENT_X];

    if (!tensor_is_image(x) || (x->dim[IMAGE_C] != 1 && x->dim[IMAGE_C] != 3))
        return "neither gray nor RGB";
    return augment_shape(n);
}

static const char *flip_shape(struct node *n)
{
    const struct flip_attrs *a = n->attrs;

    if (!(a->flips.probability >= 0 && a->flips.probability <= 1))
        return "a probability outside [0, 1]";
    return augment_shape(n);
}

static const char *color_jitter_shape(struct node *n)
{
    const struct color_jitter_attrs *a = n->attrs;

    for (int i = 0; i < 3; i++)
        if (!(a->strength[i] >= 0))
            return "a strength below 0";
    return color_shape(n);
}

static const char *erase_shape(struct node *n)
{
    const struct erase_attrs *a = n->attrs;

    if (!(a->probability >= 0 && a->probability <= 1) || a->count < 1 ||
        a->count > ERASE_COUNT || a->mode < ERASE_PIXEL || a->mode > ERASE_CONST)
        return "a probability outside [0, 1], a count outside [1, 1000], or no mode";
    return color_shape(n);
}

/* ---- flip ---- */

static void copy_image(const struct augment_image *m)
{
    if (m->y != m->x)
        memcpy(m->y, m->x, (size_t)m->h * (size_t)m->w * (size_t)m->c);
}

void flip_image(const struct flip_attrs *a, const struct augment_image *m)
{
    if (m->key->sample < 0 || !augment_flip(m->key, &a->flips)) {
        copy_image(m);
        return;
    }
    for (int y = 0; y < m->h; y++)
        for (int x = 0; x < m->w; x++) {
            int64_t row = (int64_t)y * m->w;

            for (int c = 0; c < m->c; c++)
                m->y[(row + x) * m->c + c] = m->x[(row + m->w - 1 - x) * m->c + c];
        }
}

/* ---- color_jitter ---- */

static int gray_at(const struct augment_image *m, int64_t i)
{
    const uint8_t *p = m->y + i * m->c;

    return m->c == 1 ? p[0] : augment_gray(p[0], p[1], p[2]);
}

/* Blends every byte x to d + f (x - d). */
static void blend_all(const struct augment_image *m, int d, float f)
{
    int64_t n = (int64_t)m->h * m->w * m->c;
    uint8_t table[256];

    for (int x = 0; x < 256; x++)
        table[x] = augment_blend(d, x, f);
    for (int64_t i = 0; i < n; i++)
        m->y[i] = table[m->y[i]];
}

static void contrast(const struct augment_image *m, float f)
{
    int64_t n = (int64_t)m->h * m->w;
    uint64_t sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += (uint64_t)gray_at(m, i);
    blend_all(m, augment_mean(sum, (uint64_t)n), f);
}

static void saturation(const struct augment_image *m, float f)
{
    for (int64_t i = 0; i < (int64_t)m->h * m->w; i++) {
        int gray = gray_at(m, i);

        for (int c = 0; c < m->c; c++)
            m->y[i * m->c + c] = augment_blend(gray, m->y[i * m->c + c], f);
    }
}

void color_jitter_image(const struct color_jitter_attrs *a, const struct augment_image *m)
{
    struct augment_jitter j = augment_jitter(m->key, a->strength);

    copy_image(m);
    for (int i = 0; i < 3 && m->key->sample >= 0; i++) {
        int what = j.order[i];

        if (!(a->strength[what] > 0))
            continue;
        if (what == 0)
            blend_all(m, 0, j.factor[0]);
        else if (what == 1)
            contrast(m, j.factor[1]);
        else
            saturation(m, j.factor[2]);
    }
}

/* ---- erase ---- */

/* Fills a row of a box. Its random numbers, eight bytes each, start at number `row`. Gray
 * uses RGB's numbers, the first byte of every three. */
static void erase_row(const struct erase_attrs *a, const struct erase_levels *levels,
                      const struct augment_key *k, uint32_t region, uint64_t row,
                      uint8_t *dst, int w, int c)
{
    struct philox r = erase_noise(k, region, 0);

    for (int pos = 0; pos < 3 * w; pos++) {
        if (a->mode == ERASE_PIXEL && pos % 8 == 0)
            r = erase_noise(k, region, row + (uint64_t)pos / 8);
        if (pos % 3 < c)
            *dst++ = erase_value(levels, a->mode, &r, pos);
    }
}

static void erase_rect(const struct erase_attrs *a, const struct erase_levels *levels,
                       const struct augment_image *m, uint32_t region,
                       const struct augment_box *b)
{
    for (int y = 0; y < b->h; y++)
        erase_row(a, levels, m->key, region, erase_row_draw(b->w, y),
                  m->y + (((int64_t)b->y + y) * m->w + b->x) * m->c, b->w, m->c);
}

void erase_image(const struct erase_attrs *a, const struct erase_levels *levels,
                 const struct augment_image *m)
{
    int n = m->key->sample < 0 ? 0 : erase_tries(m->key, a->probability, a->count);
    uint32_t found = 0;
    struct augment_box b;

    copy_image(m);
    for (int i = 0; i < n; i++)
        if (erase_box(m->key, m->w, m->h, n, i, &b))
            erase_rect(a, levels, m, found++, &b);
}

/* ---- the references ---- */

struct augment_image augment_image_of(const struct step *s, int64_t i)
{
    struct augment_dims d = augment_dims_of(s->node->in[AUGMENT_X]);
    int64_t len = (int64_t)d.h * d.w * d.c;

    return (struct augment_image){
        .key = (const struct augment_key *)s->in[AUGMENT_KEYS] + i,
        .x = (const uint8_t *)s->in[AUGMENT_X] + i * len,
        .y = (uint8_t *)s->out[0] + i * len,
        .h = d.h,
        .w = d.w,
        .c = d.c,
    };
}

static void flip_ref(const struct step *s)
{
    for (int64_t i = 0; i < s->node->out[0]->dim[IMAGE_N]; i++) {
        struct augment_image m = augment_image_of(s, i);

        flip_image(s->node->attrs, &m);
    }
}

static void color_jitter_ref(const struct step *s)
{
    for (int64_t i = 0; i < s->node->out[0]->dim[IMAGE_N]; i++) {
        struct augment_image m = augment_image_of(s, i);

        color_jitter_image(s->node->attrs, &m);
    }
}

static size_t erase_scratch(const struct node *n)
{
    (void)n;
    return sizeof(struct erase_levels);
}

static void erase_ref(const struct step *s)
{
    const struct erase_attrs *a = s->node->attrs;

    erase_levels_init(s->workspace, a->mean, a->std);
    for (int64_t i = 0; i < s->node->out[0]->dim[IMAGE_N]; i++) {
        struct augment_image m = augment_image_of(s, i);

        erase_image(a, s->workspace, &m);
    }
}

const struct op op_flip = {
    .name = "flip",
    .attrs_size = sizeof(struct flip_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = flip_shape,
    .ref = flip_ref,
};

const struct op op_color_jitter = {
    .name = "color_jitter",
    .attrs_size = sizeof(struct color_jitter_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = color_jitter_shape,
    .ref = color_jitter_ref,
};

const struct op op_erase = {
    .name = "erase",
    .attrs_size = sizeof(struct erase_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = erase_shape,
    .ref = erase_ref,
    .ref_scratch = erase_scratch,
};
