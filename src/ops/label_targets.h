/*
 * For the references of losses: the target of each class of each sample, from int32
 * labels with smoothing and, after mixup or cutmix, the label of the partner.
 *
 *   target = on at the label, off elsewhere; on = 1 - e + e/K, off = e/K, e = smoothing
 *   with lam: lam target(label_i) + (1 - lam) target(label_{N-1-i})
 */
#ifndef OPS_LABEL_TARGETS_H
#define OPS_LABEL_TARGETS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct label_targets {
    const int32_t *label;
    const float *lam; /* or NULL */
    int64_t samples, classes;
    double smoothing;
};

/* A sample counts if its label is not -1 (with lam: nor its partner's). */
static inline bool label_valid(const struct label_targets *t, int64_t i)
{
    int32_t own = t->label[i], partner = t->label[t->samples - 1 - i];

    if (own >= t->classes || own < -1)
        BUG("label %d of %lld classes", own, (long long)t->classes);
    return own >= 0 && (!t->lam || partner >= 0);
}

static inline int64_t label_count_valid(const struct label_targets *t)
{
    int64_t n = 0;

    for (int64_t i = 0; i < t->samples; i++)
        n += label_valid(t, i);
    return n;
}

static inline double label_target(const struct label_targets *t, int64_t i, int64_t k)
{
    double off = t->smoothing / (double)t->classes, on = 1 - t->smoothing;
    double lam = t->lam ? (double)t->lam[i] : 1, sum = off;

    if (t->label[i] == k)
        sum += lam * on;
    if (t->lam && t->label[t->samples - 1 - i] == k)
        sum += (1 - lam) * on;
    return sum;
}

#endif
