/*
 * Ranges of activations for 8 bits, from what a net in floats makes of some images. Two
 * passes: the largest magnitude of each tensor, then a histogram of magnitudes up to it;
 * a calibrator then says where to cut.
 *
 *   struct calibration c = {0};
 *   calibration_add_largest(&c, x, n);        as often as needed, then
 *   calibration_count(&c, x, n);       as often as needed
 *   scale = calibrator_find("entropy")->range(&c, 127, &options) / 127
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
    double most; /* the largest |x| */
    int64_t bin[CALIBRATION_BINS], n;
    int64_t bad; /* values that are not finite, which are not counted */
};

void calibration_add_largest(struct calibration *c, const float *x, int64_t n);
void calibration_count(struct calibration *c, const float *x, int64_t n);

struct calibrator {
    const char *name; /* QUANT.METHOD */
    const char *help;
    /* The magnitude that becomes the last of `levels` steps above zero; what is larger is
     * clipped to it. 0: all values are zero. */
    double (*range)(const struct calibration *c, int levels, double percentile);
    const char *const *reads; /* keys that others do not read */
};

extern const struct names calibrator_names;
const struct calibrator *calibrator_find(const char *name); /* NULL: none */

#endif
