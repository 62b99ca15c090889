/* The seed of the loss gradient. Compiled for host and device. */
#ifndef OPS_LOSS_SCALE_FORMULA_H
#define OPS_LOSS_SCALE_FORMULA_H

#include <math.h>

#include "ops/accumulation_formula.h"
#include "ops/control.h"

/* `overflow_at`: the update, from 1, whose gradients are infinite (for tests); 0: none.
 * `separate`: index of the scale in control.own, from 1; 0: control.loss_scale. */
HOST_DEVICE static inline float loss_scale_value(const struct control *c,
                                                 const struct accumulation *a,
                                                 int overflow_at, int separate)
{
    if (overflow_at > 0 && c->step + 1 == overflow_at)
        return INFINITY;
    return accumulation_seed(a, c->micro,
                             separate ? c->scalers[separate - 1].scale : c->loss_scale);
}

#endif
