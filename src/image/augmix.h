/*
 * AugMix (Hendrycks et al. 2020, arXiv 1912.02781) as in torchvision, with alpha 1 and
 * all 13 operations: a convex combination of the image and of the ends of several chains
 * of operations.
 */
#ifndef IMAGE_AUGMIX_H
#define IMAGE_AUGMIX_H

#include "image/augment_ops.h"

enum { AUGMIX_OPS = 13, AUGMIX_LEVELS = 10, AUGMIX_CHAINS = 8, AUGMIX_DEPTH = 8 };

/* One operation of a chain: index in torchvision's table, level from 0, sign 1 or -1. */
struct augmix_step {
    int op, level, sign;
};

struct augmix {
    int chains, depth[AUGMIX_CHAINS];
    struct augmix_step step[AUGMIX_CHAINS][AUGMIX_DEPTH];
    float original,
        weight[AUGMIX_CHAINS]; /* of the image and of the chains; their sum is 1 */
};

/* Draws chains with levels 0 to severity - 1. */
void augmix_draw(struct augmix *a, struct augment_words *r, int severity, int chains,
                 const struct augment_range *depth);

/* Applies them; the sum is truncated to integers. Uses c->more. */
void augmix_apply(const struct augmix *a, struct policy_canvas *c);

#endif
