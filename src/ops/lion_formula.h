/*
 * Lion (Chen et al., Symbolic Discovery of Optimization Algorithms, 2023) as
 * timm.optim.Lion: the step is a sign, and weight decay is decoupled.
 *
 *   w *= 1 - lr wd;  w -= lr sign(m + (1 - b1) (g - m));  m += (1 - b2) (g - m)
 */
#ifndef OPS_LION_FORMULA_H
#define OPS_LION_FORMULA_H

#include "ops/update.h"

struct lion_rule { /* of one segment in one update */
    struct update_rule update;
    float lr, decay, one_minus_beta1, one_minus_beta2;
};

HOST_DEVICE static inline struct lion_rule lion_rule(const struct optimizer_attrs *a,
                                                     const struct update_segment *s,
                                                     const struct control *c)
{
    double lr = update_lr(s, c);
    struct lion_rule r;

    r.update = update_rule(&a->update, s, c);
    r.lr = (float)lr;
    r.decay = (float)(1 - lr * (double)s->weight_decay);
    r.one_minus_beta1 = (float)(1 - a->h.beta1);
    r.one_minus_beta2 = (float)(1 - a->h.beta2);
    return r;
}

HOST_DEVICE static inline void lion_element(float *w, float *m, float *none, float g,
                                            const struct lion_rule *r)
{
    float d = update_gradient(g, &r->update) - *m, step = *m + r->one_minus_beta1 * d;

    (void)none;
    step = step > 0 ? r->lr : step < 0 ? -r->lr : 0;
    *m += r->one_minus_beta2 * d;
    *w = update_rounded(r->decay * *w - step, r->update.round);
}

#endif
