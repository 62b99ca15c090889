/* An element of ops/grads_join.h. Compiled for host and device. */
#ifndef OPS_GRADS_JOIN_FORMULA_H
#define OPS_GRADS_JOIN_FORMULA_H

#include "base/hostdev.h"
#include "ops/control.h"

/* Returns the factor that unscales the gradients of loss k. */
HOST_DEVICE static inline float grads_join_unscale(const struct control *c, int k)
{
    return (float)(1 / c->scalers[k].scale);
}

/* Adds the unscaled gradient of the next loss to the sum; both operations are rounded. */
HOST_DEVICE static inline float grads_join_add(float sum, float g, float unscale)
{
    float x = g * unscale;

    return sum + x;
}

#endif
