/*
 * Adam and AdamW as in torch.optim (no amsgrad). In Adam, weight decay is part of the
 * gradient; AdamW (Loshchilov and Hutter, 2019) shrinks the weight separately. t is
 * update_time().
 *
 *   Adam:  g += wd w        AdamW:  w *= 1 - lr wd
 *   m += (1 - b1) (g - m);  v = b2 v + (1 - b2) g^2
 *   w -= lr / (1 - b1^t) m / (sqrt(v) / sqrt(1 - b2^t) + eps)
 */
#ifndef OPS_ADAM_FORMULA_H
#define OPS_ADAM_FORMULA_H

#include "ops/update.h"

struct adam_rule { /* of one segment in one update */
    struct update_rule update;
    float step_size, inv_sqrt_correction2, eps, one_minus_beta1, beta2, one_minus_beta2;
    float weight_decay_l2, decay; /* Adam's weight decay; AdamW's factor 1 - lr wd */
};

HOST_DEVICE static inline struct adam_rule adam_rule(const struct optimizer_attrs *a,
                                                     const struct update_segment *s,
                                                     const struct control *c)
{
    const struct hyperparameters *h = &a->h;
    double t = update_time(s, c), lr = update_lr(s, c);
    double wd = (double)s->weight_decay;
    struct adam_rule r;

    r.update = update_rule(&a->update, s, c);
    r.step_size = (float)(lr / (1 - pow(h->beta1, t)));
    r.inv_sqrt_correction2 = (float)(1 / sqrt(1 - pow(h->beta2, t)));
    r.eps = (float)h->eps;
    r.one_minus_beta1 = (float)(1 - h->beta1);
    r.beta2 = (float)h->beta2;
    r.one_minus_beta2 = (float)(1 - h->beta2);
    r.weight_decay_l2 = a->decoupled ? 0 : (float)wd;
    r.decay = a->decoupled ? (float)(1 - lr * wd) : 1;
    return r;
}

HOST_DEVICE static inline void adam_element(float *w, float *m, float *v, float g,
                                            const struct adam_rule *r)
{
    float d = update_gradient(g, &r->update) + r->weight_decay_l2 * *w;
    float denominator;

    *m += r->one_minus_beta1 * (d - *m);
    *v = r->beta2 * *v + r->one_minus_beta2 * d * d;
    denominator = sqrtf(*v) * r->inv_sqrt_correction2 + r->eps;
    *w = update_rounded(r->decay * *w - r->step_size * *m / denominator, r->update.round);
}

#endif
