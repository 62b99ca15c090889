/*
 * What is drawn for a training image, and the colours that follow from it: formulas that
 * the loader (src/image), the ops of a program (ops/augment.h) and their kernels share, so
 * that an image is the same wherever it is made.
 *
 * All of them are pure functions of (seed, epoch, sample): Philox with the stream
 * PHILOX_AUGMENT, so no result depends on workers, on the order of calls or on which other
 * augmentations are on. Formulas are those of torchvision (transforms.py), timm
 * (transforms_factory.py, random_erasing.py) and Pillow (ImageEnhance).
 */
#ifndef BASE_AUGMENT_FORMULA_H
#define BASE_AUGMENT_FORMULA_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/philox.h"

struct augment_key {
    uint64_t seed, epoch;
    int64_t sample; /* index in the data set, below 2^40; below 0: there is no sample */
};

/* Every purpose draws from its own numbers. */
enum augment_purpose {
    AUGMENT_CROP, /* draw n is try n */
    AUGMENT_FLIP,
    AUGMENT_FILTER,
    AUGMENT_JITTER,
    AUGMENT_POLICY, /* draws 2n and 2n + 1 are operation n */
    AUGMENT_ERASE,
    AUGMENT_ERASE_PIXEL,
    AUGMENT_SEGMENT /* draw 0: factor and place; 1: shift */
};

/* Four random words: draw number n (below 2^16) for the purpose. */
HOST_DEVICE static inline struct philox augment_draw(const struct augment_key *k,
                                                     enum augment_purpose p, uint32_t n)
{
    uint64_t element = (uint64_t)k->sample | (uint64_t)p << 40 | (uint64_t)n << 48;

    return philox(k->seed, PHILOX_AUGMENT, k->epoch, element);
}

/* Uniform in [0, 1) with 32 bits; in [lo, hi); in lo, ..., hi, both included. */
HOST_DEVICE static inline double augment_uniform(uint32_t bits)
{
    return (double)bits * (1.0 / 4294967296.0);
}

HOST_DEVICE static inline double augment_between(uint32_t bits, double lo, double hi)
{
    return lo + (hi - lo) * augment_uniform(bits);
}

HOST_DEVICE static inline int augment_integer(uint32_t bits, int lo, int hi)
{
    return lo + (int)philox_below(bits, (uint32_t)(hi - lo) + 1);
}

struct augment_box {
    int x, y, w, h;
};

/* ---- flips ---- */

struct augment_flips {
    double probability;
    /*
     * Drawn once for each sample, in epoch 0; odd epochs flip what even ones do not, so
     * two epochs in a row show each image both ways (Jordan 2024, "94% on CIFAR-10 in
     * 3.29 seconds", section 3.6).
     */
    bool alternate;
};

/* Horizontal flip? */
HOST_DEVICE static inline bool augment_flip(const struct augment_key *k,
                                            const struct augment_flips *f)
{
    struct augment_key from = *k;
    bool odd = f->alternate && k->epoch % 2;

    if (f->alternate)
        from.epoch = 0;
    return (augment_uniform(augment_draw(&from, AUGMENT_FLIP, 0).v[0]) <
            f->probability) != odd;
}

/* ---- colours ---- */

/* Factors in U(max(0, 1 - c), 1 + c) and the order in which they are applied. */
struct augment_jitter {
    float factor[3]; /* brightness, contrast, saturation */
    uint8_t order[3];
};

HOST_DEVICE static inline struct augment_jitter
augment_jitter(const struct augment_key *k, const double strength[3])
{
    struct philox r = augment_draw(k, AUGMENT_JITTER, 0);
    struct augment_jitter j;
    uint32_t order = philox_below(r.v[3], 6), second = order % 2;

    for (int i = 0; i < 3; i++)
        j.factor[i] =
            (float)augment_between(r.v[i], fmax(0, 1 - strength[i]), 1 + strength[i]);
    /* the first one, then of the two that are left the smaller or the larger one */
    j.order[0] = (uint8_t)(order / 2);
    j.order[1] = (uint8_t)(second ? (order / 2 == 2 ? 1 : 2) : (order / 2 == 0 ? 1 : 0));
    j.order[2] = (uint8_t)(3 - j.order[0] - j.order[1]);
    return j;
}

/* Pillow's L of one pixel. */
HOST_DEVICE static inline int augment_grey(int r, int g, int b)
{
    return (19595 * r + 38470 * g + 7471 * b + 32768) >> 16;
}

/* d + f (x - d), clipped to 0..255 and truncated. */
HOST_DEVICE static inline uint8_t augment_blend(int d, int x, float f)
{
    float v = (float)d + mul_rn(f, (float)(x - d));

    return (uint8_t)(v <= 0 ? 0 : v >= 255 ? 255 : (int)v);
}

/* int(mean(L) + 0.5), what contrast moves away from. */
HOST_DEVICE static inline int augment_mean(uint64_t sum, uint64_t n)
{
    return (int)((double)sum / (double)n + 0.5);
}

/* ---- random erasing ---- */

enum { ERASE_COUNT = 1000, ERASE_LEVELS = 4096, ERASE_TRIES = 10 };

enum erase_mode { ERASE_PIXEL, ERASE_RAND, ERASE_CONST };

/* Box number `which` of n, of 1/n of the area; false: ten tries did not fit. */
HOST_DEVICE static inline bool erase_box(const struct augment_key *k, int w, int h, int n,
                                         int which, struct augment_box *b)
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

/* How many boxes are tried for a sample, at most `count`; often 0. */
HOST_DEVICE static inline int erase_tries(const struct augment_key *k, double probability,
                                          int count)
{
    struct philox r = augment_draw(k, AUGMENT_ERASE, 0);

    return augment_uniform(r.v[0]) < probability ? augment_integer(r.v[1], 1, count) : 0;
}

/* Words of noise for the box `which` of those that fit, the i-th four of them. */
HOST_DEVICE static inline struct philox erase_noise(const struct augment_key *k,
                                                    uint32_t which, uint64_t i)
{
    struct philox key = augment_draw(k, AUGMENT_ERASE_PIXEL, which);

    return philox(key.v[0] | (uint64_t)key.v[1] << 32, PHILOX_AUGMENT, k->epoch, i);
}

/* The level, in [0, ERASE_LEVELS), of byte i of four words: there are eight. */
HOST_DEVICE static inline uint32_t erase_level(const struct philox *r, int i)
{
    return r->v[i / 2] >> (i % 2 ? 16 : 0) & (ERASE_LEVELS - 1);
}

/*
 * What fills a box is meant for normalised numbers: N(0, 1) per element (pixel) or per
 * channel and box (rand), or 0 (const). Pixels are still bytes, so the noise z becomes the
 * byte nearest to 255 (mean + std z), cut to 0..255; z has ERASE_LEVELS equally likely
 * values.
 */
struct erase_levels {
    uint8_t zero[3], noise[3][ERASE_LEVELS]; /* by channel */
};

/* The first draw of row y of a box of noise that is w pixels wide: a row takes whole draws
 * of eight bytes, from 1 on, and its bytes are those of RGB. */
HOST_DEVICE static inline uint64_t erase_row_draw(int w, int y)
{
    return 1 + (uint64_t)y * (uint64_t)((3 * w + 7) / 8);
}

/* Byte `at` of a row of a box; r: draw 0 of the box, of noise the row's draw at / 8. */
HOST_DEVICE static inline uint8_t erase_value(const struct erase_levels *e, int mode,
                                              const struct philox *r, int at)
{
    if (mode == ERASE_CONST)
        return e->zero[at % 3];
    if (mode == ERASE_RAND)
        return e->noise[at % 3][r->v[at % 3] & (ERASE_LEVELS - 1)];
    return e->noise[at % 3][erase_level(r, at % 8)];
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

/* mean and std: of the normalisation, in units of 255. */
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
