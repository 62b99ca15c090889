/*
 * Calibrates the ranges of 8-bit activations by running the float net on some images. The
 * first pass finds the largest magnitude of each tensor, the second builds a histogram of
 * magnitudes up to it, and a calibrator then chooses where to clip.
 *
 *   struct calibration c = {0};
 *   calibration_add_largest(&c, x, n);      for all images, then
 *   calibration_count(&c, x, n);            for all images
 *   scale = calibrator_find("entropy")->range(&c, 127, percentile) / 127
 *
 * A new calibrator is a row in calibrate.c.
 */
#ifndef TRAIN_CALIBRATE_H
#define TRAIN_CALIBRATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/names.h"

enum { CALIBRATION_BINS = 2048 };

struct calibration {
    double max_abs; /* the largest |x| */
    int64_t bin[CALIBRATION_BINS], n;
    int64_t bad; /* number of values that are not finite */
};

void calibration_add_largest(struct calibration *c, const float *x, int64_t n);
void calibration_count(struct calibration *c, const float *x, int64_t n);

struct calibrator {
    const char *name; /* QUANT.METHOD */
    const char *help;
    /* Returns the magnitude that maps to the last of `levels` steps above zero; larger
     * magnitudes are clipped to it. Returns 0 if all values are zero. */
    double (*range)(const struct calibration *c, int levels, double percentile);
    const char *const *reads; /* keys that only some calibrators read; NULL: none */
};

extern const struct names calibrator_names;
const struct calibrator *calibrator_find(const char *name); /* NULL if unknown */

#endif
