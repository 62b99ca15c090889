/*
 * SGD as torch.optim.SGD has it, dampening 0: weight decay is part of the gradient, the
 * momentum buffer starts as the first gradient (it is zero before that).
 *
 *   d = g + wd w;  v = mu v + d;  w -= lr (nesterov ? d + mu v : v)
 */
#ifndef OPS_SGD_FORMULA_H
#define OPS_SGD_FORMULA_H

#include "ops/update.h"

struct sgd_rule { /* of one segment in one update */
    float lr, weight_decay, momentum, multiplier, clip;
    bool nesterov;
    int round;
};

HOST_DEVICE static inline struct sgd_rule sgd_rule(const struct update *u,
                                                   const struct update_segment *s,
                                                   const struct control *c,
                                                   float momentum, bool nesterov)
{
    struct sgd_rule r;

    r.lr = (float)(c->lr * (double)s->lr_scale);
    r.weight_decay = s->weight_decay;
    r.momentum = momentum;
    r.multiplier = (float)c->grad_multiplier;
    r.clip = u->clip_value;
    r.nesterov = nesterov;
    r.round = s->round ? u->round : UPDATE_ROUND_NONE;
    return r;
}

/* `v` is the momentum; it is zero and stays so when momentum is 0. */
HOST_DEVICE static inline void sgd_element(float *w, float *v, float g,
                                           const struct sgd_rule *r)
{
    float d = update_gradient(g, r->multiplier, r->clip) + r->weight_decay * *w;

    if (r->momentum > 0) {
        *v = r->momentum * *v + d;
        d = r->nesterov ? d + r->momentum * *v : *v;
    }
    *w = update_rounded(*w - r->lr * d, r->round);
}

#endif
