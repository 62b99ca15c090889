/*
 * Window attention of 16-bit types on tensor cores (cuda/mma.h), what its passes share.
 * A block of 4 warps has a tile of 64 queries and one of 64 keys of a unit; warp w has
 * queries 16 w to 16 w + 15 of the pairs, and of what is summed over queries those keys.
 *
 *   cuda/attention_mma.cu        claim, forward: softmax online (cuda/window_attention.cu)
 *   cuda/attention_mma_pairs.h   what gradients compute of two tiles
 *   cuda/attention_mma_grad.cu   windows of one tile: all gradients in one kernel
 *   cuda/attention_mma_tiles.cu  others: dq, then dk and dv, then sums over windows
 *
 * Scores are sums of exact products, and all of softmax is fp32; weights and gradients of
 * scores are rounded to 16 bits as factors of the next GEMM, as in PyTorch's and cuDNN's
 * attention. Cosine attention divides the scores by the norms of q and k.
 */
#ifndef CUDA_ATTENTION_MMA_H
#define CUDA_ATTENTION_MMA_H

#include "cuda/mma.h"
#include "cuda/window_attention_scores.h"

constexpr int MMA_WARPS = 4, MMA_THREADS = 32 * MMA_WARPS;
constexpr float LOG2_E = 1.44269504f, LN_2 = 0.693147181f;

/* For heads of up to D features. */
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

/* Why these kernels do not take a node, or NULL. */
static inline const char *attention_mma_refuses(const attention &k, enum dtype d)
{
    if (d == DTYPE_F32)
        return "tensor cores want 16-bit types";
    if (!k.vectors || k.head > 64)
        return "tensor cores want heads of whole vectors, of at most 64 features";
    if (k.offsets > ATTENTION_OFFSETS)
        return "tensor cores want a table of at most 4096 offsets";
    return nullptr;
}

/* Of a warp: pairs of its queries and the tile's keys, or features of 16 rows. */
template <class S> using mma_pairs = float[S::TILE / 8][4];
template <class S> using mma_rows = float[S::D / 8][4];

__device__ static inline int mma_warp(void)
{
    return (int)threadIdx.x / 32;
}

/* ---- tiles ---- */

/* What a thread loads of a tile: whole vectors of some rows. */
template <class S, class T> struct tile_part {
    static constexpr int N = vec<T>::N, PACKS = S::D / N;
    static constexpr int COUNT = S::TILE * PACKS / MMA_THREADS;
    vec<T> v[COUNT];
};

/* [token][feature]; zeros after the head's features and for tokens after the last. Loads
 * of several tiles are all under way before the first is stored. */
template <class S, class T>
__device__ static inline void load_part(const attention &k, const features<T> &f,
                                        const token *tokens, int first,
                                        tile_part<S, T> &to)
{
    using P = tile_part<S, T>;

    UNROLL_WHOLE
    for (int c = 0; c < P::COUNT; c++) {
        int e = (int)threadIdx.x + c * MMA_THREADS, d = e % P::PACKS * P::N;
        int pixel = tokens[e / P::PACKS].pixel;

        to.v[c] = {};
        if (pixel >= 0 && d < k.head)
            to.v[c] = vec_load(f.x + pixel * f.step + d);
    }
    if (!f.pad)
        return;
    UNROLL_WHOLE
    for (int c = 0; c < P::COUNT; c++) {
        int e = (int)threadIdx.x + c * MMA_THREADS, d = e % P::PACKS * P::N;
        int row = e / P::PACKS;

        if (tokens[row].pixel < 0 && first + row < k.tokens && d < k.head)
            for (int i = 0; i < P::N; i++)
                to.v[c].set(i, f.pad[d + i]);
    }
}

template <class S, class T>
__device__ static inline void store_part(const tile_part<S, T> &part, T *to)
{
    using P = tile_part<S, T>;

    UNROLL_WHOLE
    for (int c = 0; c < P::COUNT; c++) {
        int e = (int)threadIdx.x + c * MMA_THREADS;

        vec_store(to + e / P::PACKS * S::STRIDE + e % P::PACKS * P::N, part.v[c]);
    }
}

/* Cosine attention: the tokens' rows are to be divided by their norms. A barrier has to
 * follow. */
template <class S, class T>
__device__ static inline void norms_of(const T *tile, token *tokens)
{
    int row = (int)threadIdx.x / 2, part = (int)threadIdx.x % 2;
    float sum = 0, norm;

    for (int d = part; d < S::D; d += 2) {
        float x = to_float(tile[row * S::STRIDE + d]);

        sum += x * x;
    }
    norm = sqrtf(sum + __shfl_xor_sync(0xffffffffu, sum, 1));
    if (part == 0)
        tokens[row].by = 1 / (norm < WINDOW_ATTENTION_NORM ? WINDOW_ATTENTION_NORM : norm);
}

/* And are divided; a barrier has to follow. */
template <class S, class T>
__device__ static inline void directions(T *tile, const token *tokens)
{
    int row = (int)threadIdx.x / 2, part = (int)threadIdx.x % 2;

    for (int d = part; d < S::D; d += 2) {
        T *x = tile + row * S::STRIDE + d;

        *x = from_float<T>(to_float(*x) * tokens[row].by);
    }
}

/* Dropout's masks of a tile of pairs: bit j % 32 of keep[row][j / 32]. A barrier has to
 * follow. */
template <int TILE>
__device__ static inline void draw_masks(const attention &k, const unit &u,
                                         const token *query, int first,
                                         uint32_t (*keep)[TILE / 32])
{
    int row = (int)threadIdx.x / 2, part = (int)threadIdx.x % 2;
    uint32_t bits = 0;

    for (int j = 0; j < 32; j += 4) {
        struct philox r = masks_of(k, u, query[row].pixel, first + 32 * part + j);

        for (int e = 0; e < 4; e++)
            bits |= (uint32_t)(mask_in(r, e, k.rate) != 0) << (j + e);
    }
    keep[row][part] = bits;
}

/* The warp's rows, through its rows of `tile`, to where `at` says that a pixel's are. */
template <class S, class T, class F>
__device__ static inline void store_rows(const attention &k, const token *tokens,
                                         const mma_rows<S> &x, T *tile, F at)
{
    constexpr int N = vec<T>::N, PACKS = S::D / N;
    int first = 16 * mma_warp();

    __syncwarp();
    UNROLL_WHOLE
    for (int c = 0; c < S::D / 8; c++)
        UNROLL_WHOLE
        for (int i = 0; i < 4; i += 2)
            *reinterpret_cast<uint32_t *>(tile + (first + mma_row(i)) * S::STRIDE +
                                          8 * c + mma_column(0)) =
                mma_pack(T{}, x[c][i], x[c][i + 1]);
    __syncwarp();
    UNROLL_WHOLE
    for (int e = mma_lane(); e < 16 * PACKS; e += 32) {
        int row = first + e / PACKS, d = e % PACKS * N, pixel = tokens[row].pixel;

        if (pixel >= 0 && d < k.head)
            vec_store(at(pixel) + d, vec_load(tile + row * S::STRIDE + d));
    }
}

/* ---- GEMMs ---- */

/* Of the warp's rows of x and the first `n` rows of y. */
template <class S, class T>
__device__ static inline void dot_rows(mma_pairs<S> &sum, const T *x, const T *y, int n)
{
    UNROLL_WHOLE
    for (int d = 0; d < S::D; d += 16) {
        mma_a a = mma_a_of(x, S::STRIDE, 16 * mma_warp(), d);

        UNROLL_WHOLE
        for (int j = 0; j < S::TILE; j += 16)
            if (j < n)
                mma<T>(sum[j / 8], sum[j / 8 + 1], a, mma_b_of_rows(y, S::STRIDE, j, d));
    }
}

/* Adds `pairs(j)`, rows of the warp and tokens j to j + 15, times the first n rows of v. */
template <class S, class T, class F>
__device__ static inline void mul_rows(mma_rows<S> &sum, F pairs, const T *v, int n)
{
    UNROLL_WHOLE
    for (int j = 0; j < S::TILE; j += 16) {
        if (j >= n)
            continue;

        mma_a a = pairs(j);

        UNROLL_WHOLE
        for (int d = 0; d < S::D; d += 16)
            mma<T>(sum[d / 8], sum[d / 8 + 1], a, mma_b_of(v, S::STRIDE, j, d));
    }
}

/* ---- scores ---- */

/* Copies a head's column of the table to shared memory; a barrier has to follow. */
__device__ static inline void load_table(const attention &k, int head, float *to)
{
    for (int i = (int)threadIdx.x; k.table && i < k.offsets; i += MMA_THREADS)
        to[i] = k.table[(int64_t)i * k.heads + head];
}

/*
 * q . k becomes the scores in base 2 of the warp's queries and the first `left` keys of
 * the tile; no others: -infinity. What a call has not is not asked for pair by pair.
 */
template <class S>
__device__ static inline void scores_of(const attention &k, const unit &u,
                                        const float *table, const token *query,
                                        const token *key, int left, mma_pairs<S> &s)
{
    int row = 16 * mma_warp() + mma_row(0);
    float scale = LOG2_E * u.scale;

    UNROLL_WHOLE
    for (int n = 0; n < S::TILE / 8; n++)
        UNROLL_WHOLE
        for (int i = 0; i < 4; i++)
            s[n][i] *= scale;
    if (k.logit_scale) {
        float by[] = {query[row].by, query[row + 8].by};

        UNROLL_WHOLE
        for (int n = 0; n < S::TILE / 8; n++)
            UNROLL_WHOLE
            for (int i = 0; i < 4; i++)
                s[n][i] *= by[i / 2] * key[8 * n + mma_column(i)].by;
    }
    if (k.table) {
        const float *at[] = {table + query[row].code + k.centre,
                             table + query[row + 8].code + k.centre};

        UNROLL_WHOLE
        for (int n = 0; n < S::TILE / 8; n++)
            UNROLL_WHOLE
            for (int i = 0; i < 4; i++)
                s[n][i] += LOG2_E * at[i / 2][-key[8 * n + mma_column(i)].code];
    }
    if (window_grid_divided(&k.grid, u.window)) {
        int region[] = {query[row].region, query[row + 8].region};

        UNROLL_WHOLE
        for (int n = 0; n < S::TILE / 8; n++)
            UNROLL_WHOLE
            for (int i = 0; i < 4; i++)
                if (region[i / 2] != key[8 * n + mma_column(i)].region)
                    s[n][i] += LOG2_E * WINDOW_ATTENTION_MASK;
    }
    if (left < S::TILE) {
        UNROLL_WHOLE
        for (int n = 0; n < S::TILE / 8; n++)
            UNROLL_WHOLE
            for (int i = 0; i < 4; i++)
                s[n][i] = 8 * n + mma_column(i) < left ? s[n][i] : -INFINITY;
    }
}

/* What dropout multiplies the weight of a pair of the tiles with. */
template <class S>
__device__ static inline float kept(const uint32_t (*keep)[S::TILE / 32], int row, int j,
                                    float factor)
{
    return keep[row][j / 32] >> (j % 32) & 1 ? factor : 0;
}

#endif
