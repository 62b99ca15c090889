/*
 * Window attention of 16-bit types on tensor cores (cuda/mma.h), shared by its passes. A
 * block of 4 warps has a tile of 64 queries and one of 64 keys of a unit. Warp w has
 * queries 16 w to 16 w + 15 of the pairs and, for sums over queries, the keys with these
 * numbers.
 *
 *   cuda/attention_mma.cu        claim, forward: online softmax (cuda/window_attention.cu)
 *   cuda/attention_mma_tile.h    loads of tiles, norms, dropout's masks, stores
 *   cuda/attention_mma_scores.h  GEMMs of tiles, scores
 *   cuda/attention_mma_load.h    shared memory of the gradients
 *   cuda/attention_mma_pairs.h   gradients for a tile of queries and one of keys
 *   cuda/attention_mma_rows.h    gradients summed for queries and keys
 *   cuda/attention_mma_grad.cu   windows of one tile: all gradients in one kernel
 *   cuda/attention_mma_tiles.cu  others: dq, then dk and dv, then sums over windows
 *
 * Scores are sums of exact products, and softmax is fp32; weights and gradients of scores
 * are rounded to 16 bits as factors of the next GEMM, as in PyTorch's and cuDNN's
 * attention. Cosine attention divides the scores by the norms of q and k.
 */
#ifndef CUDA_ATTENTION_MMA_H
#define CUDA_ATTENTION_MMA_H

#include "cuda/mma.h"
#include "cuda/window_attention_scores.h"

constexpr int MMA_WARPS = 4, MMA_THREADS = 32 * MMA_WARPS;
constexpr float LOG2_E = 1.44269504f, LN_2 = 0.693147181f;

/* Sizes for heads of up to D features. */
template <int D_> struct attention_mma {
    static constexpr int D = D_, TILE = 16 * MMA_WARPS;
    static constexpr int STRIDE = D + 8, PAIRS = TILE + 8; /* of features; of pairs */
    static constexpr int FEATURES = TILE * STRIDE, SCORES = TILE * PAIRS; /* elements */
};

/* Runs one statement with S the sizes for this head. */
#define WITH_ATTENTION_MMA(head, S, ...)                                                 \
    do {                                                                                 \
        if ((head) <= 32) {                                                              \
            using S = attention_mma<32>;                                                 \
            __VA_ARGS__;                                                                 \
        } else {                                                                         \
            using S = attention_mma<64>;                                                 \
            __VA_ARGS__;                                                                 \
        }                                                                                \
    } while (0)

/* Returns why these kernels do not support a node, or NULL. */
static inline const char *attention_mma_refuses(const struct node *n, enum dtype d)
{
    attention k = attention_of_node(n);

    if (d == DTYPE_F32)
        return "tensor cores want 16-bit types";
    if (!k.vectors || k.head > 64)
        return "tensor cores want heads of whole vectors, of at most 64 features";
    if (window_attention_slot(n, WINDOW_ATTENTION_TABLE) >= 0 &&
        k.offsets > ATTENTION_OFFSETS)
        return "tensor cores want a table of at most 4096 offsets";
    return nullptr;
}

/* Per warp: pairs of its queries and the tile's keys, or features of 16 rows. */
template <class S> using mma_pairs = float[S::TILE / 8][4];
template <class S> using mma_rows = float[S::D / 8][4];

__device__ static inline int mma_warp(void)
{
    return (int)threadIdx.x / 32;
}

#endif
