/*
 * The loops of attention, of mixing within windows, and of SwinV2's bias table
 * (attention.inc, cpb.inc), one table for each instruction set: `attention` of loops.h,
 * whose conventions apply.
 */
#ifndef CPU_SIMD_ATTENTION_LOOPS_H
#define CPU_SIMD_ATTENTION_LOOPS_H

#include "cpu/simd/attention_args.h"

struct attention_loops {
    void (*matmul)(const struct matmul *p);
    void (*forward)(const struct attention *a);
    void (*grad)(const struct attention *a);
    /* Copy n elements of each pixel, `stride` apart, to fp32 rows, and back, + add[row].
     * Rows with pixel -1 are set to 0, or not written. Rows have space for whole vectors. */
    void (*gather_rows)(enum dtype t, const void *src, const int *pixel, int rows,
                        int64_t stride, int n, float *dst, int64_t to_row);
    void (*scatter_rows)(enum dtype t, const float *src, int64_t from_row,
                         const int *pixel, int rows, int64_t stride, int n,
                         const float *add, void *dst);
    /* Transposes rows into the right side of a GEMM, panels of [cols][2 LANES]; columns
     * are padded with zeros to whole vectors. */
    void (*panels)(const float *src, int64_t row, int rows, int cols, float *dst);
    void (*cpb)(const struct cpb *p, int64_t lo, int64_t hi);
    void (*cpb_grad)(const struct cpb *p, int lo, int hi);
};

extern const struct attention_loops attention_base, attention_avx2, attention_avx512,
    attention_avx512bf16;

#endif
