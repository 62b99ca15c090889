/*
 * Brightness, contrast, and saturation: the random numbers of an image and the resulting
 * colors, for the loader, the ops of a program, and their kernels. Formulas follow
 * torchvision (ColorJitter) and Pillow (ImageEnhance).
 */
#ifndef BASE_COLOR_FORMULA_H
#define BASE_COLOR_FORMULA_H

#include <math.h>

#include "base/augment_formula.h"

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
    /* the first one, then the smaller or the larger of the other two */
    j.order[0] = (uint8_t)(order / 2);
    j.order[1] = (uint8_t)(second ? (order / 2 == 2 ? 1 : 2) : (order / 2 == 0 ? 1 : 0));
    j.order[2] = (uint8_t)(3 - j.order[0] - j.order[1]);
    return j;
}

/* Pillow's L of one pixel. */
HOST_DEVICE static inline int augment_gray(int r, int g, int b)
{
    return (19595 * r + 38470 * g + 7471 * b + 32768) >> 16;
}

/* d + f (x - d), clipped to 0..255 and truncated. */
HOST_DEVICE static inline uint8_t augment_blend(int d, int x, float f)
{
    float v = (float)d + mul_rn(f, (float)(x - d));

    return (uint8_t)(v <= 0 ? 0 : v >= 255 ? 255 : (int)v);
}

/* int(mean(L) + 0.5), the reference of contrast. */
HOST_DEVICE static inline int augment_mean(uint64_t sum, uint64_t n)
{
    return (int)((double)sum / (double)n + 0.5);
}

#endif
