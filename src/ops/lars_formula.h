/*
 * LARS (You et al., Large Batch Training of Convolutional Networks, 2017) as
 * timm.optim.Lars, dampening 0: SGD with momentum over gradients that are scaled to
 * trust_coeff times the norm of their tensor.
 *
 *   d = ratio (g + wd w);  v = mu v + d;  w -= lr (nesterov ? d + mu v : v)
 *   ratio = trust_coeff |w| / (|g| + wd |w| + eps)
 *
 * The ratio is 1 if a norm is 0, min(ratio / lr, 1) with trust_clip (LARC), and 1 for
 * tensors without weight decay unless always_adapt.
 */
#ifndef OPS_LARS_FORMULA_H
#define OPS_LARS_FORMULA_H

#include "ops/update.h"

struct lars_rule { /* of one segment in one update */
    struct update_rule update;
    float lr, weight_decay, momentum;
    bool nesterov;
};

HOST_DEVICE static inline struct lars_rule lars_rule(const struct optimizer_attrs *a,
                                                     const struct update_segment *s,
                                                     const struct control *c)
{
    struct lars_rule r;

    r.update = update_rule(&a->update, s, c);
    r.lr = (float)update_lr(s, c);
    r.weight_decay = s->weight_decay;
    r.momentum = (float)a->h.momentum;
    r.nesterov = a->h.nesterov;
    return r;
}

HOST_DEVICE static inline float lars_measured(float w, float v, float none, float g,
                                              const struct lars_rule *r)
{
    (void)w, (void)v, (void)none;
    return update_gradient(g, &r->update);
}

HOST_DEVICE static inline float lars_trust(const struct optimizer_attrs *a,
                                           const struct update_segment *s,
                                           const struct control *c, double w, double g)
{
    double ratio = 1;

    if (w > 0 && g > 0)
        ratio = a->h.trust_coeff * w / (g + w * (double)s->weight_decay + a->h.eps);
    if (a->h.trust_clip)
        ratio = ratio < update_lr(s, c) ? ratio / update_lr(s, c) : 1;
    return (float)ratio;
}

/* `v` is the momentum, unused without momentum. */
HOST_DEVICE static inline void lars_element(float *w, float *v, float *none, float g,
                                            const struct lars_rule *r)
{
    float d = r->update.trust * (update_gradient(g, &r->update) + r->weight_decay * *w);

    (void)none;
    if (r->momentum > 0) {
        *v = r->momentum * *v + d;
        d = r->nesterov ? d + r->momentum * *v : *v;
    }
    *w = update_rounded(*w - r->lr * d, r->update.round);
}

#endif
