#include "image/erase.h"

#include <string.h>

void erase_init(struct erase *e, double probability, enum erase_mode mode, int count,
                const double mean[3], const double std[3])
{
    memset(e, 0, sizeof(*e));
    e->probability = probability;
    e->mode = mode;
    e->count = count < 1 ? 1 : count > ERASE_COUNT ? ERASE_COUNT : count;
    if (!(probability > 0))
        return;
    erase_levels_init(&e->levels, mean, std);
}

int erase_boxes(const struct erase *e, const struct augment_key *k, int w, int h,
                struct augment_box b[ERASE_COUNT])
{
    int n = erase_tries(k, e->probability, e->count), found = 0;

    for (int i = 0; i < n; i++)
        found += erase_box(k, w, h, n, i, &b[found]);
    return found;
}

/* Fills `n` pixels with noise, eight bytes per draw. */
static void erase_fill_pixels(const struct erase *e, const struct augment_key *k,
                              uint32_t region, uint64_t *draw, uint8_t *rgb, int n)
{
    struct philox r = {{0}};

    for (int i = 0; i < 3 * n; i++) {
        if (i % 8 == 0)
            r = erase_noise(k, region, (*draw)++);
        rgb[i] = e->levels.noise[i % 3][erase_level(&r, i % 8)];
    }
}

static void erase_fill(const struct erase *e, const struct augment_key *k,
                       uint32_t region, const struct augment_box *b, uint8_t *rgb,
                       int stride)
{
    struct philox r = erase_noise(k, region, 0);
    uint8_t color[3];
    uint64_t draw = 1;

    for (int c = 0; c < 3; c++)
        color[c] = e->mode == ERASE_RAND ? e->levels.noise[c][r.v[c] & (ERASE_LEVELS - 1)]
                                         : e->levels.zero[c];
    for (int y = b->y; y < b->y + b->h; y++) {
        uint8_t *row = rgb + ((size_t)y * (size_t)stride + (size_t)b->x) * 3;

        if (e->mode == ERASE_PIXEL) {
            erase_fill_pixels(e, k, region, &draw, row, b->w);
            continue;
        }
        for (int x = 0; x < b->w; x++)
            memcpy(row + 3 * (size_t)x, color, 3);
    }
}

void erase_apply(const struct erase *e, const struct augment_key *k, uint8_t *rgb, int w,
                 int h)
{
    struct augment_box b[ERASE_COUNT];
    int n = erase_boxes(e, k, w, h, b);

    for (int i = 0; i < n; i++)
        erase_fill(e, k, (uint32_t)i, &b[i], rgb, w);
}
