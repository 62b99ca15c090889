/*
 * Window attention on the GPU, shared by its passes. A unit is one head of one window of
 * one image; a block processes a tile of `TILE` of its tokens, queries or keys, and loops
 * over the others tile by tile. Tiles are fp32 in shared memory (cuda/tile_gemm.h); roll,
 * padding, and partition are address arithmetic in the loads and stores
 * (ops/window_grid.h).
 *
 *   cuda/window_attention.cu        claim, forward: online softmax, so no score is stored
 *   cuda/window_attention_grad.cu   dq and delta; then dk and dv, and gradients of padding
 *   cuda/window_attention_sums.cu   dtable and dlogit_scale: sums over windows
 *
 * delta of a query is the sum over j of p m da, subtracted by the gradients of its
 * scores.
 */
#ifndef CUDA_WINDOW_ATTENTION_H
#define CUDA_WINDOW_ATTENTION_H

#include "cuda/shared_memory.h"
#include "cuda/tile_gemm.h"
#include "graph/kernel.h"
#include "ops/control.h"
#include "ops/window_attention.h"
#include "ops/window_attention_formula.h"

enum { ATTENTION_Q, ATTENTION_K, ATTENTION_V };

/* Largest table, in offsets, that is copied to shared memory for one head. */
enum { ATTENTION_OFFSETS = 4096 };

struct attention {
    window_grid grid;
    /* pixels: per map; units: images * windows, each with all heads */
    int64_t pixels, units;
    int heads, head, channels, windows, tokens;
    int offsets, center; /* rows of the table; row of a token paired with itself */
    float scale, rate;
    uint32_t salt;
    struct share share;
    const float *table, *logit_scale, *pad; /* may be NULL */
    const struct control *control;          /* NULL: no dropout */
    /* a head's features are a whole number of vectors */
    bool vectors;
};

/* Made from a node of either op, without its inputs, or from a step, with them. */
attention attention_of_node(const struct node *n);
attention attention_of(const struct step *s);

/*
 * Sums over windows, [groups][heads][offsets + 1] floats: of the table's rows, and last
 * of logit_scale. attention_sums_run() computes and adds them; attention_sums_join() only
 * adds the groups, in fp64. Both do nothing if the results are not needed.
 */
int attention_groups(const attention &k, const struct device *dev);
int64_t attention_sums(const attention &k, const struct device *dev);
void attention_sums_run(const struct step *s, struct device *dev, const attention &k,
                        const float *delta, float *sums);
bool attention_sums_wanted(const attention &k, const struct step *s);
void attention_sums_join(const struct step *s, struct device *dev, const attention &k,
                         const float *sums);

/* Adds pads [rows][2][channels], for keys and values, to dpad [3][channels]; the part of
 * q is 0, because padded queries have no results. */
void attention_pads_join(struct device *dev, const attention &k, const float *pads,
                         float *dpad, int64_t rows);

/* Tile sizes for heads of up to D features. */
template <int D_> struct attention_tiles {
    static constexpr int D = D_, TILE = D <= 64 ? 64 : 32, R = TILE / TILE_GEMM_SIDE;
    static constexpr int C = D / TILE_GEMM_SIDE;
    static constexpr int STRIDE = D + 4, PAIRS = TILE + 4; /* of features; of scores */
    static constexpr int FEATURES = TILE * STRIDE, SCORES = TILE * PAIRS; /* floats */
};

/* Runs one statement with S the sizes for this head. */
#define WITH_ATTENTION(head, S, ...)                                                     \
    do {                                                                                 \
        if ((head) <= 32) {                                                              \
            using S = attention_tiles<32>;                                               \
            __VA_ARGS__;                                                                 \
        } else if ((head) <= 64) {                                                       \
            using S = attention_tiles<64>;                                               \
            __VA_ARGS__;                                                                 \
        } else if ((head) <= 128) {                                                      \
            using S = attention_tiles<128>;                                              \
            __VA_ARGS__;                                                                 \
        } else {                                                                         \
            using S = attention_tiles<256>;                                              \
            __VA_ARGS__;                                                                 \
        }                                                                                \
    } while (0)

/* Launches with `floats` floats of dynamic shared memory plus a copy of the table. */
#define ATTENTION_LAUNCH(dev, k, kernel, grid, threads, floats, ...)                     \
    do {                                                                                 \
        size_t shared_ = ((size_t)(floats) + attention_copied(k)) * sizeof(float);       \
                                                                                         \
        ALLOW_SHARED(dev, kernel, shared_);                                              \
        LAUNCH(dev, kernel, grid, threads, shared_, __VA_ARGS__);                        \
    } while (0)

HOST_DEVICE static inline int attention_copied(const attention &k)
{
    return k.table && k.offsets <= ATTENTION_OFFSETS ? k.offsets : 0;
}

/* ---- one unit ---- */

struct unit {
    int64_t pixel; /* first pixel of its image */
    int64_t drawn; /* likewise, as dropout counts it */
    int window, head;
    float scale;
};

__device__ static inline unit unit_of(const attention &k, int64_t index, int head)
{
    float scale =
        k.logit_scale ? (float)window_attention_scale(k.logit_scale[head]) : k.scale;

    unsigned image = (unsigned)index / (unsigned)k.windows; /* as blocks are counted */

    return {image * k.pixels, share_image(k.share, image) * k.pixels,
            (int)((unsigned)index - image * (unsigned)k.windows), head, scale};
}

/* The block's tile of a unit: neighboring blocks have tiles of one unit, then heads. */
struct attention_block {
    unit u;
    int64_t index;          /* of the unit, without the head */
    int tile, tiles, first; /* first: its first token */
};

template <class S>
__device__ static inline attention_block attention_block_of(const attention &k)
{
    unsigned tiles = (unsigned)(k.tokens + S::TILE - 1) / S::TILE, b = blockIdx.x;
    unsigned heads = (unsigned)k.heads, tile = b % tiles, index = b / tiles / heads;

    return {unit_of(k, index, (int)(b / tiles % heads)), index, (int)tile, (int)tiles,
            (int)tile * S::TILE};
}

#endif
