/*
 * LAMB (You et al., Large Batch Optimization for Deep Learning, 2020) as timm.optim.Lamb:
 * Adam's step with weight decay is the direction u of a tensor, scaled to the norm of the
 * tensor. Its max_grad_norm is TRAIN.CLIP_GRAD. t is update_time().
 *
 *   m += (1 - b1) (g - m);  v = b2 v + (1 - b2) g^2
 *   u = m / (1 - b1^t) / (sqrt(v) / sqrt(1 - b2^t) + eps) + wd w
 *   w -= lr |w| / |u| u
 *
 * The ratio |w| / |u| is 1 if a norm is 0, at most 1 with trust_clip (LAMBC), and 1 for
 * tensors without weight decay unless always_adapt.
 */
#ifndef OPS_LAMB_FORMULA_H
#define OPS_LAMB_FORMULA_H

#include "ops/update.h"

struct lamb_rule { /* of one segment in one update */
    struct update_rule update;
    float lr, weight_decay, inv_correction1, inv_sqrt_correction2, eps, one_minus_beta1,
        beta2, one_minus_beta2;
};

HOST_DEVICE static inline struct lamb_rule lamb_rule(const struct optimizer_attrs *a,
                                                     const struct update_segment *s,
                                                     const struct control *c)
{
    const struct hyperparameters *h = &a->h;
    double t = update_time(s, c);
    struct lamb_rule r;

    r.update = update_rule(&a->update, s, c);
    r.lr = (float)update_lr(s, c);
    r.weight_decay = s->weight_decay;
    r.inv_correction1 = (float)(1 / (1 - pow(h->beta1, t)));
    r.inv_sqrt_correction2 = (float)(1 / sqrt(1 - pow(h->beta2, t)));
    r.eps = (float)h->eps;
    r.one_minus_beta1 = (float)(1 - h->beta1);
    r.beta2 = (float)h->beta2;
    r.one_minus_beta2 = (float)(1 - h->beta2);
    return r;
}

/* Updates the moments; returns u. */
HOST_DEVICE static inline float lamb_direction(float w, float *m, float *v, float g,
                                               const struct lamb_rule *r)
{
    float d = update_gradient(g, &r->update);

    *m += r->one_minus_beta1 * (d - *m);
    *v = r->beta2 * *v + r->one_minus_beta2 * d * d;
    return r->inv_correction1 * *m / (sqrtf(*v) * r->inv_sqrt_correction2 + r->eps) +
           r->weight_decay * w;
}

HOST_DEVICE static inline float lamb_measured(float w, float m, float v, float g,
                                              const struct lamb_rule *r)
{
    return lamb_direction(w, &m, &v, g, r);
}

HOST_DEVICE static inline float lamb_trust(const struct optimizer_attrs *a,
                                           const struct update_segment *s,
                                           const struct control *c, double w, double u)
{
    double ratio = w > 0 && u > 0 ? w / u : 1;

    (void)s, (void)c;
    return (float)(a->h.trust_clip && ratio > 1 ? 1 : ratio);
}

HOST_DEVICE static inline void lamb_element(float *w, float *m, float *v, float g,
                                            const struct lamb_rule *r)
{
    float u = lamb_direction(*w, m, v, g, r);

    *w = update_rounded(*w - r->lr * (r->update.trust * u), r->update.round);
}

#endif
