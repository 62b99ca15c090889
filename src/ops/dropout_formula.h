/*
 * Masks of dropout and drop_path, for host and device: functions of seed, run, layer, and
 * element, never of threads or processes: images and their elements are numbered in the
 * batch of all processes (ops/share.h). Four elements share one Philox block, so a kernel
 * that walks in order makes one call per four elements.
 */
#ifndef OPS_DROPOUT_FORMULA_H
#define OPS_DROPOUT_FORMULA_H

#include "base/philox.h"

/* Element i in stored order: word i % 4 of the block of i / 4. */
HOST_DEVICE static inline struct philox dropout_block(uint64_t seed, uint64_t micro,
                                                      uint32_t salt, uint64_t block)
{
    return philox(seed, PHILOX_DROPOUT, micro, (uint64_t)salt << 32 ^ block);
}

/* 0, or 1 / (1 - rate) */
HOST_DEVICE static inline float dropout_factor(uint32_t word, float rate)
{
    return philox_uniform(word) < rate ? 0 : 1 / (1 - rate);
}

HOST_DEVICE static inline float drop_path_factor(uint64_t seed, uint64_t micro,
                                                 uint32_t salt, uint64_t sample,
                                                 float rate)
{
    struct philox r =
        philox(seed, PHILOX_DROP_PATH, micro, (uint64_t)salt << 32 ^ sample);

    return dropout_factor(r.v[0], rate);
}

/* Channel c of sample n has number n * channels + c; four share a block, as elements do. */
HOST_DEVICE static inline float dropout2d_factor(uint64_t seed, uint64_t micro,
                                                 uint32_t salt, uint64_t number,
                                                 float rate)
{
    struct philox r = dropout_block(seed, micro, salt, number / 4);

    return dropout_factor(r.v[number % 4], rate);
}

#endif
