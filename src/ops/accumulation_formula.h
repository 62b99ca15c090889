/*
 * Gradient accumulation: groups the batches of a run into updates, as a function of
 * control.micro, the number of the batch in the run.
 *
 * An epoch of 10 batches with groups of 4 has the updates 0-3, 4-7, and 8-9. The gradient
 * of each is the mean over its batches, as in timm's train.py.
 *
 * Compiled for host and device.
 */
#ifndef OPS_ACCUMULATION_FORMULA_H
#define OPS_ACCUMULATION_FORMULA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hostdev.h"

struct accumulation {
    int group;   /* maximum batches per update; 0 and 1: no accumulation */
    int batches; /* per epoch, whose last group may be smaller; 0: epochs do not end */
};

HOST_DEVICE static inline int64_t accumulation_in_epoch(const struct accumulation *a,
                                                        int64_t micro)
{
    return a->batches > 0 ? micro % a->batches : micro;
}

/* True if batch `micro` is the first of its update. */
HOST_DEVICE static inline bool accumulation_begins(const struct accumulation *a,
                                                   int64_t micro)
{
    return a->group <= 1 || accumulation_in_epoch(a, micro) % a->group == 0;
}

HOST_DEVICE static inline bool accumulation_ends(const struct accumulation *a,
                                                 int64_t micro)
{
    return accumulation_begins(a, micro + 1);
}

/* Returns the number of batches in the update of batch `micro`. */
HOST_DEVICE static inline int accumulation_size(const struct accumulation *a,
                                                int64_t micro)
{
    int64_t in = accumulation_in_epoch(a, micro), left;

    if (a->group <= 1)
        return 1;
    left = a->batches - (in - in % a->group);
    return a->batches > 0 && left < a->group ? (int)left : a->group;
}

/* Returns the seed of the loss gradient, so that the sum over the update is a mean. */
HOST_DEVICE static inline float accumulation_seed(const struct accumulation *a,
                                                  int64_t micro, double loss_scale)
{
    return (float)(loss_scale / accumulation_size(a, micro));
}

/* Returns the updates of an epoch; below, the first batch of update `step` of the run. */
HOST_DEVICE static inline int64_t accumulation_updates(const struct accumulation *a)
{
    return a->group <= 1 ? a->batches : (a->batches + a->group - 1) / a->group;
}

HOST_DEVICE static inline int64_t accumulation_micro(const struct accumulation *a,
                                                     int64_t step)
{
    int64_t updates = accumulation_updates(a);
    int64_t group = a->group > 1 ? a->group : 1;

    return updates > 0 ? step / updates * a->batches + step % updates * group
                       : step * group;
}

#endif
