/*
 * The kernels of cuda/optimizer.cu: the rules of all segments, their trust ratios, and
 * the update of pieces. Included there only.
 */
#ifndef CUDA_OPTIMIZER_KERNELS_H
#define CUDA_OPTIMIZER_KERNELS_H

#include "cuda/launch.h"
#include "cuda/reduce.h"
#include "cuda/vec.h"
#include "ops/ema_formula.h"
#include "ops/optimizer_list.h"

enum { BLOCK = 256, PIECE = 2048, RULES_BLOCK = 64, TRUST_BLOCK = 128 };

struct piece {
    int64_t at;  /* elements of the flat arrays */
    int len;     /* at most PIECE */
    int segment; /* or -1: only the EMA */
};

/* The pieces of a segment. */
struct range {
    int first, n;
};

#define KIND_BODY(NAME)                                                                  \
    using rule = struct NAME##_rule;                                                     \
                                                                                         \
    __device__ static rule make(const struct optimizer_attrs &a,                         \
                                const update_segment *s, const control *c)               \
    {                                                                                    \
        return NAME##_rule(&a, s, c);                                                    \
    }                                                                                    \
    __device__ static void element(float *w, float *m1, float *m2, float g,              \
                                   const rule &r)                                        \
    {                                                                                    \
        NAME##_element(w, m1, m2, g, &r);                                                \
    }

#define KIND(NAME)                                                                       \
    struct NAME##_kind {                                                                 \
        static constexpr bool trusts = false;                                            \
        KIND_BODY(NAME)                                                                  \
    };

#define TRUST_KIND(NAME)                                                                 \
    struct NAME##_kind {                                                                 \
        static constexpr bool trusts = true;                                             \
        KIND_BODY(NAME)                                                                  \
                                                                                         \
        __device__ static float measured(float w, float m1, float m2, float g,           \
                                         const rule &r)                                  \
        {                                                                                \
            return NAME##_measured(w, m1, m2, g, &r);                                    \
        }                                                                                \
        __device__ static float trust(const struct optimizer_attrs &a,                   \
                                      const update_segment *s, const control *c,         \
                                      double w, double x)                                \
        {                                                                                \
            return NAME##_trust(&a, s, c, w, x);                                         \
        }                                                                                \
    };
OPTIMIZER_LIST(KIND, TRUST_KIND)

/* The EMA alone: no segment, so no rule. */
struct no_kind {
    static constexpr bool trusts = false;
    struct rule {
    };

    __device__ static rule make(const struct optimizer_attrs &, const update_segment *,
                                const control *)
    {
        return {};
    }
    __device__ static void element(float *, float *, float *, float, const rule &) {}
};

template <class K>
__global__ void __launch_bounds__(RULES_BLOCK)
    optimizer_rules(struct optimizer_attrs a, const update_segment *s, int n,
                    const control *c, typename K::rule *rules)
{
    int i = (int)(blockIdx.x * RULES_BLOCK + threadIdx.x);

    if (i < n && !c->overflow)
        rules[i] = K::make(a, s + i, c);
}

/* What is absent is NULL. */
template <class H> struct flat_arrays {
    const float *g;
    float *w, *m1, *m2, *ema;
    H *half;
};

/* N elements from `at` on. */
template <class K, class H, int N>
__device__ static inline void update_pack(const flat_arrays<H> &a, int64_t at,
                                          const typename K::rule &r, float rate)
{
    pack<float, N> g = pack_load<N>(a.g + at), w = pack_load<N>(a.w + at), m1 = w, m2 = w,
                   e = w;
    pack<H, N> half;

    if (a.m1)
        m1 = pack_load<N>(a.m1 + at);
    if (a.m2)
        m2 = pack_load<N>(a.m2 + at);
    if (a.ema)
        e = pack_load<N>(a.ema + at);
    for (int k = 0; k < N; k++) {
        K::element(&w.v[k], &m1.v[k], &m2.v[k], g.v[k], r);
        e.v[k] = ema_element(e.v[k], w.v[k], rate);
        half.set(k, w.v[k]);
    }
    pack_store<float, N>(a.w + at, w);
    if (a.m1)
        pack_store<float, N>(a.m1 + at, m1);
    if (a.m2)
        pack_store<float, N>(a.m2 + at, m2);
    if (a.ema)
        pack_store<float, N>(a.ema + at, e);
    if (a.half)
        pack_store<H, N>(a.half + at, half);
}

template <class H, int N>
__device__ static inline void ema_pack(const flat_arrays<H> &a, int64_t at, float rate)
{
    pack<float, N> w = pack_load<N>(a.w + at), e = pack_load<N>(a.ema + at);

    for (int k = 0; k < N; k++)
        e.v[k] = ema_element(e.v[k], w.v[k], rate);
    pack_store<float, N>(a.ema + at, e);
}

/* The squares of N weights from `at` on, and of what is measured beside them. */
template <class K, class H, int N>
__device__ static inline void measure_pack(const flat_arrays<H> &a, int64_t at,
                                           const typename K::rule &r, double *w2,
                                           double *x2)
{
    pack<float, N> g = pack_load<N>(a.g + at), w = pack_load<N>(a.w + at), m1 = w, m2 = w;

    if (a.m1)
        m1 = pack_load<N>(a.m1 + at);
    if (a.m2)
        m2 = pack_load<N>(a.m2 + at);
    for (int k = 0; k < N; k++) {
        double x = (double)K::measured(w.v[k], m1.v[k], m2.v[k], g.v[k], r);

        *w2 += (double)w.v[k] * (double)w.v[k];
        *x2 += x * x;
    }
}

/* Two sums for each piece of a segment that adapts. */
template <class K, class H>
__global__ void __launch_bounds__(BLOCK)
    optimizer_measure(flat_arrays<H> a, const piece *pieces, struct optimizer_attrs o,
                      const update_segment *s, const typename K::rule *rules,
                      const control *c, double *sums)
{
    __shared__ double shared[BLOCK / 32];
    constexpr int N = 4;
    piece p = pieces[blockIdx.x];
    int vectors = p.at % N ? 0 : p.len / N * N, t = (int)threadIdx.x;
    double w2 = 0, x2 = 0;

    if (c->overflow || p.segment < 0 || !update_adapts(&o, s + p.segment))
        return;

    typename K::rule r = rules[p.segment];

    for (int i = t * N; i < vectors; i += BLOCK * N)
        measure_pack<K, H, N>(a, p.at + i, r, &w2, &x2);
    for (int i = vectors + t; i < p.len; i += BLOCK)
        measure_pack<K, H, 1>(a, p.at + i, r, &w2, &x2);
    w2 = block_sum<BLOCK>(w2, shared);
    x2 = block_sum<BLOCK>(x2, shared);
    if (t == 0) {
        sums[2 * blockIdx.x] = w2;
        sums[2 * blockIdx.x + 1] = x2;
    }
}

/* A block a segment. */
template <class K>
__global__ void __launch_bounds__(TRUST_BLOCK)
    optimizer_trust(struct optimizer_attrs o, const update_segment *s,
                    const range *ranges, const control *c, const double *sums,
                    typename K::rule *rules)
{
    __shared__ double shared[TRUST_BLOCK / 32];
    range p = ranges[blockIdx.x];
    double w2 = 0, x2 = 0;

    s += blockIdx.x;
    if (c->overflow || !update_adapts(&o, s))
        return;
    for (int i = p.first + (int)threadIdx.x; i < p.first + p.n; i += TRUST_BLOCK) {
        w2 += sums[2 * i];
        x2 += sums[2 * i + 1];
    }
    w2 = block_sum<TRUST_BLOCK>(w2, shared);
    x2 = block_sum<TRUST_BLOCK>(x2, shared);
    if (threadIdx.x == 0)
        rules[blockIdx.x].update.trust = K::trust(o, s, c, sqrt(w2), sqrt(x2));
}

/* Vectors from an aligned start on, the rest one by one. */
template <class K, class H>
__global__ void __launch_bounds__(BLOCK)
    optimizer_update(flat_arrays<H> a, const piece *pieces, const typename K::rule *rules,
                     const control *c)
{
    constexpr int N = 4;
    piece p = pieces[blockIdx.x];
    int vectors = p.at % N ? 0 : p.len / N * N, t = (int)threadIdx.x;
    float rate = (float)(1 - c->ema_decay);

    if (c->overflow)
        return;
    if (p.segment < 0) {
        for (int i = t * N; i < vectors; i += BLOCK * N)
            ema_pack<H, N>(a, p.at + i, rate);
        for (int i = vectors + t; i < p.len; i += BLOCK)
            ema_pack<H, 1>(a, p.at + i, rate);
        return;
    }

    typename K::rule r = rules[p.segment];

    for (int i = t * N; i < vectors; i += BLOCK * N)
        update_pack<K, H, N>(a, p.at + i, r, rate);
    for (int i = vectors + t; i < p.len; i += BLOCK)
        update_pack<K, H, 1>(a, p.at + i, r, rate);
}

#endif
