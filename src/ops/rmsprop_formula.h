/*
 * RMSprop as torch.optim.RMSprop has it (not centered): weight decay is part of the
 * gradient, eps outside the root, momentum over the scaled gradient.
 *
 *   d = g + wd w;  s = alpha s + (1 - alpha) d^2;  v = mu v + d / (sqrt(s) + eps)
 *   w -= lr v
 */
#ifndef OPS_RMSPROP_FORMULA_H
#define OPS_RMSPROP_FORMULA_H

#include "ops/update.h"

struct rmsprop_rule { /* of one segment in one update */
    float lr, weight_decay, momentum, alpha, one_alpha, eps, multiplier, clip;
    int round;
};

HOST_DEVICE static inline struct rmsprop_rule
rmsprop_rule(const struct update *u, const struct update_segment *s,
             const struct control *c, double alpha, double momentum, double eps)
{
    struct rmsprop_rule r;

    r.lr = (float)(c->lr * (double)s->lr_scale);
    r.weight_decay = s->weight_decay;
    r.momentum = (float)momentum;
    r.alpha = (float)alpha;
    r.one_alpha = (float)(1 - alpha);
    r.eps = (float)eps;
    r.multiplier = (float)c->grad_multiplier;
    r.clip = u->clip_value;
    r.round = s->round ? u->round : UPDATE_ROUND_NONE;
    return r;
}

/* `v` is the momentum, zero at first; `s` the mean square. */
HOST_DEVICE static inline void rmsprop_element(float *w, float *v, float *s, float g,
                                               const struct rmsprop_rule *r)
{
    float d = update_gradient(g, r->multiplier, r->clip) + r->weight_decay * *w;

    *s = r->alpha * *s + r->one_alpha * d * d;
    *v = r->momentum * *v + d / (sqrtf(*s) + r->eps);
    *w = update_rounded(*w - r->lr * *v, r->round);
}

#endif
