/*
 * The rank of a label among the logits of its sample (the number of logits that beat it),
 * and the other sums of a run. For host and device; see ops/metrics.h.
 */
#ifndef OPS_METRICS_FORMULA_H
#define OPS_METRICS_FORMULA_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/hostdev.h"
#include "ops/control.h"

enum { METRICS_TOP = 5 };

/* True if logit `other` at index k beats `correct` at index label. A NaN beats everything as
 * `other` and nothing as `correct`. */
HOST_DEVICE static inline bool metrics_beats(float other, int64_t k, float correct,
                                             int64_t label)
{
    return k != label && (!(other <= correct) || (other >= correct && k < label));
}

HOST_DEVICE static inline int64_t metrics_rank(const float *logit, int64_t classes,
                                               int64_t label)
{
    int64_t rank = logit[label] >= logit[label] ? 0 : classes; /* NaN: last */

    for (int64_t k = 0; k < classes; k++)
        rank += metrics_beats(logit[k], k, logit[label], label);
    return rank;
}

/* Adds a run of `count` samples whose weights sum to `weight`, with this mean loss. */
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
