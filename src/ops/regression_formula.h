/*
 * One element of the regression losses (ops/regression_loss.h), for kernels on host and
 * device. With the error e = z - (y - mean) / std:
 *
 *   l2         e^2                                                  slope 2 e
 *   l1         |e|                                                  slope sign(e)
 *   huber      e^2 / 2         if |e| < delta, else delta (|e| - delta / 2)
 *   smooth_l1  e^2 / (2 delta) if |e| < delta, else |e| - delta / 2
 */
#ifndef OPS_REGRESSION_FORMULA_H
#define OPS_REGRESSION_FORMULA_H

#include <math.h>
#ifndef __cplusplus
#include <stdbool.h>
#endif
#include <stdint.h>

#include "base/hostdev.h"

enum regression_kind {
    REGRESSION_L2,
    REGRESSION_L1,
    REGRESSION_HUBER,
    REGRESSION_SMOOTH_L1,
    REGRESSION_KINDS
};

struct regression_rule {
    int kind;    /* enum regression_kind */
    float delta; /* of huber and smooth_l1, above 0 */
};

/* The targets of a batch; `lam` is NULL without a mix. */
struct regression_targets {
    const int32_t *label;    /* [samples]; -1: invalid */
    const float *target;     /* [samples, targets] */
    const float *mean, *std; /* [targets] */
    const float *lam;        /* [samples] */
    int64_t samples, targets;
};

HOST_DEVICE static inline bool regression_valid(const struct regression_targets *t,
                                                int64_t i)
{
    return t->label[i] >= 0 && (!t->lam || t->label[t->samples - 1 - i] >= 0);
}

/* Returns e of output z for target k of a valid sample i. */
HOST_DEVICE static inline float regression_error(const struct regression_targets *t,
                                                 int64_t i, int64_t k, float z)
{
    float y = t->target[i * t->targets + k];

    if (t->lam && t->lam[i] < 1) {
        float partner = t->target[(t->samples - 1 - i) * t->targets + k];

        y = t->lam[i] * y + (1 - t->lam[i]) * partner;
    }
    return z - (y - t->mean[k]) / t->std[k];
}

HOST_DEVICE static inline float regression_element(const struct regression_rule *r,
                                                   float e)
{
    float size = fabsf(e);

    if (r->kind == REGRESSION_L2)
        return e * e;
    if (r->kind == REGRESSION_L1)
        return size;
    if (r->kind == REGRESSION_HUBER)
        return size < r->delta ? e * e / 2 : r->delta * (size - r->delta / 2);
    return size < r->delta ? e * e / (2 * r->delta) : size - r->delta / 2;
}

HOST_DEVICE static inline float regression_slope(const struct regression_rule *r, float e)
{
    float sign = e > 0 ? 1 : e < 0 ? -1 : e; /* NaN for NaN */

    if (r->kind == REGRESSION_L2)
        return 2 * e;
    if (r->kind == REGRESSION_L1)
        return sign;
    if (r->kind == REGRESSION_HUBER)
        return fabsf(e) < r->delta ? e : r->delta * sign;
    return fabsf(e) < r->delta ? e / r->delta : sign;
}

#endif
