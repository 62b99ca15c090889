/*
 * ema: the exponential moving average of parameters and buffers, one pass over the flat
 * weights, after the optimizer and running_stats. Nothing happens on overflow.
 *
 *   in     weights (fp32, [weights_len]), control
 *   state  ema (fp32, [weights_len])
 *
 * The decay of the update is control->ema_decay (ops/control_formula.h).
 */
#ifndef OPS_EMA_H
#define OPS_EMA_H

#include "graph/graph.h"

extern const struct op op_ema;

enum { EMA_WEIGHTS, EMA_CONTROL };

void ema(struct builder *b, struct tensor *weights, struct tensor *control,
         struct tensor *ema);

#endif
