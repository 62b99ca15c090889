/*
 * The order of an epoch as a pure function: position -> sample. A permutation of 0 .. n-1
 * keyed by (seed, epoch), computed for one position at a time, so a run resumes in the
 * middle of an epoch at no cost, and any rank finds its own samples.
 *
 * It is a Feistel network over the next power of four, whose rounds are Philox with the
 * stream PHILOX_SHUFFLE, walked again while it lands outside 0 .. n-1 (Black and Rogaway,
 * "Ciphers with arbitrary finite domains", CT-RSA 2002).
 */
#ifndef DATASET_SAMPLER_H
#define DATASET_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

struct sampler {
    uint64_t seed, epoch;
    int64_t n;
    bool shuffle; /* false: position i is sample i */
};

/* The sample at a position in 0 .. n-1. */
int64_t sampler_at(const struct sampler *s, int64_t position);

#endif
