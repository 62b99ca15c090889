/*
 * Random erasing: the boxes of an image and their contents, for the loader, the ops of a
 * program, and their kernels. Formulas follow timm (random_erasing.py).
 */
#ifndef BASE_ERASE_FORMULA_H
#define BASE_ERASE_FORMULA_H

#include <math.h>

#include "base/augment_formula.h"

enum { ERASE_COUNT = 1000, ERASE_LEVELS = 4096, ERASE_TRIES = 10 };

enum erase_mode { ERASE_PIXEL, ERASE_RAND, ERASE_CONST };

/* Draws box number `region` of n, with 1/n of the area; returns false if ten tries did not
 * fit. */
HOST_DEVICE static inline bool erase_box(const struct augment_key *k, int w, int h, int n,
                                         int region, struct augment_box *b)
{
    double area = (double)w * h / n, ratio = log(1 / 0.3);

    for (int t = 0; t < ERASE_TRIES; t++) {
        struct philox r =
            augment_draw(k, AUGMENT_ERASE, (uint32_t)(1 + region * ERASE_TRIES + t));
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

/* Returns the number of boxes to try for a sample, at most `count`; often 0. */
HOST_DEVICE static inline int erase_tries(const struct augment_key *k, double probability,
                                          int count)
{
    struct philox r = augment_draw(k, AUGMENT_ERASE, 0);

    return augment_uniform(r.v[0]) < probability ? augment_integer(r.v[1], 1, count) : 0;
}

/* Returns words of noise: the i-th four of box `region` of those that fit. */
HOST_DEVICE static inline struct philox erase_noise(const struct augment_key *k,
                                                    uint32_t region, uint64_t i)
{
    struct philox key = augment_draw(k, AUGMENT_ERASE_PIXEL, region);

    return philox(key.v[0] | (uint64_t)key.v[1] << 32, PHILOX_AUGMENT, k->epoch, i);
}

/* Returns the level, in [0, ERASE_LEVELS), of byte i of the eight in four words. */
HOST_DEVICE static inline uint32_t erase_level(const struct philox *r, int i)
{
    return r->v[i / 2] >> (i % 2 ? 16 : 0) & (ERASE_LEVELS - 1);
}

/*
 * timm fills boxes after normalization: N(0, 1) per element (pixel) or per channel and
 * box (rand), or 0 (const). Here pixels are still bytes, so the noise z becomes the byte
 * nearest to 255 (mean + std z), clipped to 0..255; z has ERASE_LEVELS equally likely
 * values.
 */
struct erase_levels {
    uint8_t zero[3], noise[3][ERASE_LEVELS]; /* by channel */
};

/* Returns the first draw of row y of a noise box that is w pixels wide: a row uses whole
 * draws of eight bytes, from 1 on, for the bytes of RGB. */
HOST_DEVICE static inline uint64_t erase_row_draw(int w, int y)
{
    return 1 + (uint64_t)y * (uint64_t)((3 * w + 7) / 8);
}

/* Returns byte `pos` of a row of a box; r: draw 0 of the box, or for noise the row's draw
 * at / 8. */
HOST_DEVICE static inline uint8_t erase_value(const struct erase_levels *e, int mode,
                                              const struct philox *r, int pos)
{
    if (mode == ERASE_CONST)
        return e->zero[pos % 3];
    if (mode == ERASE_RAND)
        return e->noise[pos % 3][r->v[pos % 3] & (ERASE_LEVELS - 1)];
    return e->noise[pos % 3][erase_level(r, pos % 8)];
}

/* z with P(N(0, 1) < z) = p, by bisection. */
static inline double erase_quantile(double p)
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

static inline uint8_t erase_byte(double v)
{
    return (uint8_t)lrint(v < 0 ? 0 : v > 1 ? 255 : 255 * v);
}

/* mean and std: of the normalization, in units of 255. */
static inline void erase_levels_init(struct erase_levels *e, const double mean[3],
                                     const double std[3])
{
    for (int i = 0; i < ERASE_LEVELS; i++) {
        double z = erase_quantile((i + 0.5) / (double)ERASE_LEVELS);

        for (int c = 0; c < 3; c++)
            e->noise[c][i] = erase_byte(mean[c] + std[c] * z);
    }
    for (int c = 0; c < 3; c++)
        e->zero[c] = erase_byte(mean[c]);
}

#endif
