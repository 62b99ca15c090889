/*
 * One sample of the conditional ordinal distribution (ops/corn.h), for kernels on host and
 * device; in double, since sums over classes are sequential.
 */
#ifndef OPS_CORN_FORMULA_H
#define OPS_CORN_FORMULA_H

#include <math.h>
#include <stdint.h>

#include "base/hostdev.h"

/* log(1 + exp(x)) without overflow; NaN for NaN. */
HOST_DEVICE static inline double corn_softplus(double x)
{
    return (x > 0 ? x : x < 0 ? 0 : x) + log1p(exp(-fabs(x)));
}

/* Writes the log probabilities of `classes` classes, from classes - 1 logits. */
HOST_DEVICE static inline void corn_row(const float *z, int64_t classes, float *y)
{
    double reached = 0; /* log P(class >= k) */

    for (int64_t k = 0; k < classes - 1; k++) {
        y[k] = (float)(reached - corn_softplus((double)z[k]));
        reached -= corn_softplus(-(double)z[k]);
    }
    y[classes - 1] = (float)reached;
}

/* Writes the gradient of the logits from that of the log probabilities. */
HOST_DEVICE static inline void corn_row_grad(const float *z, const float *dy,
                                             int64_t classes, float *dz)
{
    double above = (double)dy[classes - 1]; /* sum of dy over the classes above k */

    for (int64_t k = classes - 1; k-- > 0;) {
        double up = 1 / (1 + exp(-(double)z[k])), stay = 1 / (1 + exp((double)z[k]));

        dz[k] = (float)(above * stay - (double)dy[k] * up);
        above += (double)dy[k];
    }
}

#endif
