/* N neighboring elements of the flat arrays: updated, moved into the EMA, or measured. */
#ifndef CUDA_OPTIMIZER_PACKS_H
#define CUDA_OPTIMIZER_PACKS_H

#include "cuda/channels.h"
#include "cuda/optimizer_kinds.h"
#include "ops/ema_formula.h"

/* Absent arrays are NULL. */
template <class H> struct flat_arrays {
    const void *g; /* pieces say where and of which type */
    float *w, *m1, *m2, *ema;
    H *half;
};

/* Loads the gradients of N elements from the i-th of piece p on. */
template <class H, int N>
__device__ static inline pack<float, N> grads_load(const flat_arrays<H> &a,
                                                   const piece &p, int i)
{
    pack<float, N> g;

    if (!p.half)
        return pack_load<N>((const float *)a.g + p.grad + i);

    pack<H, N> half = pack_load<N>((const H *)a.g + p.grad + i);

    for (int k = 0; k < N; k++)
        g.v[k] = half.get(k);
    return g;
}

/* N elements from the i-th of piece p on. */
template <class K, class H, int N>
__device__ static inline void update_pack(const flat_arrays<H> &a, const piece &p, int i,
                                          const typename K::rule &r, float rate)
{
    int64_t pos = p.first + i;
    pack<float, N> g = grads_load<H, N>(a, p, i), w = pack_load<N>(a.w + pos), m1 = w,
                   m2 = w, e = w;
    pack<H, N> half;

    if (a.m1)
        m1 = pack_load<N>(a.m1 + pos);
    if (a.m2)
        m2 = pack_load<N>(a.m2 + pos);
    if (a.ema)
        e = pack_load<N>(a.ema + pos);
    for (int k = 0; k < N; k++) {
        K::element(&w.v[k], &m1.v[k], &m2.v[k], g.v[k], r);
        e.v[k] = ema_element(e.v[k], w.v[k], rate);
        half.set(k, w.v[k]);
    }
    pack_store<float, N>(a.w + pos, w);
    if (a.m1)
        pack_store<float, N>(a.m1 + pos, m1);
    if (a.m2)
        pack_store<float, N>(a.m2 + pos, m2);
    if (a.ema)
        pack_store<float, N>(a.ema + pos, e);
    if (a.half)
        pack_store<H, N>(a.half + pos, half);
}

template <class H, int N>
__device__ static inline void ema_pack(const flat_arrays<H> &a, int64_t pos, float rate)
{
    pack<float, N> w = pack_load<N>(a.w + pos), e = pack_load<N>(a.ema + pos);

    for (int k = 0; k < N; k++)
        e.v[k] = ema_element(e.v[k], w.v[k], rate);
    pack_store<float, N>(a.ema + pos, e);
}

/* Adds the squares of N weights from the i-th of piece p on, and of the measured
 * values. */
template <class K, class H, int N>
__device__ static inline void measure_pack(const flat_arrays<H> &a, const piece &p, int i,
                                           const typename K::rule &r, double *w2,
                                           double *x2)
{
    int64_t pos = p.first + i;
    pack<float, N> g = grads_load<H, N>(a, p, i), w = pack_load<N>(a.w + pos), m1 = w,
                   m2 = w;

    if (a.m1)
        m1 = pack_load<N>(a.m1 + pos);
    if (a.m2)
        m2 = pack_load<N>(a.m2 + pos);
    for (int k = 0; k < N; k++) {
        double x = (double)K::measured(w.v[k], m1.v[k], m2.v[k], g.v[k], r);

        *w2 += (double)w.v[k] * (double)w.v[k];
        *x2 += x * x;
    }
}

#endif
