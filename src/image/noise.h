/* Gaussian noise on an image, in place. */
#ifndef IMAGE_NOISE_H
#define IMAGE_NOISE_H

#include <stdint.h>

#include "image/policy_ops.h"

/*
 * Adds N(0, std) to every value, rounds, and clips to 0..255; std in gray levels. The
 * same noise goes to all channels of a gray image. The deviates are 4096 equally likely
 * quantiles. The same seed gives the same noise.
 */
void noise_gaussian(struct policy_canvas *c, double std, uint64_t seed);

#endif
