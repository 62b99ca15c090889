/*
 * The values that become black and white, for samples with more than 8 bits.
 *
 *   "auto"      integers: the range of their type; floats: the image's minimum and maximum
 *   "LO,HI"     these two
 *   "LO%,HI%"   these two percentiles of the image's values
 */
#ifndef BASE_VALUE_RANGE_H
#define BASE_VALUE_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum value_range_kind { RANGE_AUTO, RANGE_LIMITS, RANGE_PERCENTILES };

struct value_range {
    enum value_range_kind kind;
    double lo, hi;
};

/* Returns false if it is none of the three, or if LO is not below HI. */
bool value_range_parse(const char *text, struct value_range *r);

/* Gets the two values for an image with these n values; AUTO as for floats. hi > lo. */
void value_range_of(const struct value_range *r, const float *values, size_t n,
                    double *lo, double *hi);

/* hi and above becomes 255; lo and below, and NaN, become 0. */
static inline uint8_t value_range_byte(double v, double lo, double hi)
{
    double t = (v - lo) / (hi - lo) * 255 + 0.5;

    return (uint8_t)(t >= 255 ? 255 : t > 0 ? t : 0);
}

#endif
