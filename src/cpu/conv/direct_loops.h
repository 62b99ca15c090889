/*
 * Shared by direct.c and direct_grad.c: vectors of 16 32-bit words, the multiply of both
 * types, and prefetches.
 */
#ifndef CPU_CONV_DIRECT_LOOPS_H
#define CPU_CONV_DIRECT_LOOPS_H

#include <immintrin.h>

#include "cpu/conv/direct.h"

#define ISA    __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))
#define INLINE ISA static inline __attribute__((always_inline))

enum { LANES = 16, LINE = 64 };

static inline int taps_of(const struct conv_shape *s)
{
    return s->kernel_h * s->kernel_w;
}

static inline size_t align64(size_t n)
{
    return (n + 63) / 64 * 64;
}

INLINE __m512 multiply(__m512 acc, __m512i w, __m512i x, bool half)
{
    return half ? _mm512_dpbf16_ps(acc, (__m512bh)w, (__m512bh)x)
                : _mm512_fmadd_ps((__m512)w, (__m512)x, acc);
}

/* Loads 16 floats at element i. */
INLINE __m512 load_lanes(const char *p, int64_t i, bool half)
{
    return half ? (__m512)_mm512_slli_epi32(
                      _mm512_cvtepu16_epi32(
                          _mm256_loadu_si256((const __m256i *)(const void *)(p + 2 * i))),
                      16)
                : _mm512_loadu_ps(p + 4 * i);
}

/*
 * Memory that the loops read next, prefetched while they multiply: each call of fetch()
 * prefetches lines[i] cache lines from next[i] on, for two addresses.
 */
struct prefetch {
    const char *next[2];
    int lines[2];
};

INLINE void fetch(struct prefetch *a)
{
    for (int i = 0; i < 2; i++)
        for (int l = 0; l < a->lines[i]; l++, a->next[i] += LINE)
            _mm_prefetch(a->next[i], _MM_HINT_T1);
}

/* Sets address i: `bytes` from p on, spread over `calls` calls. */
static inline void fetch_in(struct prefetch *a, int i, const void *p, size_t bytes,
                            int calls)
{
    a->next[i] = p;
    a->lines[i] = (int)((bytes / LINE + (size_t)calls - 1) / (size_t)calls);
}

#endif
