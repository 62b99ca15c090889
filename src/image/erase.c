#include "image/erase.h"

#include <math.h>
#include <string.h>

enum { ERASE_TRIES = 10 };

/* z with P(N(0, 1) < z) = p, by bisection. */
static double erase_quantile(double p)
{
    double lo = -10, hi = 10;

    for (int i = 0; i < 60; i++) {
        double z = (lo + hi) / 2;

        if (0.5 * erfc(-z / sqrt(2)) < p)
            lo = z;
        else
            hi = z;
    }
    return (lo + hi) / 2;
}

static uint8_t erase_byte(double v)
{
    return (uint8_t)lrint(v < 0 ? 0 : v > 1 ? 255 : 255 * v);
}

void erase_init(struct erase *e, double probability, enum erase_mode mode, int count,
                const double mean[3], const double std[3])
{
    memset(e, 0, sizeof(*e));
    e->probability = probability;
    e->mode = mode;
    e->count = count < 1 ? 1 : count > ERASE_COUNT ? ERASE_COUNT : count;
    if (!(probability > 0))
        return;
    for (int i = 0; i < ERASE_LEVELS; i++) {
        double z = erase_quantile((i + 0.5) / ERASE_LEVELS);

        for (int c = 0; c < 3; c++)
            e->noise[c][i] = erase_byte(mean[c] + std[c] * z);
    }
    for (int c = 0; c < 3; c++)
        e->zero[c] = erase_byte(mean[c]);
}

/* One box of 1/n of the area; false: ten tries did not fit. */
static bool erase_box(const struct augment_key *k, int w, int h, int n, int which,
                      struct augment_box *b)
{
    double area = (double)w * h / n, ratio = log(1 / 0.3);

    for (int t = 0; t < ERASE_TRIES; t++) {
        struct philox r =
            augment_draw(k, AUGMENT_ERASE, (uint32_t)(1 + which * ERASE_TRIES + t));
        double target = area * augment_between(r.v[0], 0.02, 1.0 / 3);
        double aspect = exp(augment_between(r.v[1], -ratio, ratio));
        double bh = rint(sqrt(target * aspect)), bw = rint(sqrt(target / aspect));

        if (!(bw < w && bh < h))
            continue;
        b->w = (int)bw;
        b->h = (int)bh;
        b->y = augment_integer(r.v[2], 0, h - b->h);
        b->x = augment_integer(r.v[3], 0, w - b->w);
        return true;
    }
    return false;
}

int erase_boxes(const struct erase *e, const struct augment_key *k, int w, int h,
                struct augment_box b[ERASE_COUNT])
{
    struct philox r = augment_draw(k, AUGMENT_ERASE, 0);
    int n, found = 0;

    if (!(augment_uniform(r.v[0]) < e->probability))
        return 0;
    n = augment_integer(r.v[1], 1, e->count);
    for (int i = 0; i < n; i++)
        found += erase_box(k, w, h, n, i, &b[found]);
    return found;
}

/* Words of noise for the box `which`, the i-th four of them. */
static struct philox erase_noise(const struct augment_key *k, uint32_t which, uint64_t i)
{
    struct philox key = augment_draw(k, AUGMENT_ERASE_PIXEL, which);

    return philox(key.v[0] | (uint64_t)key.v[1] << 32, PHILOX_AUGMENT, k->epoch, i);
}

/* `n` pixels of noise, eight bytes from each draw. */
static void erase_fill_pixels(const struct erase *e, const struct augment_key *k,
                              uint32_t which, uint64_t *draw, uint8_t *rgb, int n)
{
    struct philox r = {{0}};

    for (int i = 0; i < 3 * n; i++) {
        if (i % 8 == 0)
            r = erase_noise(k, which, (*draw)++);
        rgb[i] = e->noise[i % 3][r.v[i % 8 / 2] >> (i % 2 ? 16 : 0) & (ERASE_LEVELS - 1)];
    }
}

static void erase_fill(const struct erase *e, const struct augment_key *k, uint32_t which,
                       const struct augment_box *b, uint8_t *rgb, int stride)
{
    struct philox r = erase_noise(k, which, 0);
    uint8_t color[3];
    uint64_t draw = 1;

    for (int c = 0; c < 3; c++)
        color[c] =
            e->mode == ERASE_RAND ? e->noise[c][r.v[c] & (ERASE_LEVELS - 1)] : e->zero[c];
    for (int y = b->y; y < b->y + b->h; y++) {
        uint8_t *row = rgb + ((size_t)y * (size_t)stride + (size_t)b->x) * 3;

        if (e->mode == ERASE_PIXEL) {
            erase_fill_pixels(e, k, which, &draw, row, b->w);
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
