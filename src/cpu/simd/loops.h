/*
 * The inner loops of our own CPU kernels. They are written once (the .inc files) with
 * vectors of LANES floats and compiled once for each instruction set (isa_*.inc).
 * loops_best() selects a table for the processor, so one binary runs everywhere,
 * independent of compiler flags.
 *
 * All loops run on the calling thread; kernels split the work. `t` is DTYPE_F32 or
 * DTYPE_BF16, arithmetic is fp32. Tensors overlap either fully (in place) or not at all.
 *
 * `streamed`: the result is written with non-temporal stores (cpu_streams in device.h
 * tells when that is faster); it is aligned to 64 bytes, each store to a vector.
 * `uncached`: the input of a sum comes from memory (cpu_uncached), so it is read in
 * storage order; the sums are the same.
 *
 * Channels. Loops with a value per channel treat a tensor as rows of `width` elements and
 * have tables of that length. width is a multiple of the channels and of 2 LANES (struct
 * rows in rows.h), so rows have no remainders; the last row may be short. bf16 is loaded
 * as two vectors at a time, the first with the elements of even index: tables use the
 * same order (loops_place).
 */
#ifndef CPU_SIMD_LOOPS_H
#define CPU_SIMD_LOOPS_H

#include <stdbool.h>
#include <stdint.h>

#include "cpu/simd/conv_vectors.h"
#include "cpu/simd/layernorm_args.h"
#include "cpu/simd/loops_args.h"
#include "cpu/simd/update_args.h"

struct attention_loops;

struct loops {
    const char *isa;
    int lanes;
    const struct attention_loops *attention; /* attention_loops.h */

    /* n bytes, aligned or not */
    void (*copy)(void *dst, const void *src, int64_t n, bool streamed);
    void (*splice)(const struct splice *s);
    void (*relu_forward)(enum dtype t, const void *x, void *y, int64_t n, float limit,
                         bool streamed);
    void (*relu_grad)(enum dtype t, const void *y, const void *dy, void *dx, int64_t n,
                      float limit, bool streamed);
    /* approximate: with tanh */
    void (*gelu_forward)(enum dtype t, const void *x, void *y, int64_t n,
                         bool approximate, bool streamed);
    void (*gelu_grad)(enum dtype t, const void *x, const void *dy, void *dx, int64_t n,
                      bool approximate, bool streamed);
    /* both; dx may be dy, and y may be x */
    void (*gelu_both)(enum dtype t, const void *x, const void *dy, void *dx, void *y,
                      int64_t n, bool approximate);
    /* dst = an instruction of expr over n elements of a, b, c, with the number m; the arrays
     * have room for whole vectors. t: the type that results are rounded to later */
    void (*expr)(enum dtype t, int opcode, const float *a, const float *b, const float *c,
                 float m, float *dst, int64_t n);
    /* The same of one operand or two, of type t: in place or not */
    void (*pointwise)(enum dtype t, int opcode, float m, const void *a, const void *b,
                      void *dst, int64_t n, bool streamed);
    /* y = in[0] + ... + in[nin-1] for the elements [lo, hi); y may be one of them. */
    void (*add)(enum dtype t, const void *const *in, int nin, void *y, int64_t lo,
                int64_t hi, bool streamed);
    void (*cast)(enum dtype src, enum dtype dst, const void *x, void *y, int64_t n,
                 bool streamed);
    /* y = x f */
    void (*scale)(enum dtype t, const void *x, float f, void *y, int64_t n,
                  bool streamed);
    /* y = x scale + shift over bytes */
    void (*normalize_bytes)(enum dtype dst, const uint8_t *x, void *y, int64_t n,
                            int64_t width, const float *scale, const float *shift,
                            bool streamed);
    /* y[k] = x[k] lam[k] + x[1 - k] (1 - lam[k]); y[1] may be NULL */
    void (*blend)(enum dtype t, const void *const x[2], void *const y[2],
                  const float lam[2], int64_t n, bool streamed);
    /* dropout of the elements [lo, hi); lo is a multiple of 64 */
    void (*dropout_mask)(enum dtype t, const void *x, void *y,
                         const struct dropout_key *key, int64_t lo, int64_t hi,
                         bool streamed);

    /* sum += x - shift, sq += (x - shift)^2; the next call starts `jump` elements after
     * the end of this part */
    void (*bn_stats)(enum dtype t, const void *x, int64_t n, int64_t width,
                     const float *shift, float *sum, float *sq, bool uncached,
                     int64_t jump);
    /* total += sum; sum = 0 */
    void (*bn_merge)(int64_t width, float *sum, double *total);
    void (*bn_apply)(const struct bn_apply *a);
    void (*bn_grad_sums)(const struct bn_grad *a);
    void (*bn_grad_apply)(const struct bn_grad *a);
    /* sum += x */
    void (*column_sums)(enum dtype t, const void *x, int64_t n, int64_t width, float *sum,
                        bool uncached);

    void (*ln_rows)(const struct ln_rows *a, int64_t rows);
    void (*ln_grad)(const struct ln_grad *a, int64_t rows);

    /* Rows [lo, hi) of the result, counted over all images. */
    void (*maxpool)(const struct pool *p, const void *x, void *y, int64_t lo, int64_t hi);
    void (*avgpool)(const struct pool *p, const void *x, void *y, int64_t lo, int64_t hi);
    void (*avgpool_grad)(const struct pool *p, const void *dy, void *dx, int64_t lo,
                         int64_t hi);
    /* Image n; `ring` has p->ring * out_w * c indices. */
    void (*maxpool_grad)(const struct pool *p, const void *x, const void *dy, void *dx,
                         int32_t *ring, int64_t n);

    /* Over `rows` rows of n elements: sum += x scale; sum += x y; y = x s; y = s. */
    void (*sum_rows)(enum dtype t, const void *x, int64_t rows, int64_t n, float scale,
                     float *sum, bool uncached);
    void (*dot_rows)(enum dtype t, const void *x, const void *y, int64_t rows, int64_t n,
                     float *sum, bool uncached);
    void (*scale_rows)(enum dtype t, const void *x, const void *s, void *y, int64_t rows,
                       int64_t n, bool streamed);
    void (*spread_rows)(enum dtype t, const float *s, void *y, int64_t rows, int64_t n,
                        bool streamed);

    /*
     * Pixels [lo, hi): the sum of weight (log sum e^z - z_label); dz = scale weight
     * (softmax(z) - onehot(label)); matrix[label][first of the largest]++.
     */
    double (*pixel_loss)(const struct pixel_loss *p, int64_t lo, int64_t hi);
    void (*pixel_grad)(const struct pixel_loss *p, int64_t lo, int64_t hi);
    void (*pixel_count)(const struct pixel_loss *p, int64_t *matrix, int64_t lo,
                        int64_t hi);
    struct conv_vectors conv; /* for cpu/conv */
    /* Rows [lo, hi) of the result, counted over all images; `buffer` has in_w * c floats. */
    void (*resample)(const struct resample_rows *p, const void *x, void *y, float *buffer,
                     int64_t lo, int64_t hi);
    /* Copies n bytes of each row, between rows of to_row and from_row bytes. */
    void (*copy_rows)(void *dst, int64_t to_row, const void *src, int64_t from_row,
                      int64_t n, int64_t rows);

    /* Packs output channels [lo, hi), multiples of 16, with padding. NULL if not
     * available; bf16 only with AVX-512 BF16. */
    void (*pack)(const struct pack *p, int64_t lo, int64_t hi);

    const struct update_loop *update; /* for all optimizers; op NULL ends the list */
    void (*ema)(float *e, const float *w, int64_t n, float rate);
    void (*accumulate)(float *sum, const float *g, int64_t n, bool first);
    double (*squares)(const float *g, int64_t n); /* the sum of g^2 */
};

const struct loops *loops_best(void);
/* True if the processor multiplies pairs of bf16 faster than fp32. */
bool loops_dot_is_fast(const struct loops *l);

extern const struct loops loops_base, loops_avx2, loops_avx512, loops_avx512bf16;

#endif
