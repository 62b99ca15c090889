/*
 * Window attention on the GPU, what its passes share. A unit is one head of one window of
 * one image; a block works on a tile of `TILE` of its tokens, queries or keys, and walks
 * over the others tile by tile. Tiles are fp32 in shared memory (cuda/tile_gemm.h);
 * roll, padding and partition are arithmetic of the loads and stores (ops/window_grid.h).
 *
 *   cuda/window_attention.cu        claim, forward: softmax online, so no score is stored
 *   cuda/window_attention_grad.cu   dq and delta; then dk and dv, and what padding gets
 *   cuda/window_attention_sums.cu   dtable and dlogit_scale: sums over windows
 *
 * delta of a query is sum over j of p m da, which the gradients of its scores subtract.
 */
#ifndef CUDA_WINDOW_ATTENTION_H
#define CUDA_WINDOW_ATTENTION_H

#include "cuda/tile_gemm.h"
#include "graph/kernel.h"
#include "ops/control.h"
#include "ops/window_attention.h"
#include "ops/window_attention_formula.h"

enum { ATTENTION_Q, ATTENTION_K, ATTENTION_V };

/* A table of at most so many offsets is copied to shared memory, for one head. */
enum { ATTENTION_OFFSETS = 4096 };

struct attention {
    window_grid grid;
    int64_t pixels, units; /* of a map; units: images * windows, each with all heads */
    int heads, head, channels, windows, tokens;
    int offsets, centre; /* rows of the table; that of a token with itself */
    float scale, rate;
    uint32_t salt;
    const float *table, *logit_scale, *pad; /* or NULL */
    const struct control *control;          /* NULL: no dropout */
    bool vectors;                           /* a head's features are whole vectors */
};

/* From a node of either op without its inputs, or from a step with them. */
attention attention_of_node(const struct node *n);
attention attention_of(const struct step *s);

/* Floats that attention_sums_run() needs; it does nothing if nobody wants its results. */
int64_t attention_sums(const attention &k, const struct device *dev);
void attention_sums_run(const struct step *s, struct device *dev, const attention &k,
                        const float *delta, float *sums);

/* The sizes of tiles for heads of up to D features. */
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

/* Launches with that many floats of dynamic shared memory, and a copy of the table. */
#define ATTENTION_LAUNCH(dev, k, kernel, grid, floats, ...)                              \
    do {                                                                                 \
        size_t shared_ = ((size_t)(floats) + attention_copied(k)) * sizeof(float);       \
                                                                                         \
        if (shared_ > 48 << 10)                                                          \
            CUDA_CHECK(dev, cudaFuncSetAttribute(                                        \
                                kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,     \
                                (int)shared_));                                          \
        LAUNCH(dev, kernel, grid, TILE_GEMM_THREADS, shared_, __VA_ARGS__);              \
    } while (0)

HOST_DEVICE static inline int attention_copied(const attention &k)
{
    return k.table && k.offsets <= ATTENTION_OFFSETS ? k.offsets : 0;
}

/* ---- one unit ---- */

struct unit {
    int64_t pixel; /* the first of its image */
    int window, head;
    float scale;
};

__device__ static inline unit unit_of(const attention &k, int64_t index, int head)
{
    float scale =
        k.logit_scale ? (float)window_attention_scale(k.logit_scale[head]) : k.scale;

    return {index / k.windows * k.pixels, (int)(index % k.windows), head, scale};
}

/* The block's tile of a unit: neighbouring blocks have tiles of one unit, then heads. */
struct attention_block {
    unit u;
    int64_t index;          /* of the unit, without the head */
    int tile, tiles, first; /* first: token */
};

template <class S>
__device__ static inline attention_block attention_block_of(const attention &k)
{
    unsigned tiles = (unsigned)(k.tokens + S::TILE - 1) / S::TILE, b = blockIdx.x;
    unsigned heads = (unsigned)k.heads, tile = b % tiles, index = b / tiles / heads;

    return {unit_of(k, index, (int)(b / tiles % heads)), index, (int)tile, (int)tiles,
            (int)tile * S::TILE};
}

struct token {
    int pixel; /* of the map; -1: padding, or there is none */
    int code;  /* query's - key's + centre: the row of the table */
    int region;
};

/* Tokens after the last look like it, but have no pixel. */
template <int TILE>
__device__ static inline void load_tokens(const attention &k, const unit &u, int first,
                                          token *to)
{
    int t = (int)threadIdx.x, i = first + t;

    if (t >= TILE)
        return;
    to[t].pixel = i < k.tokens ? window_grid_pixel(&k.grid, u.window, i) : -1;
    i = i < k.tokens ? i : k.tokens - 1;
    to[t].code = i / k.grid.window_w * (2 * k.grid.window_w - 1) + i % k.grid.window_w;
    to[t].region = window_grid_region(&k.grid, u.window, i);
}

/* Where q, k or v of a pixel of the unit's map is in qkv, and its result in y. */
__device__ static inline int64_t part_at(const attention &k, const unit &u, int pixel,
                                         int part)
{
    return (3 * (u.pixel + pixel) + part) * k.channels + (int64_t)u.head * k.head;
}

__device__ static inline int64_t result_at(const attention &k, const unit &u, int pixel)
{
    return (u.pixel + pixel) * k.channels + (int64_t)u.head * k.head;
}

/* Features of a head: of a pixel at x + pixel * step, of padding in pad (or NULL: 0). */
template <class T> struct features {
    const T *x;
    int64_t step;
    const float *pad;
};

template <class T>
__device__ static inline features<T> part_of(const attention &k, const unit &u,
                                             const T *qkv, int part)
{
    int64_t in_pad = (int64_t)part * k.channels + (int64_t)u.head * k.head;

    return {qkv + part_at(k, u, 0, part), 3 * (int64_t)k.channels,
            k.pad ? k.pad + in_pad : nullptr};
}

/* From dy. */
template <class T>
__device__ static inline features<T> result_of(const attention &k, const unit &u,
                                               const T *dy)
{
    return {dy + result_at(k, u, 0), k.channels, nullptr};
}

/* to[token][feature]; zeros after the head's features and for tokens after the last. */
template <class S, int N, class T>
__device__ static inline void load_packs(const attention &k, const features<T> &f,
                                         const token *tokens, int first, float *to)
{
    constexpr int PACKS = S::D / N;

    for (int e = (int)threadIdx.x; e < S::TILE * PACKS; e += TILE_GEMM_THREADS) {
        int row = e / PACKS, d = e % PACKS * N, pixel = tokens[row].pixel;
        pack<T, N> a = {};

        if (pixel >= 0 && d < k.head)
            a = pack_load<N>(f.x + pixel * f.step + d);
        UNROLL_WHOLE
        for (int i = 0; i < N; i++)
            to[row * S::STRIDE + d + i] =
                pixel < 0 && f.pad && first + row < k.tokens && d < k.head ? f.pad[d + i]
                                                                           : a.get(i);
    }
}

template <class S, class T>
__device__ static inline void load_features(const attention &k, const features<T> &f,
                                            const token *tokens, int first, float *to)
{
    if (k.vectors)
        load_packs<S, vec<T>::N>(k, f, tokens, first, to);
    else
        load_packs<S, 1>(k, f, tokens, first, to);
}

/* Sums over the 16 threads that share a row. */
__device__ static inline float row_of_16_sum(float v)
{
    for (int lanes = TILE_GEMM_SIDE / 2; lanes > 0; lanes /= 2)
        v += __shfl_xor_sync(0xffffffffu, v, lanes);
    return v;
}

/*
 * Rows become directions, norm[a] is what those of this thread were divided by. All
 * threads come here; the tile has to be there, and is for all after a barrier.
 */
template <class S>
__device__ static inline void normalise(const attention &k, float *tile,
                                        float (&norm)[S::R])
{
    UNROLL_WHOLE
    for (int a = 0; a < S::R; a++) {
        float *x = tile + tile_gemm_row(a) * S::STRIDE, sum = 0;

        for (int d = tile_gemm_x(); d < k.head; d += TILE_GEMM_SIDE)
            sum += x[d] * x[d];
        norm[a] = sqrtf(row_of_16_sum(sum));
        norm[a] = norm[a] < WINDOW_ATTENTION_NORM ? WINDOW_ATTENTION_NORM : norm[a];
        for (int d = tile_gemm_x(); d < k.head; d += TILE_GEMM_SIDE)
            x[d] /= norm[a];
    }
}

/*
 * From the gradient of a row's direction that of the row; the thread has C neighbouring
 * features of it. A norm that was held at its least value is a constant.
 */
template <class S>
__device__ static inline void from_direction(const float *tile, int a, float norm,
                                             float (&d)[S::C])
{
    const float *u = tile + tile_gemm_row(a) * S::STRIDE + tile_gemm_x() * S::C;
    float along = 0;

    UNROLL_WHOLE
    for (int c = 0; c < S::C; c++)
        along += d[c] * u[c];
    along = row_of_16_sum(along);
    if (!(norm > WINDOW_ATTENTION_NORM))
        along = 0;
    UNROLL_WHOLE
    for (int c = 0; c < S::C; c++)
        d[c] = (d[c] - u[c] * along) / norm;
}

/* ---- scores ---- */

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

    uint64_t row = (uint64_t)((u.pixel + pixel) * k.heads + u.head);
    struct philox r = window_attention_block(k.control->seed, (uint64_t)k.control->micro,
                                             k.salt, row, k.tokens, j);
    uint32_t low = j % 2 ? r.v[1] : r.v[0], high = j % 2 ? r.v[3] : r.v[2];

    return dropout_factor(j % 4 < 2 ? low : high, k.rate);
}

#endif
