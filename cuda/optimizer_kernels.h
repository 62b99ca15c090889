/*
 * The kernels of cuda/optimizer.cu: the rules of all segments, their trust ratios, and
 * the update of pieces. Only included there.
 */
#ifndef CUDA_OPTIMIZER_KERNELS_H
#define CUDA_OPTIMIZER_KERNELS_H

#include "cuda/optimizer_packs.h"
#include "cuda/reduce.h"

template <class K>
__global__ void __launch_bounds__(RULES_BLOCK)
    optimizer_rules(struct optimizer_attrs a, const update_segment *s, int n,
                    const control *c, typename K::rule *rules)
{
    int i = (int)(blockIdx.x * RULES_BLOCK + threadIdx.x);

    if (i < n && !c->overflow)
        rules[i] = K::make(a, s + i, c);
}

/* Two sums for each piece of a segment with a trust ratio. */
template <class K, class H>
__global__ void __launch_bounds__(BLOCK)
    optimizer_measure(flat_arrays<H> a, const piece *pieces, struct optimizer_attrs o,
                      const update_segment *s, const typename K::rule *rules,
                      const control *c, double *sums)
{
    __shared__ double shared[BLOCK / 32];
    constexpr int N = 4;
    piece p = pieces[blockIdx.x];
    int vectors = p.first % N ? 0 : p.len / N * N, t = (int)threadIdx.x;
    double w2 = 0, x2 = 0;

    if (c->overflow || p.segment < 0 || !update_adapts(&o, s + p.segment))
        return;

    typename K::rule r = rules[p.segment];

    for (int i = t * N; i < vectors; i += BLOCK * N)
        measure_pack<K, H, N>(a, p, i, r, &w2, &x2);
    for (int i = vectors + t; i < p.len; i += BLOCK)
        measure_pack<K, H, 1>(a, p, i, r, &w2, &x2);
    w2 = block_sum<BLOCK>(w2, shared);
    x2 = block_sum<BLOCK>(x2, shared);
    if (t == 0) {
        sums[2 * blockIdx.x] = w2;
        sums[2 * blockIdx.x + 1] = x2;
    }
}

/* Run with one block per segment. */
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

/* Updates vectors from an aligned start, and the rest element by element. */
template <class K, class H>
__global__ void __launch_bounds__(BLOCK)
    optimizer_update(flat_arrays<H> a, const piece *pieces, const typename K::rule *rules,
                     const control *c)
{
    constexpr int N = 4;
    piece p = pieces[blockIdx.x];
    int vectors = p.first % N ? 0 : p.len / N * N, t = (int)threadIdx.x;
    float rate = (float)(1 - c->ema_decay);

    if (c->overflow)
        return;
    if (p.segment < 0) {
        for (int i = t * N; i < vectors; i += BLOCK * N)
            ema_pack<H, N>(a, p.first + i, rate);
        for (int i = vectors + t; i < p.len; i += BLOCK)
            ema_pack<H, 1>(a, p.first + i, rate);
        return;
    }

    typename K::rule r = rules[p.segment];

    for (int i = t * N; i < vectors; i += BLOCK * N)
        update_pack<K, H, N>(a, p, i, r, rate);
    for (int i = vectors + t; i < p.len; i += BLOCK)
        update_pack<K, H, 1>(a, p, i, r, rate);
}

#endif
