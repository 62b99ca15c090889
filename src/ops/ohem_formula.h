/*
 * Selects the rows that ohem (ops/ohem.h) keeps, for host and device. Losses are at least
 * 0, so their bits as integers have their order, and an order statistic is found byte by
 * byte.
 */
#ifndef OPS_OHEM_FORMULA_H
#define OPS_OHEM_FORMULA_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/hostdev.h"

HOST_DEVICE static inline uint32_t ohem_bits(float loss)
{
    uint32_t bits;

    memcpy(&bits, &loss, sizeof(bits));
    return bits;
}

HOST_DEVICE static inline float ohem_loss(uint32_t bits)
{
    float loss;

    memcpy(&loss, &bits, sizeof(loss));
    return loss;
}

/* A loss that rounding has made negative becomes 0; NaN stays. */
HOST_DEVICE static inline float ohem_row(float lse, float z)
{
    float loss = lse - z;

    return loss < 0 ? 0 : loss;
}

HOST_DEVICE static inline float ohem_cut(float thresh)
{
    return -logf(thresh);
}

/* Returns the minimum number of rows kept out of the valid ones. */
HOST_DEVICE static inline int64_t ohem_least(int64_t valid, float min_share)
{
    int64_t n = (int64_t)((double)valid * (double)min_share);

    return n < 1 ? valid > 0 : n;
}

/* Returns the weight of a row with this loss among the kept ones. */
HOST_DEVICE static inline float ohem_weight(float loss, float cut, float tie)
{
    if (loss < 0)
        return 0;
    return loss > cut || loss != loss ? 1 : loss == cut ? tie : 0;
}

#endif
