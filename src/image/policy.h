/*
 * RandAugment in timm's dialect (Cubuk et al. 2019, arXiv 1909.13719; timm
 * data/auto_augment.py): n operations per picture, drawn with replacement from 15, each
 * applied with probability p at a magnitude of N(m, mstd), cut to 0 .. mmax.
 *
 * "rand-m9-mstd0.5-inc1" is read as timm reads it: parts behind dashes, in any order,
 *   mN magnitude (10)   nN operations (2)   pP probability (0.5)   mmaxN bound (10)
 *   mstdS deviation of the magnitude (0; above 100: uniform in 0 .. m)
 *   incN  operations that grow stronger with the magnitude, whatever N is
 */
#ifndef IMAGE_POLICY_H
#define IMAGE_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "image/augment.h"
#include "image/resize.h"
#include "image/warp.h"

struct policy {
    int ops; /* per picture; 0: no policy */
    double magnitude, deviation, bound, probability;
    bool increasing;
};

/* "", "none" and "None" are no policy. -1 and a reason if the text is not understood. */
int policy_parse(struct policy *p, const char *text, struct strbuf *why);

enum policy_op { /* in timm's order */
                 POLICY_AUTO_CONTRAST,
                 POLICY_EQUALIZE,
                 POLICY_INVERT,
                 POLICY_ROTATE,
                 POLICY_POSTERIZE,
                 POLICY_SOLARIZE,
                 POLICY_SOLARIZE_ADD,
                 POLICY_COLOR,
                 POLICY_CONTRAST,
                 POLICY_BRIGHTNESS,
                 POLICY_SHARPNESS,
                 POLICY_SHEAR_X,
                 POLICY_SHEAR_Y,
                 POLICY_TRANSLATE_X,
                 POLICY_TRANSLATE_Y,
                 POLICY_OPS
};

struct policy_canvas {
    uint8_t *pixel; /* w * h of RGB, no padding */
    int w, h;
    uint8_t fill[3];  /* what comes in from outside */
    uint8_t *scratch; /* as many bytes as the picture */
    struct warp_canvas *warp;
};

/* One operation at magnitude m (of 10); `sign` is 1 or -1 where the operation has one. */
void policy_apply_op(struct policy_canvas *c, enum policy_op op, bool increasing,
                     double m, int sign, enum resize_filter filter);

/* All of them for a sample. filter: bicubic or bilinear; filter_random: drawn for each.
 */
void policy_apply(const struct policy *p, const struct augment_key *k,
                  struct policy_canvas *c, enum resize_filter filter, bool filter_random);

#endif
