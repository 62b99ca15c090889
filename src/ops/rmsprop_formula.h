/*
 * RMSprop as torch.optim.RMSprop (not centered): weight decay is part of the gradient,
 * eps is outside the root, momentum is applied to the scaled gradient.
 *
 *   d = g + wd w;  s = alpha s + (1 - alpha) d^2;  v = mu v + d / (sqrt(s) + eps)
 *   w -= lr v
 */
#ifndef OPS_RMSPROP_FORMULA_H
#define OPS_RMSPROP_FORMULA_H

#include "ops/update.h"

struct rmsprop_rule { /* of one segment in one update */
    struct update_rule update;
    float lr, weight_decay, momentum, alpha, one_alpha, eps;
};

HOST_DEVICE static inline struct rmsprop_rule
rmsprop_rule(const struct optimizer_attrs *a, const struct update_segment *s,
             const struct control *c)
{
    struct rmsprop_rule r;

    r.update = update_rule(&a->update, s, c);
    r.lr = (float)update_lr(s, c);
    r.weight_decay = s->weight_decay;
    r.momentum = (float)a->h.momentum;
    r.alpha = (float)a->h.alpha;
    r.one_alpha = (float)(1 - a->h.alpha);
    r.eps = (float)a->h.eps;
    return r;
}

/* `v` is the momentum, `s` the mean square. */
HOST_DEVICE static inline void rmsprop_element(float *w, float *v, float *s, float g,
                                               const struct rmsprop_rule *r)
{
    float d = update_gradient(g, &r->update) + r->weight_decay * *w;

    *s = r->alpha * *s + r->one_alpha * d * d;
    *v = r->momentum * *v + d / (sqrtf(*s) + r->eps);
    *w = update_rounded(*w - r->lr * *v, r->update.round);
}

#endif
