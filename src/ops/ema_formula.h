/*
 * Exponential moving average of an element: e = decay e + (1 - decay) w, written so that
 * e stays exactly where it is once e = w, and with the same bits on every device: it may
 * be kept in host memory (TRAIN.EMA.DEVICE). `rate` is 1 - control->ema_decay.
 *
 * Compiled for host and device.
 */
#ifndef OPS_EMA_FORMULA_H
#define OPS_EMA_FORMULA_H

#include "base/hostdev.h"

HOST_DEVICE static inline float ema_element(float e, float w, float rate)
{
    return e + mul_rn(rate, w - e);
}

#endif
