/*
 * Shared memory of the gradient of window attention on tensor cores
 * (cuda/attention_mma.h), and its loads.
 */
#ifndef CUDA_ATTENTION_MMA_LOAD_H
#define CUDA_ATTENTION_MMA_LOAD_H

#include "cuda/attention_mma_scores.h"

/* A block's shared memory: q, k, v, dy, and pairs. */
template <class S, class T> struct grad_tiles {
    T *q, *k, *v, *dy;
    /* [query][key]: weights times dropout's mask; gradient of the scores */
    T *weights, *ds;
    uint32_t (*keep)[S::TILE / 32];
    float *table;

    static constexpr int FLOATS =
        (4 * S::FEATURES + 2 * S::SCORES) * (int)sizeof(T) / (int)sizeof(float) +
        S::TILE * S::TILE / 32;

    __device__ grad_tiles(unsigned char *bytes)
        : q(reinterpret_cast<T *>(bytes)), k(q + S::FEATURES), v(k + S::FEATURES),
          dy(v + S::FEATURES), weights(dy + S::FEATURES), ds(weights + S::SCORES),
          keep(reinterpret_cast<uint32_t(*)[S::TILE / 32]>(ds + S::SCORES)),
          table(reinterpret_cast<float *>(keep + S::TILE))
    {
    }
};

/* Loads two tiles of the same tokens. */
template <class S, class T>
__device__ static inline void load_two(const attention &k, const features<T> &a,
                                       const features<T> &b, const token *tokens,
                                       int first, T *to_a, T *to_b)
{
    tile_part<S, T> part[2];

    load_part<S>(k, a, tokens, part[0]);
    load_part<S>(k, b, tokens, part[1]);
    store_part<S>(k, a, tokens, first, part[0], to_a);
    store_part<S>(k, b, tokens, first, part[1], to_b);
}

/* Loads all four tiles of a window of one tile. */
template <class S, class T>
__device__ static inline void load_four(const attention &k, const unit &u, const T *qkv,
                                        const T *dy, const token *query,
                                        const token *key, const grad_tiles<S, T> &t)
{
    features<T> fq = part_of(k, u, qkv, ATTENTION_Q), fk = part_of(k, u, qkv, ATTENTION_K);
    features<T> fv = part_of(k, u, qkv, ATTENTION_V), fy = result_of(k, u, dy);
    tile_part<S, T> part[4];

    load_part<S>(k, fq, query, part[0]);
    load_part<S>(k, fk, key, part[1]);
    load_part<S>(k, fv, key, part[2]);
    load_part<S>(k, fy, query, part[3]);
    store_part<S>(k, fq, query, 0, part[0], t.q);
    store_part<S>(k, fk, key, 0, part[1], t.k);
    store_part<S>(k, fv, key, 0, part[2], t.v);
    store_part<S>(k, fy, query, 0, part[3], t.dy);
}

/* Loads the norms and masks needed by the pairs. Called by all threads; ends with a
 * barrier if there are any. */
template <class S, class T>
__device__ static inline void load_masks(const attention &k, const unit &u,
                                         const grad_tiles<S, T> &t, token *query,
                                         token *key, int first)
{
    if (k.control)
        draw_masks<S::TILE>(k, u, query, first, t.keep);
    if (k.logit_scale) {
        norms_of<S>(t.q, query);
        norms_of<S>(t.k, key);
    }
    if (k.control || k.logit_scale)
        __syncthreads();
}

#endif
