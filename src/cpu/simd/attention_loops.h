/*
 * The loops of attention, of mixing within windows and of SwinV2's table of biases
 * (attention.inc, cpb.inc), one table for each instruction set: `attention` of loops.h.
 * What is said there holds here, too.
 */
#ifndef CPU_SIMD_ATTENTION_LOOPS_H
#define CPU_SIMD_ATTENTION_LOOPS_H

#include "cpu/simd/attention_args.h"

struct attention_loops {
    void (*matmul)(const struct matmul *p);
    void (*forward)(const struct attention *a);
    void (*grad)(const struct attention *a);
    /* n elements of each pixel, `stride` apart, as fp32 rows and back, + add[row]; what
     * has pixel -1 is 0, or is not written. Rows have room for whole vectors. */
    void (*gather_rows)(enum dtype t, const void *from, const int *pixel, int rows,
                        int64_t stride, int n, float *to, int64_t to_row);
    void (*scatter_rows)(enum dtype t, const float *from, int64_t from_row,
                         const int *pixel, int rows, int64_t stride, int n,
                         const float *add, void *to);
    /* The right side of a GEMM, [cols][2 LANES] a panel, from rows that become
     * columns; as many as whole vectors have, those beyond are 0. */
    void (*panels)(const float *from, int64_t row, int rows, int cols, float *to);
    void (*cpb)(const struct cpb *p, int64_t lo, int64_t hi);
    void (*cpb_grad)(const struct cpb *p, int lo, int hi);
};

extern const struct attention_loops attention_base, attention_avx2, attention_avx512,
    attention_avx512bf16;

#endif
