#include "dataset/mosaic.h"

#include <string.h>

/* Returns a multiple of d from a quarter to three quarters of the side. */
static int place(uint32_t bits, int side, int d)
{
    return augment_integer(bits, side / 4, side - side / 4) / d * d;
}

bool mosaic_draw(struct mosaic *m, const struct augment_key *k, double probability,
                 const struct transform *t, int64_t n)
{
    struct philox r = augment_draw(k, AUGMENT_MOSAIC, 0);

    if (!(augment_uniform(r.v[0]) < probability))
        return false;
    m->x = place(r.v[1], t->w, t->label_divisor);
    m->y = place(r.v[2], t->h, t->label_divisor);
    m->self = (int)(r.v[3] & 3);
    for (int q = 0; q < MOSAIC_QUARTERS; q++) {
        struct philox s = augment_draw(k, AUGMENT_MOSAIC, 1 + (uint32_t)q);
        double sample = augment_uniform(s.v[0]) * (double)n;

        m->key[q] = (struct augment_key){.seed = s.v[1] | (uint64_t)s.v[2] << 32,
                                         .epoch = k->epoch,
                                         .sample = (int64_t)sample};
    }
    m->key[m->self] = *k;
    return true;
}

static void copy(const uint8_t *src, uint8_t *dst, size_t row, size_t first, size_t n,
                 int rows)
{
    for (int y = 0; y < rows; y++)
        memcpy(dst + (size_t)y * row + first, src + (size_t)y * row + first, n);
}

void mosaic_copy(const struct mosaic *m, int quarter, const struct transform *t,
                 const uint8_t *pixel, const uint8_t *label, uint8_t *to_pixel,
                 uint8_t *to_label)
{
    bool right = quarter & 1, low = quarter & 2;
    int d = t->label_divisor, x = right ? m->x : 0, y = low ? m->y : 0;
    int w = right ? t->w - m->x : m->x, h = low ? t->h - m->y : m->y;
    size_t channels = (size_t)transform_channels(t), row = (size_t)t->w * channels;
    size_t label_row = (size_t)(t->w / d), skip = (size_t)(y / d) * label_row;

    copy(pixel + (size_t)y * row, to_pixel + (size_t)y * row, row, (size_t)x * channels,
         (size_t)w * channels, h);
    copy(label + skip, to_label + skip, label_row, (size_t)(x / d), (size_t)(w / d),
         h / d);
}
