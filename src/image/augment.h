/*
 * The random decisions about a training image, and the geometry of crops. All of them
 * are pure functions of (seed, epoch, sample): Philox with the stream PHILOX_AUGMENT, so
 * no result depends on workers, on the order of calls or on which other augmentations are
 * on.
 *
 * Formulas are those of torchvision (transforms.py) and timm (transforms_factory.py).
 */
#ifndef IMAGE_AUGMENT_H
#define IMAGE_AUGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/philox.h"

struct augment_key {
    uint64_t seed, epoch;
    int64_t sample; /* index in the data set, below 2^40 */
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
struct philox augment_draw(const struct augment_key *k, enum augment_purpose p,
                           uint32_t n);

/* Uniform in [0, 1) with 32 bits; in [lo, hi); in lo, ..., hi, both included. */
double augment_uniform(uint32_t bits);
double augment_between(uint32_t bits, double lo, double hi);
int augment_integer(uint32_t bits, int lo, int hi);

struct augment_box {
    int x, y, w, h;
};

/*
 * Random resized crop of a W x H image: up to 10 tries of an area W H U(scale) with an
 * aspect exp(U(log ratio)), w = round(sqrt(area aspect)), h = round(sqrt(area / aspect)),
 * at a uniform place; else the largest centred crop with an allowed aspect.
 */
struct augment_box augment_resized_crop(const struct augment_key *k, int w, int h,
                                        const double scale[2], const double ratio[2]);

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
bool augment_flip(const struct augment_key *k, const struct augment_flips *f);

/* Factors in U(max(0, 1 - c), 1 + c) and the order in which they are applied. */
struct augment_jitter {
    float factor[3]; /* brightness, contrast, saturation */
    uint8_t order[3];
};

struct augment_jitter augment_jitter(const struct augment_key *k,
                                     const double strength[3]);

#endif
