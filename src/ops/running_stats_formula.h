/*
 * One element of a running statistic; the meaning is in ops/running_stats.h.
 * Compiled for host and device.
 */
#ifndef OPS_RUNNING_STATS_FORMULA_H
#define OPS_RUNNING_STATS_FORMULA_H

#include "base/hostdev.h"

HOST_DEVICE static inline float running_stats_element(float base, float batch,
                                                      float momentum, float scale)
{
    return (1 - momentum) * base + momentum * (scale * batch);
}

#endif
