/*
 * The one-thread nodes of the update phase that write the control tensor by the formulas
 * of ops/control_formula.h. Order in a program:
 *
 *   ... loss_scale (ops/loss_scale.h), backward, grads_accumulate, grad_stats ...
 *   control_prepare   rate, clip factor, EMA decay
 *   ... optimizer, running_stats, ema ...
 *   control_finish    counters, dynamic loss scale; the last node
 *
 * A program that only accumulates ends with control_micro instead. Each has the control
 * tensor as its state.
 */
#ifndef OPS_UPDATE_CONTROL_H
#define OPS_UPDATE_CONTROL_H

#include "graph/graph.h"
#include "ops/control_formula.h"

struct control_prepare_attrs {
    const char *layer;
    struct schedule schedule;
    double clip_norm;           /* 0: no clipping by norm */
    double ema_decay, ema_ramp; /* unused without an EMA */
};

struct control_finish_attrs {
    const char *layer;
    struct scaler scaler;
    bool held; /* the program trains only the head: graph_hold() */
};

extern const struct op op_control_prepare, op_control_finish, op_control_micro;

void control_prepare_node(struct builder *b, struct tensor *control,
                          const struct control_prepare_attrs *a);
void control_finish_node(struct builder *b, struct tensor *control,
                         const struct scaler *s, bool held);
void control_micro_node(struct builder *b, struct tensor *control);

#endif
