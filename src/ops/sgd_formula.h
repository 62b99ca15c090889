/*
 * SGD as torch.optim.SGD, dampening 0: weight decay is part of the gradient, and the
 * momentum buffer starts as the first gradient (it is zero before).
 *
 *   d = g + wd w;  v = mu v + d;  w -= lr (nesterov ? d + mu v : v)
 */
#ifndef OPS_SGD_FORMULA_H
#define OPS_SGD_FORMULA_H

#include "ops/update.h"

struct sgd_rule { /* of one segment in one update */
    struct update_rule update;
    float lr, weight_decay, momentum;
    bool nesterov;
};

HOST_DEVICE static inline struct sgd_rule sgd_rule(const struct optimizer_attrs *a,
                                                   const struct update_segment *s,
                                                   const struct control *c)
{
    struct sgd_rule r;

    r.update = update_rule(&a->update, s, c);
    r.lr = (float)update_lr(s, c);
    r.weight_decay = s->weight_decay;
    r.momentum = (float)a->h.momentum;
    r.nesterov = a->h.nesterov;
    return r;
}

/* `v` is the momentum, unused without momentum. */
HOST_DEVICE static inline void sgd_element(float *w, float *v, float *none, float g,
                                           const struct sgd_rule *r)
{
    float d = update_gradient(g, &r->update) + r->weight_decay * *w;

    (void)none;
    if (r->momentum > 0) {
        *v = r->momentum * *v + d;
        d = r->nesterov ? d + r->momentum * *v : *v;
    }
    *w = update_rounded(*w - r->lr * d, r->update.round);
}

#endif
