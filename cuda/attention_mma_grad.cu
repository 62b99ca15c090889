/*
 * The gradient of window attention on tensor cores. Weights are computed again from lse.
 *
 *   windows of one tile: a block walks over windows of one head: dq, dk, dv, what padding
 *   gets, and in registers the sums over windows. Bytes: qkv and dy once, dqkv once
 *   others: a block per tile of queries, delta by a walk over the keys, dq by another; a
 *   block per tile of keys, dk and dv; then the sums (cuda/window_attention_sums.cu)
 */
#include "cuda/attention_mma.h"

#include "cuda/kernels.h"
#include "cuda/reduce.h"

/* What of q, k, v, dy and pairs a block has in shared memory. */
template <class S, class T> struct grad_tiles {
    T *q, *k, *v, *dy;
    T *weights, *ds; /* [query][key]: with dropout's mask; the gradient of scores */
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

/* Two tiles of the same tokens. */
template <class S, class T>
__device__ static inline void load_two(const attention &k, const features<T> &a,
                                       const features<T> &b, const token *tokens,
                                       int first, T *to_a, T *to_b)
{
    tile_part<S, T> part[2];

    load_part<S>(k, a, tokens, first, part[0]);
    load_part<S>(k, b, tokens, first, part[1]);
    store_part<S>(part[0], to_a);
    store_part<S>(part[1], to_b);
}

/* All four of a window of one tile. */
template <class S, class T>
__device__ static inline void load_four(const attention &k, const unit &u, const T *qkv,
                                        const T *dy, const token *query,
                                        const token *key, const grad_tiles<S, T> &t)
{
    tile_part<S, T> part[4];

    load_part<S>(k, part_of(k, u, qkv, ATTENTION_Q), query, 0, part[0]);
    load_part<S>(k, part_of(k, u, qkv, ATTENTION_K), key, 0, part[1]);
    load_part<S>(k, part_of(k, u, qkv, ATTENTION_V), key, 0, part[2]);
    load_part<S>(k, result_of(k, u, dy), query, 0, part[3]);
    store_part<S>(part[0], t.q);
    store_part<S>(part[1], t.k);
    store_part<S>(part[2], t.v);
    store_part<S>(part[3], t.dy);
}

/* lse or delta of the lane's two queries, times `by`; `none` for padding. */
__device__ static inline void of_queries(const attention &k, const unit &u,
                                         const float *x, const token *query, float by,
                                         float none, float (&to)[2])
{
    UNROLL_WHOLE
    for (int half = 0; half < 2; half++) {
        int pixel = query[16 * mma_warp() + mma_row(2 * half)].pixel;

        to[half] =
            pixel < 0 ? none : by * x[(u.pixel + pixel) * k.heads + u.head];
    }
}

/* Pairs of the warp's rows, rounded; a barrier has to follow. */
template <class S, class T>
__device__ static inline void store_pairs(const mma_pairs<S> &x, T *to)
{
    UNROLL_WHOLE
    for (int n = 0; n < S::TILE / 8; n++)
        UNROLL_WHOLE
        for (int i = 0; i < 4; i += 2)
            *reinterpret_cast<uint32_t *>(to + (16 * mma_warp() + mma_row(i)) * S::PAIRS +
                                          8 * n + mma_column(0)) =
                mma_pack(T{}, x[n][i], x[n][i + 1]);
}

/*
 * p: the weights of the warp's queries and the first `left` keys; 0 where there is no such
 * query or key. da: the gradient of p. With dropout's masks the weights go to t.weights,
 * if somebody reads them there (KEEP).
 */
template <bool KEEP, class S, class T>
__device__ static inline void pairs_of(const attention &k, const unit &u,
                                       const grad_tiles<S, T> &t, const token *query,
                                       const token *key, int left,
                                       const float (&lse)[2], mma_pairs<S> &p,
                                       mma_pairs<S> &da)
{
    int row = 16 * mma_warp() + mma_row(0);

    dot_rows<S>(p, t.q, t.k, left);
    dot_rows<S>(da, t.dy, t.v, left);
    scores_of<S>(k, u, t.table, query, key, left, p);
    UNROLL_WHOLE
    for (int n = 0; n < S::TILE / 8; n++)
        UNROLL_WHOLE
        for (int i = 0; i < 4; i++)
            p[n][i] = mma_exp2(p[n][i] - lse[i / 2]);
    if (!k.control) {
        if (KEEP)
            store_pairs<S>(p, t.weights);
        return;
    }

    float factor = 1 / (1 - k.rate);

    UNROLL_WHOLE
    for (int n = 0; n < S::TILE / 8; n++)
        UNROLL_WHOLE
        for (int i = 0; i < 4; i += 2) {
            int at = row + 4 * i, j = 8 * n + mma_column(0);
            float m[] = {kept<S>(t.keep, at, j, factor),
                         kept<S>(t.keep, at, j + 1, factor)};

            da[n][i] *= m[0];
            da[n][i + 1] *= m[1];
            if (KEEP)
                *reinterpret_cast<uint32_t *>(t.weights + at * S::PAIRS + j) =
                    mma_pack(T{}, p[n][i] * m[0], p[n][i + 1] * m[1]);
        }
}

/* delta: the mean of da, weighted by p, of the lane's two queries; the lane's part. */
template <class S>
__device__ static inline void add_means(const mma_pairs<S> &p, const mma_pairs<S> &da,
                                        float (&mean)[2])
{
    UNROLL_WHOLE
    for (int n = 0; n < S::TILE / 8; n++)
        UNROLL_WHOLE
        for (int i = 0; i < 4; i++)
            mean[i / 2] += p[n][i] * da[n][i];
}

/* p becomes the gradient of the scores. */
template <class S>
__device__ static inline void grads_of_scores(const mma_pairs<S> &da,
                                              const float (&mean)[2], mma_pairs<S> &p)
{
    UNROLL_WHOLE
    for (int n = 0; n < S::TILE / 8; n++)
        UNROLL_WHOLE
        for (int i = 0; i < 4; i++)
            p[n][i] *= da[n][i] - mean[i / 2];
}

/* Sums over the first n queries for the warp's keys: of pairs in shared memory times rows. */
template <class S, class T>
__device__ static inline void add_keys(const T *pairs, const T *rows, int n,
                                       mma_rows<S> &sum)
{
    mul_rows<S>(
        sum,
        [&](int i) { return mma_a_of_columns(pairs, S::PAIRS, i, 16 * mma_warp()); },
        rows, n);
}

/* The gradient of q, k or v, of the rows of the warp. */
template <class S, class T>
__device__ static inline void store_grads(const attention &k, const unit &u,
                                          const token *tokens, const mma_rows<S> &x,
                                         T *tile, T *dqkv, int part)
{
    store_rows<S>(k, tokens, x, tile,
                  [&](int pixel) { return dqkv + part_at(k, u, pixel, part); });
}

/* What pairs need beside the tiles: norms and masks. All threads; ends with a barrier if
 * there are such. */
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

/*
 * From the gradients of scores' rows to those of q or k, whose directions `tile` has in
 * cosine attention; a norm that was held at its least value is a constant.
 */
template <class S, class T>
__device__ static inline void finish_rows(const attention &k, const unit &u,
                                           const T *tile, const token *tokens,
                                           mma_rows<S> &d)
{
    UNROLL_WHOLE
    for (int c = 0; c < S::D / 8; c++)
        UNROLL_WHOLE
        for (int i = 0; i < 4; i++)
            d[c][i] *= u.scale;
    if (!k.logit_scale)
        return;
    UNROLL_WHOLE
    for (int half = 0; half < 2; half++) {
        int row = 16 * mma_warp() + mma_row(2 * half);
        const T *x = tile + row * S::STRIDE;
        float along = 0, by = tokens[row].by;

        UNROLL_WHOLE
        for (int c = 0; c < S::D / 8; c++)
            UNROLL_WHOLE
            for (int i = 2 * half; i < 2 * half + 2; i++)
                along += d[c][i] * to_float(x[8 * c + mma_column(i)]);
        along = mma_row_sum(along);
        if (!(1 / by > WINDOW_ATTENTION_NORM))
            along = 0;
        UNROLL_WHOLE
        for (int c = 0; c < S::D / 8; c++)
            UNROLL_WHOLE
            for (int i = 2 * half; i < 2 * half + 2; i++)
                d[c][i] = (d[c][i] - along * to_float(x[8 * c + mma_column(i)])) * by;
    }
}

/* The sum of d over the tile's padded tokens, a number a feature; all threads. */
template <class S>
__device__ static inline void pad_rows(const attention &k, const token *key, int left,
                                       const mma_rows<S> &d, float *to)
{
    __shared__ float sums[MMA_WARPS][S::D];
    int first = 16 * mma_warp(), feature = (int)threadIdx.x;
    bool padded[2];

    UNROLL_WHOLE
    for (int half = 0; half < 2; half++) {
        int row = first + mma_row(2 * half);

        padded[half] = row < left && key[row].pixel < 0;
    }
    __syncthreads(); /* whoever still reads the sums */
    UNROLL_WHOLE
    for (int c = 0; c < S::D / 8; c++)
        UNROLL_WHOLE
        for (int i = 0; i < 2; i++) {
            float v = (padded[0] ? d[c][i] : 0) + (padded[1] ? d[c][i + 2] : 0);

            for (int lanes = 4; lanes < 32; lanes *= 2)
                v += __shfl_xor_sync(0xffffffffu, v, lanes);
            if (mma_lane() < 4)
                sums[mma_warp()][8 * c + mma_column(i)] = v;
        }
    __syncthreads();
    if (feature < k.head)
        to[feature] = (sums[0][feature] + sums[1][feature]) +
                      (sums[2][feature] + sums[3][feature]);
}

/* ---- windows of one tile ---- */

/* The lane's part of the sum of ds s over the warp's pairs, s = scale q . k, which are
 * computed again. */
template <class S, class T>
__device__ static inline float along_scores(const attention &k, const unit &u,
                                            const grad_tiles<S, T> &t,
                                            const token *query, const token *key,
                                            const mma_pairs<S> &ds)
{
    int row = 16 * mma_warp() + mma_row(0);
    float by[] = {u.scale * query[row].by, u.scale * query[row + 8].by}, sum = 0;

    UNROLL_WHOLE
    for (int j = 0; j < S::TILE; j += 16) {
        float s[2][4] = {};

        if (j >= k.tokens)
            continue;
        UNROLL_WHOLE
        for (int d = 0; d < S::D; d += 16)
            mma<T>(s[0], s[1], mma_a_of(t.q, S::STRIDE, 16 * mma_warp(), d),
                   mma_b_of_rows(t.k, S::STRIDE, j, d));
        UNROLL_WHOLE
        for (int e = 0; e < 8; e++)
            sum += ds[j / 8 + e / 4][e % 4] * s[e / 4][e % 4] * by[e % 4 / 2] *
                   key[j + 8 * (e / 4) + mma_column(e % 4)].by;
    }
    return sum;
}

/* Sums over pairs with the same offset go to the block's row; shared memory is lost. */
template <class S>
__device__ static inline void sum_offsets(const attention &k, const token *seat,
                                          const mma_pairs<S> &all, float *pairs,
                                          float *sums)
{
    constexpr int STRIDE = S::TILE + 4;

    __syncthreads();
    UNROLL_WHOLE
    for (int n = 0; n < S::TILE / 8; n++)
        UNROLL_WHOLE
        for (int i = 0; i < 4; i++)
            pairs[(16 * mma_warp() + mma_row(i)) * STRIDE + 8 * n + mma_column(i)] =
                all[n][i];
    __syncthreads();
    add_offsets<S::TILE>(k, seat, seat, 0, 0, pairs, STRIDE, sums);
}

/*
 * dqkv: or NULL; pads [units][2][channels], of keys and of values: or NULL; sums
 * [groups][heads][offsets + 1]: or NULL
 */
template <class S, class T>
__global__ void __launch_bounds__(MMA_THREADS, S::D > 32 ? 2 : 3)
    attention_grad_mma(const T *qkv, const T *dy, const float *lse, T *dqkv, float *pads,
                       float *sums, attention k, int groups)
{
    SHARED_BYTES(bytes);
    __shared__ token query[S::TILE], key[S::TILE]; /* alike but for norms */
    __shared__ float warps[MMA_WARPS];
    grad_tiles<S, T> t(bytes);
    int head = (int)(blockIdx.x % (unsigned)k.heads);
    int group = (int)(blockIdx.x / (unsigned)k.heads);
    bool some = 16 * mma_warp() < k.tokens; /* has the warp a token? */
    mma_pairs<S> all = {};
    float dlogit = 0;

    load_table(k, head, t.table);
    for (int64_t i = group; i < k.units; i += groups) {
        unit u = unit_of(k, i, head);
        mma_pairs<S> p = {}, da = {};
        mma_rows<S> dq = {}, dk = {}, dv = {};
        float log_sum[2], mean[2] = {};

        __syncthreads(); /* whoever still reads the tiles */
        load_tokens<S::TILE>(k, u, 0, query);
        if (threadIdx.x < S::TILE)
            key[threadIdx.x] = query[threadIdx.x];
        __syncthreads();
        load_four(k, u, qkv, dy, query, key, t);
        __syncthreads();
        load_masks(k, u, t, query, key, 0);
        if (some) {
            of_queries(k, u, lse, query, LOG2_E, INFINITY, log_sum);
            pairs_of<true>(k, u, t, query, key, k.tokens, log_sum, p, da);
            add_means<S>(p, da, mean);
            mean[0] = mma_row_sum(mean[0]);
            mean[1] = mma_row_sum(mean[1]);
            grads_of_scores<S>(da, mean, p);
            if (k.logit_scale)
                dlogit += along_scores(k, u, t, query, key, p);
            store_pairs<S>(p, t.ds);
            UNROLL_WHOLE
            for (int n = 0; n < S::TILE / 8; n++)
                UNROLL_WHOLE
                for (int e = 0; e < 4; e++)
                    all[n][e] += p[n][e];
        }
        __syncthreads();
        if (k.logit_scale) {
            directions<S>(t.q, query);
            directions<S>(t.k, key);
            __syncthreads();
        }
        if (some) {
            mul_rows<S>(
                dq, [&](int j) { return mma_a_of(t.ds, S::PAIRS, 16 * mma_warp(), j); },
                t.k, k.tokens);
            finish_rows<S>(k, u, t.q, query, dq);
            add_keys<S>(t.ds, t.q, k.tokens, dk);
            finish_rows<S>(k, u, t.k, key, dk);
            add_keys<S>(t.weights, t.dy, k.tokens, dv);
            if (dqkv) /* nobody reads v any more */
                store_grads<S>(k, u, key, dv, t.v, dqkv, ATTENTION_V);
        }
        __syncthreads(); /* whoever still reads q and k */
        if (some && dqkv) {
            store_grads<S>(k, u, query, dq, t.q, dqkv, ATTENTION_Q);
            store_grads<S>(k, u, key, dk, t.k, dqkv, ATTENTION_K);
        }
        if (pads) {
            float *to = pads + i * 2 * k.channels + head * k.head;

            pad_rows<S>(k, key, k.tokens, dk, to);
            pad_rows<S>(k, key, k.tokens, dv, to + k.channels);
        }
    }
    if (!sums)
        return;
    sums += ((int64_t)group * k.heads + head) * (k.offsets + 1);
    for (int e = (int)threadIdx.x; e < k.offsets; e += MMA_THREADS)
        sums[e] = 0;
    if (k.table)
        sum_offsets<S>(k, query, all, reinterpret_cast<float *>(bytes), sums);
    dlogit = block_sum<MMA_THREADS>(dlogit, warps);
    if (threadIdx.x == 0)
        sums[k.offsets] = dlogit;
}

/* ---- windows of several tiles ---- */

/* delta, and dq unless dqkv is NULL. */
template <class S, class T>
__global__ void __launch_bounds__(MMA_THREADS, S::D > 32 ? 2 : 3)
    attention_dq_mma(const T *qkv, const T *dy, const float *lse, T *dqkv, float *delta,
                     attention k)
{
    SHARED_BYTES(bytes);
    __shared__ token query[S::TILE], key[S::TILE];
    grad_tiles<S, T> t(bytes);
    attention_block block = attention_block_of<S>(k);
    unit u = block.u;
    bool some = block.first + 16 * mma_warp() < k.tokens;
    float log_sum[2], mean[2] = {};
    mma_rows<S> d = {};

    load_table(k, u.head, t.table);
    load_tokens<S::TILE>(k, u, block.first, query);
    __syncthreads();
    load_two<S>(k, part_of(k, u, qkv, ATTENTION_Q), result_of(k, u, dy), query,
                block.first, t.q, t.dy);
    of_queries(k, u, lse, query, LOG2_E, INFINITY, log_sum);
    for (int walk = 0; walk < (dqkv ? 2 : 1); walk++) {
        for (int first = 0; first < k.tokens; first += S::TILE) {
            mma_pairs<S> p = {}, da = {};

            __syncthreads(); /* whoever still reads keys and values */
            load_tokens<S::TILE>(k, u, first, key);
            __syncthreads();
            load_two<S>(k, part_of(k, u, qkv, ATTENTION_K),
                        part_of(k, u, qkv, ATTENTION_V), key, first, t.k, t.v);
            __syncthreads();
            load_masks(k, u, t, query, key, first);
            if (some) {
                pairs_of<false>(k, u, t, query, key, k.tokens - first, log_sum, p, da);
                if (walk == 0)
                    add_means<S>(p, da, mean);
                else
                    grads_of_scores<S>(da, mean, p);
            }
            if (walk == 0)
                continue;
            if (k.logit_scale) {
                __syncthreads();
                directions<S>(t.k, key);
                __syncthreads();
            }
            if (some)
                mul_rows<S>(
                    d, [&](int j) { return mma_a_of_sums<T>(p[j / 8], p[j / 8 + 1]); },
                    t.k, k.tokens - first);
        }
        if (walk == 1)
            continue;
        UNROLL_WHOLE
        for (int half = 0; half < 2; half++) {
            int pixel = query[16 * mma_warp() + mma_row(2 * half)].pixel;

            mean[half] = mma_row_sum(mean[half]);
            if (mma_column(0) == 0 && pixel >= 0)
                delta[(u.pixel + pixel) * k.heads + u.head] = mean[half];
        }
    }
    if (!dqkv)
        return;
    if (k.logit_scale) {
        __syncthreads();
        directions<S>(t.q, query);
        __syncthreads();
    }
    if (!some)
        return;
    finish_rows<S>(k, u, t.q, query, d);
    store_grads<S>(k, u, query, d, t.q, dqkv, ATTENTION_Q);
}

/* dqkv: or NULL; pads [units][tiles][2][channels]: or NULL */
template <class S, class T>
__global__ void __launch_bounds__(MMA_THREADS, S::D > 32 ? 2 : 3)
    attention_dkv_mma(const T *qkv, const T *dy, const float *lse, const float *delta,
                      T *dqkv, float *pads, attention k)
{
    SHARED_BYTES(bytes);
    __shared__ token query[S::TILE], key[S::TILE];
    grad_tiles<S, T> t(bytes);
    attention_block block = attention_block_of<S>(k);
    unit u = block.u;
    mma_rows<S> dk = {}, dv = {};

    load_table(k, u.head, t.table);
    load_tokens<S::TILE>(k, u, block.first, key);
    __syncthreads();
    load_two<S>(k, part_of(k, u, qkv, ATTENTION_K), part_of(k, u, qkv, ATTENTION_V), key,
                block.first, t.k, t.v);
    for (int first = 0; first < k.tokens; first += S::TILE) {
        mma_pairs<S> p = {}, da = {};
        float log_sum[2], mean[2];

        __syncthreads(); /* whoever still reads queries and pairs */
        load_tokens<S::TILE>(k, u, first, query);
        __syncthreads();
        load_two<S>(k, part_of(k, u, qkv, ATTENTION_Q), result_of(k, u, dy), query, first,
                    t.q, t.dy);
        of_queries(k, u, lse, query, LOG2_E, INFINITY, log_sum);
        of_queries(k, u, delta, query, 1, 0, mean);
        __syncthreads();
        load_masks(k, u, t, query, key, block.first);
        if (first + 16 * mma_warp() < k.tokens) {
            pairs_of<true>(k, u, t, query, key, k.tokens - block.first, log_sum, p, da);
            grads_of_scores<S>(da, mean, p);
            store_pairs<S>(p, t.ds);
        }
        __syncthreads();
        if (k.logit_scale) {
            directions<S>(t.q, query);
            __syncthreads();
        }
        if (block.first + 16 * mma_warp() < k.tokens) {
            add_keys<S>(t.weights, t.dy, k.tokens - first, dv);
            add_keys<S>(t.ds, t.q, k.tokens - first, dk);
        }
    }
    if (k.logit_scale) {
        directions<S>(t.k, key); /* after the last barrier nobody read k */
        __syncthreads();
    }
    finish_rows<S>(k, u, t.k, key, dk);
    if (dqkv) {
        store_grads<S>(k, u, key, dk, t.k, dqkv, ATTENTION_K);
        store_grads<S>(k, u, key, dv, t.v, dqkv, ATTENTION_V);
    }
    if (pads) {
        pads += (block.index * block.tiles + block.tile) * 2 * k.channels +
                u.head * k.head;
        pad_rows<S>(k, key, k.tokens - block.first, dk, pads);
        pad_rows<S>(k, key, k.tokens - block.first, dv, pads + k.channels);
    }
}

/* ---- claim and launches ---- */

/* Floats of the workspace; delta: of windows of several tiles. */
struct mma_rooms {
    int64_t delta, sums, pads;
};

static int64_t tiles_of(const attention &k)
{
    constexpr int TILE = attention_mma<32>::TILE;

    static_assert(TILE == attention_mma<64>::TILE);
    return (k.tokens + TILE - 1) / TILE;
}

static mma_rooms rooms_of(const struct node *n, const attention &k, const struct device *dev)
{
    auto has = [&](enum window_attention_option o) {
        return window_attention_slot(n, o) >= 0;
    };
    auto aligned = [](int64_t floats) { return (floats + 63) / 64 * 64; };
    bool sums = has(WINDOW_ATTENTION_TABLE) || has(WINDOW_ATTENTION_LOGIT_SCALE);
    mma_rooms r = {};

    if (tiles_of(k) > 1)
        r.delta = aligned(tensor_len(n->in[WINDOW_ATTENTION_GRAD_LSE]));
    r.sums = sums ? aligned(attention_sums(k, dev)) : 0;
    r.pads = has(WINDOW_ATTENTION_PAD) ? k.units * tiles_of(k) * 2 * k.channels : 0;
    return r;
}

static const char *attention_mma_grad_claim(struct region *r, struct graph *,
                                            struct node *n, struct device *dev)
{
    if (n->op != &op_window_attention_grad)
        return "no gradient of attention";

    const struct tensor *qkv = n->in[WINDOW_ATTENTION_GRAD_QKV];
    attention k = attention_of_node(n);

    if (qkv->dtype != n->in[WINDOW_ATTENTION_GRAD_DY]->dtype)
        return "one type for qkv and dy";
    if (const char *why = attention_mma_refuses(k, qkv->dtype))
        return why;

    mma_rooms w = rooms_of(n, k, dev);

    region_take_alone(r, n);
    region_workspace(r, (size_t)(w.delta + w.sums + w.pads) * sizeof(float));
    return nullptr;
}

template <class S, class T>
static void grad_launch(const struct step *s, struct device *dev, const attention &k)
{
    mma_rooms w = rooms_of(s->node, k, dev);
    const T *qkv = (const T *)s->in[WINDOW_ATTENTION_GRAD_QKV];
    const T *dy = (const T *)s->in[WINDOW_ATTENTION_GRAD_DY];
    const float *lse = (const float *)s->in[WINDOW_ATTENTION_GRAD_LSE];
    T *dqkv = (T *)s->out[WINDOW_ATTENTION_GRAD_DQKV];
    float *dpad = k.pad ? (float *)s->out[WINDOW_ATTENTION_GRAD_DPAD] : nullptr;
    float *delta = (float *)s->workspace, *sums = delta + w.delta, *pads = sums + w.sums;
    int64_t rows = k.units * tiles_of(k);
    int groups = attention_groups(k, dev);
    bool wanted = attention_sums_wanted(k, s);

    if (!dpad)
        pads = nullptr;
    if (tiles_of(k) == 1) {
        ATTENTION_LAUNCH(dev, k, (attention_grad_mma<S, T>), (unsigned)(groups * k.heads),
                         MMA_THREADS, (grad_tiles<S, T>::FLOATS), qkv, dy, lse, dqkv,
                         pads, wanted ? sums : nullptr, k, groups);
        if (wanted)
            attention_sums_join(s, dev, k, sums);
    } else {
        ATTENTION_LAUNCH(dev, k, (attention_dq_mma<S, T>), (unsigned)(rows * k.heads),
                         MMA_THREADS, (grad_tiles<S, T>::FLOATS), qkv, dy, lse, dqkv,
                         delta, k);
        if (dqkv || pads)
            ATTENTION_LAUNCH(dev, k, (attention_dkv_mma<S, T>),
                             (unsigned)(rows * k.heads), MMA_THREADS,
                             (grad_tiles<S, T>::FLOATS), qkv, dy, lse,
                             (const float *)delta, dqkv, pads, k);
        attention_sums_run(s, dev, k, delta, sums);
    }
    if (pads)
        attention_pads_join(dev, k, pads, dpad, rows);
}

static void attention_mma_grad_run(struct step *s, struct device *dev)
{
    attention k = attention_of(s);

    WITH_HALF(s->in_tensor[WINDOW_ATTENTION_GRAD_QKV]->dtype, T,
              WITH_ATTENTION_MMA(k.head, S, grad_launch<S, T>(s, dev, k)));
}

extern const struct kernel cuda_attention_mma_grad = {
    .name = "cuda window_attention_grad mma",
    .claim = attention_mma_grad_claim,
    .run = attention_mma_grad_run,
    .tensor_cores = true,
};
