/* Window attention's scores of a query and a key (cuda/window_attention_tiles.h). */
#ifndef CUDA_WINDOW_ATTENTION_SCORES_H
#define CUDA_WINDOW_ATTENTION_SCORES_H

#include "cuda/window_attention_tiles.h"

/* The head's column of the table: its address and the distance between rows. */
struct biases {
    const float *table; /* NULL if there is no table */
    int step;
};

/* Copies the column to `shared` if it is short; a barrier must follow. */
__device__ static inline biases biases_of(const attention &k, int head, float *shared)
{
    int n = attention_copied(k);

    for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x)
        shared[i] = k.table[(int64_t)i * k.heads + head];
    if (n)
        return {shared, 1};
    return {k.table ? k.table + head : nullptr, k.heads};
}

/* Computes a score from s = scale * q . k. */
__device__ static inline float score(const attention &k, const biases &b, float s,
                                     const token &query, const token &key)
{
    if (b.table)
        s += b.table[(int64_t)(query.code - key.code + k.center) * b.step];
    return query.region == key.region ? s : s + WINDOW_ATTENTION_MASK;
}

/* Draws dropout's random numbers for the weights of a query and keys j to j + 3. */
__device__ static inline struct philox masks_of(const attention &k, const unit &u,
                                                int pixel, int j)
{
    uint64_t row = (uint64_t)((u.drawn + pixel) * k.heads + u.head);

    return window_attention_block(k.control->seed, (uint64_t)k.control->micro, k.salt,
                                  row, k.tokens, j);
}

/* Returns dropout's factor for the weight of key j. */
__device__ static inline float mask_in(const struct philox &r, int j, float rate)
{
    uint32_t low = j % 2 ? r.v[1] : r.v[0], high = j % 2 ? r.v[3] : r.v[2];

    return dropout_factor(j % 4 < 2 ? low : high, rate);
}

__device__ static inline float mask_of(const attention &k, const unit &u, int pixel,
                                       int j)
{
    return k.control ? mask_in(masks_of(k, u, pixel, j), j, k.rate) : 1;
}

/*
 * Adds a tile's numbers of pairs, with row stride `stride` per query, to sums of the
 * table's rows. query, key: the first token of each. Called by all threads; a thread has
 * complete sums.
 */
template <int TILE>
__device__ static inline void add_offsets(const attention &k, const token *queries,
                                          const token *keys, int query, int key,
                                          const float *pairs, int stride, float *sums)
{
    int w = k.grid.window_w, h = k.grid.window_h, wide = 2 * w - 1;
    int low = queries[0].code - keys[TILE - 1].code + k.center;
    int high = queries[TILE - 1].code - keys[0].code + k.center;

    for (int e = low + (int)threadIdx.x; e <= high; e += (int)blockDim.x) {
        int down = e / wide - (h - 1), right = e % wide - (w - 1);
        float sum = 0;

        for (int i = 0; i < TILE && query + i < k.tokens; i++) {
            int y = (query + i) / w - down, x = (query + i) % w - right;
            int j = y * w + x - key;

            if (y >= 0 && y < h && x >= 0 && x < w && j >= 0 && j < TILE)
                sum += pairs[i * stride + j];
        }
        sums[e] += sum;
    }
}

#endif
