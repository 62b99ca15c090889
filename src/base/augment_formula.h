/*
 * Random numbers of a training image: formulas shared by the loader (src/image), the ops
 * of a program (ops/augment.h), and their kernels, so that all make the same image.
 * color_formula.h has the formulas of colors, erase_formula.h those of random erasing.
 *
 * All are pure functions of (seed, epoch, sample): Philox with the stream PHILOX_AUGMENT,
 * so results do not depend on workers, on the order of calls, or on the other
 * augmentations. Formulas follow torchvision (transforms.py) and timm
 * (transforms_factory.py).
 */
#ifndef BASE_AUGMENT_FORMULA_H
#define BASE_AUGMENT_FORMULA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/philox.h"

struct augment_key {
    uint64_t seed, epoch;
    int64_t sample; /* index in the data set, below 2^40; negative: no sample */
};

/* Every purpose has its own random numbers. */
enum augment_purpose {
    AUGMENT_CROP, /* draw n is try n */
    AUGMENT_FLIP,
    AUGMENT_FILTER,
    AUGMENT_JITTER,
    AUGMENT_POLICY, /* draws 2n and 2n + 1 are operation n */
    AUGMENT_ERASE,
    AUGMENT_ERASE_PIXEL,
    AUGMENT_SEGMENT, /* draw 0: factor and place; 1: shift */
    AUGMENT_VFLIP,
    AUGMENT_LIST,   /* draw n: the seed of item n */
    AUGMENT_MOSAIC, /* draw 0: chance, place; 1 + n: image of quarter n */
    AUGMENT_MASK    /* draw n: cells 4n to 4n + 3 */
};

/* Returns four random words: draw number n (below 2^16) for the purpose. */
HOST_DEVICE static inline struct philox augment_draw(const struct augment_key *k,
                                                     enum augment_purpose p, uint32_t n)
{
    uint64_t element = (uint64_t)k->sample | (uint64_t)p << 40 | (uint64_t)n << 48;

    return philox(k->seed, PHILOX_AUGMENT, k->epoch, element);
}

/* Uniform in [0, 1) with 32 bits; in [lo, hi); in lo, ..., hi, inclusive. */
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

struct augment_flips {
    double probability;
    /*
     * Drawn once per sample, in epoch 0; odd epochs flip the samples that even ones do
     * not, so two consecutive epochs show each image both ways (Jordan 2024, "94% on
     * CIFAR-10 in 3.29 seconds", section 3.6).
     */
    bool alternate;
};

/* True for a horizontal flip. */
HOST_DEVICE static inline bool augment_flip(const struct augment_key *k,
                                            const struct augment_flips *f)
{
    struct augment_key src = *k;
    bool odd = f->alternate && k->epoch % 2;

    if (f->alternate)
        src.epoch = 0;
    return (augment_uniform(augment_draw(&src, AUGMENT_FLIP, 0).v[0]) < f->probability) !=
           odd;
}

/* True for a vertical flip. */
HOST_DEVICE static inline bool augment_vflip(const struct augment_key *k,
                                             double probability)
{
    return augment_uniform(augment_draw(k, AUGMENT_VFLIP, 0).v[0]) < probability;
}

#endif
