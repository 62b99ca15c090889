/* Operations of augmentation policies (policy.h), in place on an image. */
#ifndef IMAGE_POLICY_OPS_H
#define IMAGE_POLICY_OPS_H

#include <stdbool.h>
#include <stdint.h>

#include "image/resize.h"
#include "image/warp.h"

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
                 POLICY_OPS,
                 POLICY_IDENTITY = POLICY_OPS
};

struct policy_canvas {
    uint8_t *pixel; /* w * h of RGB, without row padding */
    int w, h;
    uint8_t fill[3];  /* color of pixels from outside */
    uint8_t *scratch; /* same size as the image */
    struct warp_canvas *warp;
    bool gray;                /* the three channels are equal */
    struct warp_canvas *more; /* of operations that call others */
};

/* Meaning of magnitudes 0 to 10 in timm's variants. */
enum policy_levels {
    POLICY_PLAIN,      /* enhance 0.1 + 1.8 m/10, keep 4 m/10 bits, threshold 256 m/10 */
    POLICY_INCREASING, /* enhance 1 +- 0.9 m/10, 4 - 4 m/10 bits, 256 - 256 m/10 */
    POLICY_ORIGINAL,   /* as plain, but keep 4 + 4 m/10 bits */
    POLICY_ORIGINAL_R  /* as plain, but keep 4 - 4 m/10 bits */
};

/* Returns the argument of policy_act() for magnitude m; `sign` is 1 or -1, for operations
 * with a sign. */
double policy_argument(const struct policy_canvas *c, enum policy_op op,
                       enum policy_levels levels, double m, int sign);

/*
 * Applies one operation with its argument: degrees counterclockwise; bits to keep;
 * threshold; addend below 128; factor of an enhancement (1: unchanged); shear factor;
 * shift of the image to the left or upward in pixels. AutoContrast, Equalize, and Invert
 * have none.
 */
void policy_act(struct policy_canvas *c, enum policy_op op, double argument,
                enum resize_filter filter);

#endif
