/* The loops of our own convolutions (cpu/conv), as members of struct loops (loops.h). */
#ifndef CPU_SIMD_CONV_VECTORS_H
#define CPU_SIMD_CONV_VECTORS_H

#include "cpu/simd/depthwise_args.h"
#include "cpu/simd/gemm_args.h"
#include "cpu/simd/loops_args.h"

struct conv_vectors {
    void (*gemm_rows)(const struct gemm_rows *g);
    void (*gemm_sums)(const struct gemm_sums *g);
    /* A panel of gemm_rows: b[d][j] = from[d][j], or from[j][d]; both multiples of 16.
     * bf16: rounded */
    void (*gemm_pack)(const float *src, int64_t from_row, int64_t depth, int cols,
                      bool transposed, enum gemm_words words, float *b);
    /* A row of a side of gemm_sums: 8 or 16 (`width`) floats per panel. NULL: zeros */
    void (*gemm_spread)(const float *src, int64_t n, int width, float *dst,
                        int64_t panel);
    /* The same for bf16, widened to floats. */
    void (*gemm_widen)(const uint16_t *src, int64_t n, int width, float *dst,
                       int64_t panel);
    /* The same for bf16: pairs (a[i], b[i]) as words. NULL without AVX-512 BF16 */
    void (*gemm_pairs)(const uint16_t *a, const uint16_t *b, int64_t n, int width,
                       float *dst, int64_t panel);
    void (*winograd)(enum winograd t, const struct winograd_values *a);
    void (*depthwise_pixels)(const struct depthwise_pixels *p);
    void (*depthwise_row)(const struct depthwise_row *r);
    void (*depthwise_sums)(const struct depthwise_sums *p);
    void (*up)(const struct conv_up *p, const void *x, void *y, int64_t pixels);
};

#endif
