/*
 * One element of the multi-label loss (ops/multilabel_loss.h), for kernels on host and
 * device. With p = sigmoid(z), q = 1 - p, and s = max(p - clip, 0):
 *
 *   positive  L+ = -log(p) q^gamma_pos        dL+/dz = -q^gamma_pos (q - gamma_pos p log(p))
 *   negative  L- = -log(1 - s) s^gamma_neg    dL-/dz = p q (s^gamma_neg / (1 - s)
 *                                              - gamma_neg s^(gamma_neg - 1) log(1 - s))
 */
#ifndef OPS_MULTILABEL_FORMULA_H
#define OPS_MULTILABEL_FORMULA_H

#include <math.h>
#ifndef __cplusplus
#include <stdbool.h>
#endif
#include <stdint.h>

#include "base/hostdev.h"

enum { MULTILABEL_UNKNOWN = 255, MULTILABEL_WEIGHTS = 256 };

struct multilabel_rule {
    float gamma_pos, gamma_neg, clip, smoothing;
    int weighted; /* reads `weight` */
    float weight[MULTILABEL_WEIGHTS];
};

/* Returns the target of an element, or -1 if it is unknown. `partner` is the target of the
 * image that is mixed in with weight 1 - lam. */
HOST_DEVICE static inline float multilabel_target(const struct multilabel_rule *r,
                                                  uint8_t target, uint8_t partner,
                                                  float lam)
{
    float y;

    if (target == MULTILABEL_UNKNOWN || (lam < 1 && partner == MULTILABEL_UNKNOWN))
        return -1;
    y = lam < 1 ? lam * (float)target + (1 - lam) * (float)partner : (float)target;
    return y * (1 - r->smoothing) + r->smoothing / 2;
}

/* The labels and targets of a batch; `lam` is NULL without a mix. */
struct multilabel_targets {
    const int32_t *label;  /* [samples]; -1: invalid */
    const uint8_t *target; /* [samples, classes] */
    const float *lam;      /* [samples] */
    int64_t samples, classes;
};

HOST_DEVICE static inline bool multilabel_valid(const struct multilabel_targets *t,
                                                int64_t i)
{
    return t->label[i] >= 0 && (!t->lam || t->label[t->samples - 1 - i] >= 0);
}

/* Returns the target of class k of sample i, mixed and smoothed; -1 if it adds nothing. */
HOST_DEVICE static inline float multilabel_target_of(const struct multilabel_rule *r,
                                                     const struct multilabel_targets *t,
                                                     int64_t i, int64_t k)
{
    if (!multilabel_valid(t, i))
        return -1;
    return multilabel_target(r, t->target[i * t->classes + k],
                             t->target[(t->samples - 1 - i) * t->classes + k],
                             t->lam ? t->lam[i] : 1);
}

/* x^gamma; 1 for gamma 0, NaN for NaN. */
HOST_DEVICE static inline float multilabel_power(float x, float gamma)
{
    return gamma == 0 ? 1 + 0 * x : gamma == 1 ? x : powf(x, gamma);
}

/* log(1 + exp(z)) without overflow. */
HOST_DEVICE static inline float multilabel_softplus(float z)
{
    return (z > 0 ? z : z < 0 ? 0 : z) + log1pf(expf(-fabsf(z)));
}

HOST_DEVICE static inline float
multilabel_positive_weight(const struct multilabel_rule *r, int64_t k)
{
    return r->weighted ? r->weight[k] : 1;
}

HOST_DEVICE static inline float multilabel_element(const struct multilabel_rule *r,
                                                   int64_t k, float z, float y)
{
    float p = 1 / (1 + expf(-z)), q = 1 / (1 + expf(z)), s = p - r->clip;
    float positive = multilabel_softplus(-z) * multilabel_power(q, r->gamma_pos);
    float negative = s <= 0
                         ? 0
                         : (r->clip > 0 ? -logf(q + r->clip) : multilabel_softplus(z)) *
                               multilabel_power(s, r->gamma_neg);

    return multilabel_positive_weight(r, k) * y * positive + (1 - y) * negative;
}

HOST_DEVICE static inline float multilabel_derivative(const struct multilabel_rule *r,
                                                      int64_t k, float z, float y)
{
    float p = 1 / (1 + expf(-z)), q = 1 / (1 + expf(z)), s = p - r->clip;
    float positive = -multilabel_power(q, r->gamma_pos) *
                     (q + r->gamma_pos * p * multilabel_softplus(-z));
    float negative = 0;

    if (!(s <= 0)) {
        float power = multilabel_power(s, r->gamma_neg);
        float loss = r->clip > 0 ? -logf(q + r->clip) : multilabel_softplus(z);

        /* q / (1 - s) is 1 without a clip, where q may underflow */
        negative = p * power * (r->clip > 0 ? q / (q + r->clip) : 1) +
                   r->gamma_neg * p * q * power / s * loss;
    }
    return multilabel_positive_weight(r, k) * y * positive + (1 - y) * negative;
}

#endif
