/*
 * The rank of a label among the logits of its sample: how many logits beat it; and what a
 * run adds beside its hits. For host and device; see ops/metrics.h.
 */
#ifndef OPS_METRICS_FORMULA_H
#define OPS_METRICS_FORMULA_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/hostdev.h"
#include "ops/control.h"

enum { METRICS_TOP = 5 };

/* Does logit `other` at index k beat `own` at index label? NaN beats, and never wins. */
HOST_DEVICE static inline bool metrics_beats(float other, int64_t k, float own,
                                             int64_t label)
{
    return k != label && (!(other <= own) || (other >= own && k < label));
}

HOST_DEVICE static inline int64_t metrics_rank(const float *logit, int64_t classes,
                                               int64_t label)
{
    int64_t rank = logit[label] >= logit[label] ? 0 : classes; /* NaN: last */

    for (int64_t k = 0; k < classes; k++)
        rank += metrics_beats(logit[k], k, logit[label], label);
    return rank;
}

/* A run of `count` samples whose weights add up to `weight`, with this mean loss. */
HOST_DEVICE static inline void metrics_count(struct metrics *m, int64_t count,
                                             double weight, float loss)
{
    m->count += count;
    m->runs++;
    if (!isfinite(loss)) {
        m->nonfinite++;
        return;
    }
    m->loss_sum += (double)loss * weight;
    m->measured += weight;
}

#endif
