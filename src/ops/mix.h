/*
 * mix: mixup and CutMix on the device, timm's rules. The partner of sample i is N-1-i.
 *
 *   mixup   y_i = lam x_i + (1 - lam) x_{N-1-i}, lam ~ Beta(mixup, mixup)
 *   cutmix  a box of y_i comes from the partner; lam = 1 - area of the clipped box
 *
 * The loss takes `lam` and mixes the targets: see ops/cross_entropy.h. Draws and formulas
 * are in ops/mix_formula.h; every random number is philox(control.seed, PHILOX_MIXUP,
 * control.micro, sample), samples being counted as in the batch of all processes, where
 * each process has both of a pair (ops/share.h). No gradient.
 *
 * Zhang et al. 2017 (arXiv 1710.09412); Yun et al. 2019 (1905.04899); timm/data/mixup.py.
 */
#ifndef OPS_MIX_H
#define OPS_MIX_H

#include "graph/graph.h"
#include "ops/share.h"

enum mix_mode {
    MIX_BATCH, /* one draw for the whole batch */
    MIX_PAIR,  /* one for each pair (i, N-1-i) */
    MIX_ELEM   /* one for each sample */
};

/* Used as given: prob = 0 never mixes. One of mixup and cutmix must be on. */
struct mix_attrs {
    const char *layer;
    float mixup, cutmix; /* alpha of each; 0: off */
    /* Sides of the box relative to the image; both 0: from lam. Enables cutmix. */
    float cutmix_min, cutmix_max;
    float prob;        /* of mixing at all */
    float switch_prob; /* of cutmix, if both are enabled */
    int mode;          /* enum mix_mode */
    struct share share; /* set by the builder: of the images */
};

enum { MIX_X, MIX_CONTROL };
enum { MIX_Y, MIX_LAM }; /* image like x; fp32 [N] */

/* x = mix(&b, x, control, &lam, "mixup", .mixup = 0.8f, .prob = 1) */
#define mix(b, x, control, lam, ...)                                                     \
    mix_((b), (x), (control), (lam), &(const struct mix_attrs){.layer = __VA_ARGS__})
struct tensor *mix_(struct builder *b, struct tensor *x, struct tensor *control,
                    struct tensor **lam, const struct mix_attrs *a);

extern const struct op op_mix;

#endif
