/* Window attention's scores of a query and a key (cuda/window_attention_tiles.h). */
#ifndef CUDA_WINDOW_ATTENTION_SCORES_H
#define CUDA_WINDOW_ATTENTION_SCORES_H

#include "cuda/window_attention_tiles.h"

/* The head's column of the table: where, and how far its rows are apart. */
struct biases {
    const float *at; /* NULL: none */
    int step;
};

/* Copies it to `shared` if it is short; a barrier has to follow. */
__device__ static inline biases biases_of(const attention &k, int head, float *shared)
{
    int n = attention_copied(k);

    for (int i = (int)threadIdx.x; i < n; i += TILE_GEMM_THREADS)
        shared[i] = k.table[(int64_t)i * k.heads + head];
    if (n)
        return {shared, 1};
    return {k.table ? k.table + head : nullptr, k.heads};
}

/* From scale * q . k */
__device__ static inline float score(const attention &k, const biases &b, float s,
                                     const token &query, const token &key)
{
    if (b.at)
        s += b.at[(int64_t)(query.code - key.code + k.centre) * b.step];
    return query.region == key.region ? s : s + WINDOW_ATTENTION_MASK;
}

/* What dropout multiplies the weight of a query's key j with. */
__device__ static inline float mask_of(const attention &k, const unit &u, int pixel,
                                       int j)
{
    if (!k.control)
        return 1;

    uint64_t row = (uint64_t)((u.drawn + pixel) * k.heads + u.head);
    struct philox r = window_attention_block(k.control->seed, (uint64_t)k.control->micro,
                                             k.salt, row, k.tokens, j);
    uint32_t low = j % 2 ? r.v[1] : r.v[0], high = j % 2 ? r.v[3] : r.v[2];

    return dropout_factor(j % 4 < 2 ? low : high, k.rate);
}

#endif
