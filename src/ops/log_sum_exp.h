/* For the reference of losses over logits. */
#ifndef OPS_LOG_SUM_EXP_H
#define OPS_LOG_SUM_EXP_H

#include <math.h>
#include <stdint.h>

/* log of the sum of exp(z[0..n-1]), without overflow; NaN if one of them is. */
static inline double log_sum_exp(const float *z, int64_t n)
{
    double top = z[0], sum;

    for (int64_t k = 1; k < n; k++)
        if (z[k] > top)
            top = z[k];
    sum = exp(z[0] - top);
    for (int64_t k = 1; k < n; k++)
        sum += exp(z[k] - top);
    return top + log(sum);
}

#endif
