/* An activation at the end of a loop. */
#ifndef CPU_SIMD_LOOP_ACTIVATION_H
#define CPU_SIMD_LOOP_ACTIVATION_H

#include "ops/activation.h"

/* An activation (ops/activation.h) that a loop applies to its results, or the slope of one
 * by which it multiplies them. No row: none. */
struct loop_activation {
    const struct activation *row;
    float m; /* the row's number */
};

/* n: an activation, or NULL. */
static inline struct loop_activation loop_activation(const struct node *n)
{
    return n ? (struct loop_activation){activation_of(n), activation_number(n)}
             : (struct loop_activation){0};
}

/* n: the gradient of an activation, or NULL. */
static inline struct loop_activation loop_slope(const struct node *n)
{
    return n ? (struct loop_activation){activation_grad_of(n), activation_number(n)}
             : (struct loop_activation){0};
}

static inline bool loop_relu(struct loop_activation a)
{
    return a.row && a.row->value == EXPR_RELU && !(a.m > 0);
}

#endif
