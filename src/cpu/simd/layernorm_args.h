/* Arguments of the loops of layer norms (layernorm.inc). */
#ifndef CPU_SIMD_LAYERNORM_ARGS_H
#define CPU_SIMD_LAYERNORM_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/tensor.h"

/*
 * Layer norm of rows of n elements (ops/layernorm_formula.h). With `add`, x + factor add
 * is rounded, stored in `sum`, and then normalized. weight and bias, fp32 [n], are not
 * NULL; y, mean, and rstd may be. `streamed`: rows of y are whole cache lines.
 */
struct ln_rows {
    enum dtype t, y_type; /* y_type: t, or bf16 */
    int64_t n;
    const void *x, *add;
    void *sum, *y;
    const float *weight, *bias;
    float *mean, *rstd;
    float factor, eps;
    bool streamed;
};

/*
 * Its gradient: dx, plus `add` unless NULL; dweight and dbias, fp32 [n], accumulate the
 * sums over the rows. dx may be NULL.
 */
struct ln_grad {
    enum dtype t, dy_type; /* dy_type: t, or bf16 */
    int64_t n;
    const void *x, *dy, *add;
    void *dx;
    const float *weight, *mean, *rstd;
    float *dweight, *dbias;
    bool streamed;
};

#endif
