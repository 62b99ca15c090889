/*
 * The instructions of an expr (ops/expr.h): one row each,
 *
 *   X(NAME, name, operands, formula)   a, b, c: operands; m: the instruction's number
 *
 * written once for fp32 on host and device (expr_value) and once in double for the
 * reference (expr_value_double). `real` is the type of both. A comparison is 1 or 0. NaN
 * passes through every formula, except where a comparison discards it.
 *
 * Activations come in pairs (ops/activation.h): NAME, and NAME_GRAD, which is slope * b
 * with b = dy and a = y or x. They follow torch.nn.functional: elu, leaky_relu (both with
 * m), softplus with beta 1 and threshold 20, hardswish, hardsigmoid, mish; relu has an
 * upper limit m if m > 0 (6: relu6).
 */
#ifndef OPS_EXPR_FORMULA_H
#define OPS_EXPR_FORMULA_H

#include <math.h>

#include "base/hostdev.h"

/* A function of math.h for the type of x. (tgmath.h would change the meaning of exp() and
 * the like in every file that includes this one.) */
#ifdef __cplusplus
#define EXPR_CALL(name, x) name(x)
#define EXPR_POW(a, m)     pow(a, m)
#else
#define EXPR_CALL(name, x) _Generic((x), float: name##f, default: name)(x)
#define EXPR_POW(a, m)     _Generic((a), float: powf, default: pow)(a, m)
#endif

/* clang-format off */
#define EXPR_ARITHMETIC(X) \
    X(ADD, add, 2, a + b) \
    X(SUB, sub, 2, a - b) \
    X(MUL, mul, 2, a * b) \
    X(DIV, div, 2, a / b) \
    X(MAX, max, 2, a > b || a != a ? a : b) \
    X(MIN, min, 2, a < b || a != a ? a : b) \
    X(GREATER, greater, 2, (real)(a > b)) \
    X(GREATER_EQUAL, greater_equal, 2, (real)(a >= b)) \
    X(EQUAL, equal, 2, (real)(a == b)) \
    X(SELECT, select, 3, a != 0 ? b : c) \
    X(NUMBER, number, 0, m) \
    X(ADD_BY, add_by, 1, a + m) \
    X(SCALE_BY, scale_by, 1, a * m) \
    X(SUB_FROM, sub_from, 1, m - a) \
    X(DIV_INTO, div_into, 1, m / a) \
    X(AT_LEAST, at_least, 1, a < m ? m : a) \
    X(AT_MOST, at_most, 1, a > m ? m : a) \
    X(POWER, power, 1, EXPR_POW(a, m)) \
    X(NEG, neg, 1, -a) \
    X(ABS, abs, 1, a < 0 ? -a : a) \
    X(SIGN, sign, 1, a != a ? a : (real)((a > 0) - (a < 0))) \
    X(FLOOR, floor, 1, EXPR_CALL(floor, a)) \
    X(SQUARE, square, 1, a * a) \
    X(SQRT, sqrt, 1, EXPR_CALL(sqrt, a)) \
    X(RSQRT, rsqrt, 1, 1 / EXPR_CALL(sqrt, a)) \
    X(EXP, exp, 1, EXPR_CALL(exp, a)) \
    X(LOG, log, 1, EXPR_CALL(log, a)) \
    X(SIN, sin, 1, EXPR_CALL(sin, a)) \
    X(COS, cos, 1, EXPR_CALL(cos, a)) \
    X(NORMAL_CDF, normal_cdf, 1, EXPR_PHI(a))

#define EXPR_SIGMOID(x)  (1 / (1 + EXPR_CALL(exp, -(x))))
#define EXPR_SOFTPLUS(x) ((x) > 20 ? (x) : EXPR_CALL(log1p, EXPR_CALL(exp, x)))
#define EXPR_PHI(x)      ((real)0.5 * EXPR_CALL(erfc, -(x) * (real)0.70710678118654752440))
#define EXPR_DENSITY(x)  (EXPR_CALL(exp, -(x) * (x) / 2) * (real)0.39894228040143267794)
/* gelu by tanh: x sigmoid(2 v), 2 v = 2 sqrt(2 / pi) (x + 0.044715 x^3) */
#define EXPR_TANH_V(x) ((real)1.59576912160573071176 * (x) * (1 + (real)0.044715 * (x) * (x)))
#define EXPR_TANH_V_SLOPE(x) ((real)1.59576912160573071176 * (1 + 3 * (real)0.044715 * (x) * (x)))

#define EXPR_ACTIVATIONS(X) \
    X(RELU, relu, 1, a < 0 ? 0 : m > 0 && a > m ? m : a) \
    X(RELU_GRAD, relu_grad, 2, a <= 0 || (m > 0 && a >= m) ? 0 : b) \
    X(LEAKY_RELU, leaky_relu, 1, a < 0 ? m * a : a) \
    X(LEAKY_RELU_GRAD, leaky_relu_grad, 2, a <= 0 ? m * b : b) \
    X(ELU, elu, 1, a < 0 ? m * EXPR_CALL(expm1, a) : a) \
    X(ELU_GRAD, elu_grad, 2, a <= 0 ? b * m * EXPR_CALL(exp, a) : b) \
    X(SIGMOID, sigmoid, 1, EXPR_SIGMOID(a)) \
    X(SIGMOID_GRAD, sigmoid_grad, 2, b * a * (1 - a)) \
    X(TANH, tanh, 1, EXPR_CALL(tanh, a)) \
    X(TANH_GRAD, tanh_grad, 2, b * (1 - a * a)) \
    X(SOFTPLUS, softplus, 1, EXPR_SOFTPLUS(a)) \
    X(SOFTPLUS_GRAD, softplus_grad, 2, a > 20 ? b : b * EXPR_SIGMOID(a)) \
    X(SILU, silu, 1, a * EXPR_SIGMOID(a)) \
    X(SILU_GRAD, silu_grad, 2, b * EXPR_SIGMOID(a) * (1 + a * EXPR_SIGMOID(-a))) \
    X(GELU, gelu, 1, a * EXPR_PHI(a)) \
    X(GELU_GRAD, gelu_grad, 2, b * (EXPR_PHI(a) + a * EXPR_DENSITY(a))) \
    X(GELU_TANH, gelu_tanh, 1, a * EXPR_SIGMOID(EXPR_TANH_V(a))) \
    X(GELU_TANH_GRAD, gelu_tanh_grad, 2, \
      b * EXPR_SIGMOID(EXPR_TANH_V(a)) * \
          (1 + a * EXPR_SIGMOID(-EXPR_TANH_V(a)) * EXPR_TANH_V_SLOPE(a))) \
    X(HARD_SIGMOID, hard_sigmoid, 1, a < -3 ? 0 : a > 3 ? 1 : (a + 3) / 6) \
    X(HARD_SIGMOID_GRAD, hard_sigmoid_grad, 2, a <= -3 || a >= 3 ? 0 : b / 6) \
    X(HARD_SWISH, hard_swish, 1, a < -3 ? 0 : a > 3 ? a : a * (a + 3) / 6) \
    X(HARD_SWISH_GRAD, hard_swish_grad, 2, \
      a <= -3 ? 0 : a >= 3 ? b : b * (2 * a + 3) / 6) \
    X(MISH, mish, 1, a * EXPR_CALL(tanh, EXPR_SOFTPLUS(a))) \
    X(MISH_GRAD, mish_grad, 2, \
      b * (EXPR_CALL(tanh, EXPR_SOFTPLUS(a)) + \
           a * EXPR_SIGMOID(a) * (1 - EXPR_CALL(tanh, EXPR_SOFTPLUS(a)) * EXPR_CALL(tanh, EXPR_SOFTPLUS(a)))))
/* clang-format on */

#define EXPR_OPCODES(X) EXPR_ARITHMETIC(X) EXPR_ACTIVATIONS(X)

#define EXPR_ENUM(NAME, name, operands, formula) EXPR_##NAME,
enum expr_opcode { EXPR_OPCODES(EXPR_ENUM) EXPR_OPCODE_COUNT };
#undef EXPR_ENUM

#define EXPR_CASE(NAME, name, operands, formula)                                         \
    case EXPR_##NAME:                                                                    \
        return (real)(formula);

HOST_DEVICE static inline float expr_value(int opcode, float a, float b, float c, float m)
{
    typedef float real;

    switch (opcode) {
        EXPR_OPCODES(EXPR_CASE)
    default:
        return a;
    }
}

static inline double expr_value_double(int opcode, double a, double b, double c, double m)
{
    typedef double real;

    switch (opcode) {
        EXPR_OPCODES(EXPR_CASE)
    default:
        return a;
    }
}
#undef EXPR_CASE

#endif
