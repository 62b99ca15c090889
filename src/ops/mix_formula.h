/*
 * The draws of mixup and CutMix, for host and device. Draw d of sample i is
 * philox(seed, PHILOX_MIXUP, run, i + 2^32 d):
 *   d = 0     whether to mix, by cutmix; row and column of the box's center (or corner)
 *   d = 1     its sides, if they are not given by lam
 *   d = 2..   lam, see ops/mix_beta.h
 */
#ifndef OPS_MIX_FORMULA_H
#define OPS_MIX_FORMULA_H

#include <math.h>
#include <stdbool.h>

#include "ops/mix_beta.h"
#include "ops/share.h"

struct mix_rule {
    float mixup, cutmix, cutmix_min, cutmix_max, prob, switch_prob; /* ops/mix.h */
};

struct mix_draw {
    float lam; /* weight of the sample itself; for cutmix: 1 - area of the box */
    int cutmix;
    int top, bottom, left, right; /* rows [top, bottom), columns [left, right) */
};

/* Returns the draw of sample i of n; 0 batch, 1 pair, 2 elem: enum mix_mode. */
HOST_DEVICE static inline int64_t mix_drawer(int mode, struct share s, int64_t i,
                                             int64_t n)
{
    return mode == 0 ? 0 : share_image(s, mode == 1 && i >= n - 1 - i ? n - 1 - i : i);
}

HOST_DEVICE static inline int mix_clip(int v, int high)
{
    return v < 0 ? 0 : v > high ? high : v;
}

/* [*begin, *end) around a center that is uniform over the side, clipped: the box of timm
 * 1.0.31, which is a line wider than that of timm 0.4 if its side is odd. */
HOST_DEVICE static inline void mix_span(uint32_t word, int side, int cut, int *begin,
                                        int *end)
{
    int center = (int)philox_below(word, (uint32_t)side);

    *begin = mix_clip(center - cut / 2, side);
    *end = mix_clip(center + (cut + 1) / 2, side);
}

/* A length in [side * low, side * high), and a corner uniform over all positions that
 * fit. */
HOST_DEVICE static inline void mix_span_between(uint32_t length, uint32_t corner,
                                                int side, float low, float high,
                                                int *begin, int *end)
{
    int least = (int)((float)side * low), max = (int)((float)side * high);
    int cut = least;

    if (max > least)
        cut += (int)philox_below(length, (uint32_t)(max - least));
    *begin = (int)philox_below(corner, (uint32_t)(side - cut + 1));
    *end = *begin + cut;
}

HOST_DEVICE static inline struct mix_draw mix_draw(const struct mix_rule *m,
                                                   uint64_t seed, uint64_t run, int64_t i,
                                                   int height, int width)
{
    struct mix_draw d = {1, 0, 0, 0, 0, 0};
    struct philox r = mix_word(seed, run, i, 0), sides;
    bool minmax = m->cutmix_max > 0;
    bool cutmix = m->cutmix > 0 || minmax;
    double lam;

    if (!(philox_uniform(r.v[0]) < m->prob))
        return d;
    if (cutmix && m->mixup > 0)
        cutmix = philox_uniform(r.v[1]) < m->switch_prob;
    if (!cutmix) {
        d.lam = (float)mix_beta(seed, run, i, (double)m->mixup);
        return d;
    }
    d.cutmix = 1;
    if (minmax) {
        sides = mix_word(seed, run, i, 1);
        mix_span_between(sides.v[0], r.v[2], height, m->cutmix_min, m->cutmix_max, &d.top,
                         &d.bottom);
        mix_span_between(sides.v[1], r.v[3], width, m->cutmix_min, m->cutmix_max, &d.left,
                         &d.right);
    } else {
        lam = mix_beta(seed, run, i, (double)m->cutmix);
        mix_span(r.v[2], height, (int)(height * sqrt(1 - lam)), &d.top, &d.bottom);
        mix_span(r.v[3], width, (int)(width * sqrt(1 - lam)), &d.left, &d.right);
    }
    d.lam = (float)(1 - (double)(d.bottom - d.top) * (d.right - d.left) /
                            ((double)height * width));
    return d;
}

/* Returns pixel (h, w) of the mixed sample from its own value and its partner's. */
HOST_DEVICE static inline float mix_value(const struct mix_draw *d, int64_t h, int64_t w,
                                          float value, float partner)
{
    bool inside = h >= d->top && h < d->bottom && w >= d->left && w < d->right;

    if (d->cutmix)
        return inside ? partner : value;
    return d->lam >= 1 ? value : d->lam * value + (1 - d->lam) * partner;
}

#endif
