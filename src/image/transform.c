#include "image/transformer.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "image/enhance.h"
#include "image/transform_plan.h"

/* TRANSFORM_SEGMENT fills the outside with a color; other transforms use black. */
static void transform_fill(const struct transform *t, const uint8_t fill[3], uint8_t *dst)
{
    size_t n = (size_t)t->w * (size_t)t->h;

    if (t->kind != TRANSFORM_SEGMENT) {
        memset(dst, 0, n * 3);
        return;
    }
    for (size_t i = 0; i < n; i++)
        memcpy(dst + 3 * i, fill, 3);
}

static void transform_resize(struct transformer *m, const struct transform *t,
                             const struct transform_plan *p, const struct image *img,
                             const uint8_t fill[3], uint8_t *dst)
{
    size_t stride = (size_t)t->w * 3;

    if (p->x.n < t->w || p->y.n < t->h)
        transform_fill(t, fill, dst);
    dst += (size_t)p->dst_y * stride + (size_t)p->dst_x * 3;
    resize(&m->resizer, img, &p->x, &p->y, p->filter,
           &(struct resize_target){dst, stride, p->flip});
}

/* Enlarges the image into m->scratch as TRANSFORM_CENTER does if it does not cover the w
 * x h crop; otherwise returns it unchanged. */
static const struct image *
transform_cover(struct transformer *m, const struct transform *t, const struct image *img)
{
    struct transform fit = {.resize = t->w > t->h ? t->w : t->h};
    struct resize_axis x, y;
    int w, h;

    if (img->w >= t->w && img->h >= t->h)
        return img;
    transform_center_size(&fit, img->w, img->h, &w, &h);
    x = resize_axis_all(0, img->w, w);
    y = resize_axis_all(0, img->h, h);
    image_resize_reserve(&m->scratch, w, h);
    resize(&m->resizer, img, &x, &y, t->filter,
           &(struct resize_target){m->scratch.pixel, m->scratch.stride, false});
    return &m->scratch;
}

static void transform_pad_crop(struct transformer *m, const struct transform *t,
                               const struct augment_key *k, const struct image *img,
                               uint8_t *dst)
{
    const struct image *src = transform_cover(m, t, img);
    struct philox r = augment_draw(k, AUGMENT_CROP, 0);
    struct pad_crop c = {
        .mode = t->pad_mode, .w = t->w, .h = t->h, .flip = augment_flip(k, &t->flip)};

    c.x = augment_integer(r.v[0], 0, src->w + 2 * t->pad - t->w) - t->pad;
    c.y = augment_integer(r.v[1], 0, src->h + 2 * t->pad - t->h) - t->pad;
    pad_crop(src, &c, dst);
}

static void transform_jitter(const struct transform *t, const struct augment_key *k,
                             uint8_t *dst)
{
    size_t n = (size_t)t->w * (size_t)t->h;
    struct augment_jitter j = augment_jitter(k, t->jitter);

    for (int i = 0; i < 3; i++) {
        int what = j.order[i];

        if (!(t->jitter[what] > 0))
            continue;
        if (what == 0)
            enhance_brightness(dst, n, j.factor[0]);
        else if (what == 1)
            enhance_contrast(dst, n, j.factor[1]);
        else
            enhance_color(dst, n, j.factor[2]);
    }
}

/* Applies everything after the geometry, in place. */
static void transform_finish(struct transformer *m, const struct transform *t,
                             const struct augment_key *k, const uint8_t fill[3],
                             uint8_t *dst)
{
    if (t->policy.kind || t->list.n) {
        struct policy_canvas c = {.pixel = dst,
                                  .w = t->w,
                                  .h = t->h,
                                  .gray = transform_channels(t) == 1,
                                  .warp = &m->warp,
                                  .more = &m->more};

        image_resize_reserve(&m->scratch, t->w, t->h);
        c.scratch = m->scratch.pixel;
        memcpy(c.fill, fill, sizeof(c.fill));
        policy_apply(&t->policy, k, &c, t->filter, t->filter_random);
        augment_list_apply(&t->list, k, &c, t->filter, t->filter_random);
    }
    if (t->jitter[0] > 0 || t->jitter[1] > 0 || t->jitter[2] > 0)
        transform_jitter(t, k, dst);
    if (t->erase.probability > 0)
        erase_apply(&t->erase, k, dst, t->w, t->h);
}

void transformer_init(struct transformer *m, const struct image_limits *limits)
{
    memset(m, 0, sizeof(*m));
    m->decoder = image_decoder_new(limits);
}

void transformer_release(struct transformer *m)
{
    image_decoder_free(m->decoder);
    resizer_release(&m->resizer);
    image_release(&m->image);
    image_release(&m->scratch);
    image_release(&m->three);
    image_release(&m->made);
    warp_canvas_release(&m->warp);
    warp_canvas_release(&m->more);
    free(m->column);
    memset(m, 0, sizeof(*m));
}

/* Transforms three channels of a decoded image: geometry and colors. TRANSFORM_PAD_CROP
 * has no plan `p`. */
static void transform_three(struct transformer *m, const struct transform *t,
                            const struct augment_key *k, const struct transform_plan *p,
                            const struct image *img, const uint8_t fill[3], uint8_t *dst)
{
    double start = stage_begin(m->times);

    if (t->kind != TRANSFORM_PAD_CROP)
        transform_resize(m, t, p, img, fill, dst);
    else
        transform_pad_crop(m, t, k, img, dst);
    if (augment_vflip(k, t->vflip))
        mirror_rows(dst, t->w, t->h);
    stage_end(m->times, STAGE_RESIZE, &start);
    transform_finish(m, t, k, fill, dst);
    stage_end(m->times, STAGE_AUGMENT, &start);
}

/* Copies three channels from `first` on, repeating the last one if there are fewer. */
static void transform_copy_channels(const struct image *img, int first,
                                    struct image *three)
{
    int n = img->channels;

    image_resize_reserve(three, img->w, img->h);
    three->x = img->x;
    three->y = img->y;
    for (int y = 0; y < img->h; y++) {
        const uint8_t *src = img->pixel + (size_t)y * img->stride;
        uint8_t *dst = three->pixel + (size_t)y * three->stride;

        for (int x = 0; x < img->w; x++, src += n, dst += IMAGE_RGB)
            for (int c = 0; c < IMAGE_RGB; c++)
                dst[c] = src[first + c < n ? first + c : n - 1];
    }
}

/* resize_later: copies the pixels that the plan reads to dst and describes the resize in
 * *m->job. Returns false if resize_place() has no room for them. */
static bool transform_put_off(struct transformer *m, const struct transform *t,
                              const struct transform_plan *p, const struct image *img,
                              uint8_t *dst)
{
    struct resize_job j = {.x = p->x,
                           .y = p->y,
                           .dst_x = p->dst_x,
                           .dst_y = p->dst_y,
                           .filter = (int)p->filter,
                           .flip = p->flip,
                           .resize = 1};
    int x1, y1, channels = transform_channels(t);
    size_t row;

    resize_span(&p->x, (int)p->filter, &j.src_x, &x1);
    resize_span(&p->y, (int)p->filter, &j.src_y, &y1);
    j.src_w = x1 - j.src_x;
    j.src_h = y1 - j.src_y;
    if (!resize_fits(&j, t->w, t->h, channels))
        return false;
    row = (size_t)j.src_w * (size_t)channels;
    for (int y = 0; y < j.src_h; y++)
        memcpy(dst + (size_t)y * row,
               img->pixel + (size_t)(j.src_y + y - img->y) * img->stride +
                   (size_t)(j.src_x - img->x) * (size_t)channels,
               row);
    *m->job = j;
    return true;
}

static void transform_decoded(struct transformer *m, const struct transform *t,
                              const struct augment_key *k, const struct transform_plan *p,
                              const struct image *img, uint8_t *dst)
{
    int n = transform_channels(t);
    size_t pixels = (size_t)t->w * (size_t)t->h;

    if (img->channels != n)
        BUG("%d channels where %d are wanted", img->channels, n);
    if (t->resize_later) {
        double start = stage_begin(m->times);
        bool later = transform_put_off(m, t, p, img, dst);

        stage_end(m->times, STAGE_RESIZE, &start);
        if (later)
            return;
    }
    if (n == IMAGE_RGB) {
        transform_three(m, t, k, p, img, t->fill, dst);
        return;
    }
    image_resize_reserve(&m->made, t->w, t->h);
    for (int first = 0; first < n; first += IMAGE_RGB) {
        uint8_t fill[IMAGE_RGB];
        int last = n - first < IMAGE_RGB ? n - first : IMAGE_RGB;

        for (int c = 0; c < IMAGE_RGB; c++)
            fill[c] = t->fill[first + c < n ? first + c : n - 1];
        transform_copy_channels(img, first, &m->three);
        transform_three(m, t, k, p, &m->three, fill, m->made.pixel);
        for (size_t i = 0; i < pixels; i++)
            memcpy(dst + i * (size_t)n + first, m->made.pixel + i * IMAGE_RGB,
                   (size_t)last);
    }
}

void transform_image(struct transformer *m, const struct transform *t,
                     const struct augment_key *k, const struct image *whole, uint8_t *dst)
{
    struct transform_plan p;

    m->w = whole->w;
    m->h = whole->h;
    if (t->kind != TRANSFORM_PAD_CROP)
        transform_plan(t, k, whole->w, whole->h, &p);
    transform_decoded(m, t, k, &p, whole, dst);
}

int transform_file(struct transformer *m, const struct transform *t,
                   const struct augment_key *k, const void *data, size_t len,
                   uint8_t *dst, struct strbuf *why)
{
    struct transform_plan p;
    struct image_part part;
    double start = stage_begin(m->times);
    int w, h, rc;

    rc = image_decoder_open(m->decoder, data, len, &w, &h, why);
    if (rc < 0)
        return rc;
    m->w = w;
    m->h = h;
    image_decoder_channels(m->decoder, transform_channels(t));
    if (t->kind == TRANSFORM_PAD_CROP) {
        rc = image_decoder_read(m->decoder, NULL, &m->image, why);
        stage_end(m->times, STAGE_DECODE, &start);
        if (rc < 0)
            return rc;
        transform_image(m, t, k, &m->image, dst);
        return 0;
    }
    transform_plan(t, k, w, h, &p);
    part = transform_part(t, image_decoder_shrinks(m->decoder), &p, w, h);
    rc = image_decoder_read(m->decoder, &part, &m->image, why);
    stage_end(m->times, STAGE_DECODE, &start);
    if (rc < 0)
        return rc;
    transform_decoded(m, t, k, &p, &m->image, dst);
    return 0;
}

/* Returns the source pixel nearest to an output pixel on one axis; -1: outside the image. */
static int transform_nearest(const struct resize_axis *a, int dst, bool flip, int pos)
{
    int start = (int)a->begin, k = pos - dst;
    int r = flip ? a->first + a->n - 1 - k : a->first + k;

    if (k < 0 || k >= a->n)
        return -1;
    return start +
           (int)((2 * (int64_t)r + 1) * ((int)a->end - start) / (2 * (int64_t)a->out));
}

/* Transforms a label map pixel by pixel: the maps of a list mix the axes. */
static void transform_label_moved(const struct transform *t,
                                  const struct transform_plan *p,
                                  const struct augment_maps *maps, bool upside_down,
                                  const uint8_t *src, int w, uint8_t *dst)
{
    int d = t->label_divisor, lw = t->w / d, lh = t->h / d;

    for (int i = 0; i < lw * lh; i++) {
        int x = d * (i % lw) + d / 2, y = d * (i / lw) + d / 2;
        bool inside = augment_maps_source(maps, t->w, t->h, &x, &y);

        if (inside) {
            x = transform_nearest(&p->x, p->dst_x, p->flip, x);
            y = transform_nearest(&p->y, p->dst_y, false, upside_down ? t->h - 1 - y : y);
        }
        dst[i] = inside && x >= 0 && y >= 0 ? src[(size_t)y * (size_t)w + (size_t)x]
                                            : LABEL_IGNORE;
    }
}

void transform_label(struct transformer *m, const struct transform *t,
                     const struct augment_key *k, const uint8_t *src, int w, int h,
                     uint8_t *dst)
{
    int d = t->label_divisor, lw = t->w / d, lh = t->h / d, pos;
    bool upside_down = augment_vflip(k, t->vflip);
    struct transform_plan p;
    struct augment_maps maps;

    if (t->kind == TRANSFORM_PAD_CROP || t->policy.kind)
        BUG("label maps are not padded, and know no policies");
    transform_plan(t, k, w, h, &p);
    augment_list_maps(&t->list, k, t->w, t->h, &maps);
    if (maps.n) {
        transform_label_moved(t, &p, &maps, upside_down, src, w, dst);
        return;
    }
    pos = p.mirrored ? t->w - 1 - d * (lw - 1) - d / 2 : d / 2;
    if (lw > m->column_cap) {
        free(m->column);
        m->column = xcalloc((size_t)lw, sizeof(*m->column));
        m->column_cap = lw;
    }
    for (int i = 0; i < lw; i++)
        m->column[i] = transform_nearest(&p.x, p.dst_x, p.flip, d * i + pos);
    for (int j = 0; j < lh; j++, dst += lw) {
        int row_at = d * j + d / 2;
        int y = transform_nearest(&p.y, p.dst_y, false,
                                  upside_down ? t->h - 1 - row_at : row_at);
        const uint8_t *row = y < 0 ? NULL : src + (size_t)y * (size_t)w;

        for (int i = 0; i < lw; i++)
            dst[i] = row && m->column[i] >= 0 ? row[m->column[i]] : LABEL_IGNORE;
    }
}
