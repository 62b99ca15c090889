/*
 * An activation at the end of a kernel, or its slope: relu inline, the others
 * (ops/activation.h) by a call, so that kernels keep their size.
 */
#ifndef CUDA_ACTIVATION_H
#define CUDA_ACTIVATION_H

#include "ops/activation.h"
#include "ops/pointwise.h"
#include "ops/relu_bits.h"

enum fused_kind { FUSED_NONE, FUSED_RELU, FUSED_OTHER };

/* A kernel argument. */
struct fused_act {
    int kind; /* enum fused_kind */
    int value, grad;
    bool from_y;
    float m; /* the row's number; relu: its limit */
};

/* n: an activation or the gradient of one, or NULL. */
static inline fused_act fused_act_of(const struct node *n)
{
    const struct activation *row = n ? activation_of(n) : nullptr;

    if (n && n->op == &op_relu_bits)
        return {FUSED_RELU, EXPR_RELU, EXPR_RELU_GRAD, true,
                ((const struct relu_bits_attrs *)n->attrs)->limit};
    if (n && !row)
        row = activation_grad_of(n);
    if (!row)
        return {};
    return {row->value == EXPR_RELU ? FUSED_RELU : FUSED_OTHER, row->value, row->grad,
            row->from_y, activation_number(n)};
}

static __device__ __noinline__ float act_call(int opcode, float a, float b, float m)
{
    return expr_value(opcode, a, b, 0, m);
}

/* OTHER: the kernel was compiled for activations other than relu. */
template <bool OTHER>
__device__ static inline float act_value(const fused_act &f, float v)
{
    if (OTHER)
        return act_call(f.value, v, 0, f.m);
    return f.kind == FUSED_RELU ? relu_value(v, f.m) : v;
}

/* dz = dy times the slope, from what the gradient reads: y or x. */
template <bool OTHER>
__device__ static inline float act_slope(const fused_act &f, float x, float dy)
{
    return OTHER ? act_call(f.grad, x, dy, f.m) : relu_slope(x, dy, f.m);
}

/* The same from x. */
template <bool OTHER>
__device__ static inline float act_slope_at(const fused_act &f, float x, float dy)
{
    if (OTHER && f.from_y)
        x = act_call(f.value, x, 0, f.m);
    return act_slope<OTHER>(f, x, dy);
}

#endif
