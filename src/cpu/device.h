/*
 * The CPU as a device: threads, oneDNN, and the loops compiled for this processor.
 */
#ifndef CPU_DEVICE_H
#define CPU_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpu/simd/loops.h"
#include "graph/kernel.h"

struct device {
    int threads;
    struct onednn *onednn;
    const struct loops *loops;
    bool amx;                         /* AMX tiles may be used (cpu/amx.h) */
    bool widen;                       /* GEMMs of bf16 are faster in fp32 */
    struct kernel_table *table;       /* measured choices (cpu/kernel_table.h) */
    const struct collective *travels; /* group whose gradients are being sent, or NULL */
    struct block *block;              /* memory from alloc() */
    size_t bytes, peak;
    size_t cache; /* bytes of the last-level cache */
    char text[128];
};

/* Called before each step: advances the transfers of gradients (cpu/bucket.c). */
void cpu_progress(struct device *dev, const struct step *s, int number);

/*
 * Runs fn(arg, 0), ..., fn(arg, dev->threads - 1), each on its own thread. Work is always
 * split by thread number, so results are the same from run to run.
 */
void cpu_parallel(const struct device *dev, void (*fn)(void *arg, int thread), void *arg);

/* Barrier inside fn; all threads must call it. */
void cpu_barrier(void);

/* Runs fn(arg, lo, hi) on parts of [0, n) that are cut at multiples of `unit`. */
void cpu_for(const struct device *dev, int64_t n, int64_t unit,
             void (*fn)(void *arg, int64_t lo, int64_t hi), void *arg);

/* Computes the part [*lo, *hi) of n of a thread; cuts are multiples of `unit`. */
static inline void cpu_part(int64_t n, int64_t unit, int thread, int threads, int64_t *lo,
                            int64_t *hi)
{
    int64_t units = (n + unit - 1) / unit;

    *lo = units * thread / threads * unit;
    *hi = units * (thread + 1) / threads * unit;
    if (*lo > n)
        *lo = n;
    if (*hi > n)
        *hi = n;
}

/*
 * True if a step should write its result k with non-temporal (streaming) stores. An
 * ordinary store reads its cache line first. If a step moves more than half of the cache,
 * the next step would find little of it there anyway. Small results stay in the cache.
 */
static inline bool cpu_streams(const struct device *dev, const struct step *s, int k)
{
    size_t all = 0;

    if (!s->out[k] || (uintptr_t)s->out[k] % 64 ||
        tensor_size(s->out_tensor[k]) < dev->cache / 6)
        return false;
    for (int i = 0; i < s->nin; i++) {
        if (s->in[i] == s->out[k]) /* in place: the line is already in the cache */
            return false;
        all += tensor_size(s->in_tensor[i]);
    }
    for (int i = 0; i < s->nout; i++)
        all += s->out[i] ? tensor_size(s->out_tensor[i]) : 0;
    return all > dev->cache / 2;
}

/*
 * True if sums over t read it from memory rather than the cache. Memory is read fastest
 * line after line; from the cache, processing a block of rows at a time saves loads of
 * tables. Sums of 16-bit floats are bound by arithmetic and always use blocks.
 */
static inline bool cpu_uncached(const struct device *dev, const struct tensor *t)
{
    return t->dtype == DTYPE_F32 && tensor_size(t) > dev->cache;
}

/* Returns a pointer to element i; NULL stays NULL. */
static inline const void *cpu_at(const void *p, enum dtype t, int64_t i)
{
    return p ? (const char *)p + (size_t)i * dtype_size(t) : NULL;
}

static inline void *cpu_out(void *p, enum dtype t, int64_t i)
{
    return p ? (char *)p + (size_t)i * dtype_size(t) : NULL;
}

#endif
