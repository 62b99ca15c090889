/*
 * The gradient of window attention. Weights are recomputed from lse, without a maximum.
 *
 *   1. a block per tile of queries: a loop over the keys computes delta, another one dq;
 *      windows of one tile need one loop
 *   2. a block per tile of keys: dk and dv, and the tile's sums for padding
 *   3. dtable and dlogit_scale (cuda/window_attention_sums.cu)
 *   4. dpad: the sums of all tiles, in order, in fp64
 *
 * Bytes: qkv and dy once for each tile in each of 1 to 3, dqkv once.
 */
#include "cuda/kernels.h"
#include "cuda/window_attention_pairs.h"

constexpr int PAD_COLUMNS = 32, PAD_PARTS = TILE_GEMM_THREADS / PAD_COLUMNS;

/* Converts the gradients of score rows to those of q or k, whose rows are in `tile`. */
template <class S>
__device__ static inline void finish_rows(const attention &k, const unit &u,
                                          const float *tile, const float (&norm)[S::R],
                                          float (&d)[S::R][S::C])
{
    UNROLL_WHOLE
    for (int a = 0; a < S::R; a++) {
        UNROLL_WHOLE
        for (int c = 0; c < S::C; c++)
            d[a][c] *= u.scale;
        if (k.logit_scale)
            from_direction<S>(tile, a, norm[a], d[a]);
    }
}

template <class S, class T>
__device__ static inline void store_rows(const attention &k, const unit &u,
                                         const token *tokens, int part,
                                         const float (&d)[S::R][S::C], T *dqkv)
{
    UNROLL_WHOLE
    for (int a = 0; a < S::R; a++) {
        int pixel = tokens[tile_gemm_row(a)].pixel;

        UNROLL_WHOLE
        for (int c = 0; c < S::C && pixel >= 0; c++) {
            int i = tile_gemm_x() * S::C + c;

            if (i < k.head)
                dqkv[part_at(k, u, pixel, part) + i] = from_float<T>(d[a][c]);
        }
    }
}

/* Adds to delta, the mean of da weighted by p, of each of the thread's rows. */
template <class S>
__device__ static inline void add_means(const pairs<S> &p, float (&mean)[S::R])
{
    UNROLL_WHOLE
    for (int a = 0; a < S::R; a++)
        UNROLL_WHOLE
    for (int c = 0; c < S::R; c++)
        mean[a] += p.p[a][c] * p.da[a][c];
}

template <class S>
__device__ static inline void finish_means(const attention &k, const unit &u,
                                           const token *query, float (&mean)[S::R],
                                           float *delta)
{
    UNROLL_WHOLE
    for (int a = 0; a < S::R; a++) {
        int pixel = query[tile_gemm_row(a)].pixel;

        mean[a] = row_of_16_sum(mean[a]);
        if (tile_gemm_x() == 0 && pixel >= 0)
            delta[(u.pixel + pixel) * k.heads + u.head] = mean[a];
    }
}

/* dqkv: may be NULL */
template <class S, class T>
__global__ void __launch_bounds__(TILE_GEMM_THREADS)
    attention_dq(const T *qkv, const T *dy, const float *lse, T *dqkv, float *delta,
                 attention k)
{
    SHARED_BYTES(bytes);
    __shared__ token queries[S::TILE], keys[S::TILE];
    pair_tiles<S> t(bytes, queries, keys);
    attention_block block = attention_block_of<S>(k);
    unit u = block.u;
    biases b = biases_of(k, u.head, t.table);
    float dq[S::R][S::C] = {}, norm[S::R], other[S::R], mean[S::R] = {}, log_sum[S::R];
    pairs<S> p;

    load_queries(k, u, qkv, dy, block.first, t, norm);
    UNROLL_WHOLE
    for (int a = 0; a < S::R; a++)
        log_sum[a] = of_query(k, u, lse, t.query[tile_gemm_row(a)]);
    for (int walk = 0; walk < 2; walk++) {
        for (int first = 0; first < k.tokens; first += S::TILE) {
            if (walk == 0 || k.tokens > S::TILE) {
                load_keys(k, u, qkv, first, t, other);
                pairs_of<false>(k, u, b, first, t, log_sum, p);
            }
            if (walk == 0) {
                add_means(p, mean);
                continue;
            }
            store_pairs(t,
                        [&](int a, int c) { return p.p[a][c] * (p.da[a][c] - mean[a]); });
            __syncthreads();
            tile_gemm_mul(dq, t.pairs, S::PAIRS, t.k, S::STRIDE, S::TILE);
        }
        if (walk == 0)
            finish_means<S>(k, u, t.query, mean, delta);
        if (!dqkv)
            return;
    }
    finish_rows<S>(k, u, t.q, norm, dq);
    store_rows<S>(k, u, t.query, ATTENTION_Q, dq, dqkv);
}

/* Sums d over padded tokens, one number per feature; overwrites t.q. */
template <class S>
__device__ static inline void pad_rows(const attention &k, int first,
                                       const pair_tiles<S> &t,
                                       const float (&d)[S::R][S::C], float *dst)
{
    int feature = (int)threadIdx.x;
    float sum = 0;

    __syncthreads(); /* wait until t.q has been read */
    UNROLL_WHOLE
    for (int a = 0; a < S::R; a++)
        UNROLL_WHOLE
    for (int c = 0; c < S::C; c++)
        t.q[tile_gemm_row(a) * S::STRIDE + tile_gemm_x() * S::C + c] = d[a][c];
    __syncthreads();
    if (feature >= k.head)
        return;
    for (int i = 0; i < S::TILE && first + i < k.tokens; i++)
        if (t.key[i].pixel < 0)
            sum += t.q[i * S::STRIDE + feature];
    dst[feature] = sum;
}

/* dqkv: may be NULL; pads [units][tiles][2][channels], for keys and values: may be NULL */
template <class S, class T>
__global__ void __launch_bounds__(TILE_GEMM_THREADS)
    attention_dkv(const T *qkv, const T *dy, const float *lse, const float *delta,
                  T *dqkv, float *pads, attention k)
{
    SHARED_BYTES(bytes);
    __shared__ token queries[S::TILE], keys[S::TILE];
    pair_tiles<S> t(bytes, queries, keys);
    attention_block block = attention_block_of<S>(k);
    unit u = block.u;
    biases b = biases_of(k, u.head, t.table);
    float dk[S::R][S::C] = {}, dv[S::R][S::C] = {}, norm[S::R], other[S::R];
    float log_sum[S::R], mean[S::R];
    pairs<S> p;

    load_keys(k, u, qkv, block.first, t, norm);
    for (int first = 0; first < k.tokens; first += S::TILE) {
        load_queries(k, u, qkv, dy, first, t, other);
        UNROLL_WHOLE
        for (int c = 0; c < S::R; c++) {
            const token &query = t.query[tile_gemm_x() + TILE_GEMM_SIDE * c];

            log_sum[c] = of_query(k, u, lse, query);
            mean[c] = of_query(k, u, delta, query);
        }
        pairs_of<true>(k, u, b, block.first, t, log_sum, p);
        store_pairs(t, [&](int a, int c) { return p.p[a][c] * p.m[a][c]; });
        __syncthreads();
        tile_gemm_mul(dv, t.pairs, S::PAIRS, t.dy, S::STRIDE, S::TILE);
        __syncthreads(); /* wait until the weights have been read */
        store_pairs(t, [&](int a, int c) { return p.p[a][c] * (p.da[a][c] - mean[c]); });
        __syncthreads();
        tile_gemm_mul(dk, t.pairs, S::PAIRS, t.q, S::STRIDE, S::TILE);
    }
    finish_rows<S>(k, u, t.k, norm, dk);
    if (dqkv) {
        store_rows<S>(k, u, t.key, ATTENTION_K, dk, dqkv);
        store_rows<S>(k, u, t.key, ATTENTION_V, dv, dqkv);
    }
    if (pads) {
        pads +=
            (block.index * block.tiles + block.tile) * 2 * k.channels + u.head * k.head;
        pad_rows(k, block.first, t, dk, pads);
        pad_rows(k, block.first, t, dv, pads + k.channels);
    }
}

/* dpad [3][channels]: unchanged for q, because padded queries have no results. */
__global__ void __launch_bounds__(TILE_GEMM_THREADS)
    attention_dpad(const float *pads, float *dpad, int64_t rows, int channels)
{
    __shared__ double shared[PAD_PARTS][PAD_COLUMNS];
    int x = (int)threadIdx.x % PAD_COLUMNS, part = (int)threadIdx.x / PAD_COLUMNS;
    int c = (int)blockIdx.x * PAD_COLUMNS + x;
    double sum = 0;

    for (int64_t r = part; r < rows && c < 2 * channels; r += PAD_PARTS)
        sum += (double)pads[r * 2 * channels + c];
    shared[part][x] = sum;
    __syncthreads();
    if (part || c >= 2 * channels)
        return;
    for (int i = 1; i < PAD_PARTS; i++)
        sum += shared[i][x];
    dpad[channels + c] = (float)sum;
    if (c < channels)
        dpad[c] = 0;
}

void attention_pads_join(struct device *dev, const attention &k, const float *pads,
                         float *dpad, int64_t rows)
{
    LAUNCH(dev, attention_dpad, cuda_blocks(2 * k.channels, PAD_COLUMNS, 1),
           TILE_GEMM_THREADS, 0, pads, dpad, rows, k.channels);
}

/* ---- claim and launches ---- */

/* Sizes of workspace parts in floats. */
struct rooms {
    int64_t delta, sums, pads;
};

static int64_t tiles_of(const attention &k)
{
    int64_t tiles = 0;

    WITH_ATTENTION(k.head, S, tiles = (k.tokens + S::TILE - 1) / S::TILE);
    return tiles;
}

/* 64: keeps the following parts aligned */
static rooms rooms_of(const struct node *n, const attention &k, const struct device *dev)
{
    auto has = [&](enum window_attention_option o) {
        return window_attention_slot(n, o) >= 0;
    };
    bool sums = has(WINDOW_ATTENTION_TABLE) || has(WINDOW_ATTENTION_LOGIT_SCALE);
    rooms r = {};

    r.delta = (tensor_len(n->in[WINDOW_ATTENTION_GRAD_LSE]) + 63) / 64 * 64;
    r.sums = sums ? (attention_sums(k, dev) + 63) / 64 * 64 : 0;
    r.pads = has(WINDOW_ATTENTION_PAD) ? k.units * tiles_of(k) * 2 * k.channels : 0;
    return r;
}

static const char *attention_grad_claim(struct region *r, struct graph *, struct node *n,
                                        struct device *dev)
{
    if (n->op != &op_window_attention_grad)
        return "no gradient of attention";
    if (n->in[WINDOW_ATTENTION_GRAD_QKV]->dtype != n->in[WINDOW_ATTENTION_GRAD_DY]->dtype)
        return "one type for qkv and dy";

    rooms w = rooms_of(n, attention_of_node(n), dev);

    region_claim_node(r, n);
    region_workspace(r, (size_t)(w.delta + w.sums + w.pads) * sizeof(float));
    return nullptr;
}

template <class S, class T>
static void grad_launch(const struct step *s, struct device *dev, const attention &k)
{
    rooms w = rooms_of(s->node, k, dev);
    const T *qkv = (const T *)s->in[WINDOW_ATTENTION_GRAD_QKV];
    const T *dy = (const T *)s->in[WINDOW_ATTENTION_GRAD_DY];
    const float *lse = (const float *)s->in[WINDOW_ATTENTION_GRAD_LSE];
    T *dqkv = (T *)s->out[WINDOW_ATTENTION_GRAD_DQKV];
    float *dpad = k.pad ? (float *)s->out[WINDOW_ATTENTION_GRAD_DPAD] : nullptr;
    float *delta = (float *)s->workspace, *sums = delta + w.delta, *pads = sums + w.sums;
    int64_t rows = k.units * ((k.tokens + S::TILE - 1) / S::TILE);

    ATTENTION_LAUNCH(dev, k, (attention_dq<S, T>), (unsigned)(rows * k.heads),
                     TILE_GEMM_THREADS, pair_tiles<S>::FLOATS, qkv, dy, lse, dqkv, delta, k);
    if (dqkv || dpad)
        ATTENTION_LAUNCH(dev, k, (attention_dkv<S, T>), (unsigned)(rows * k.heads),
                         TILE_GEMM_THREADS, pair_tiles<S>::FLOATS, qkv, dy, lse, (const float *)delta, dqkv,
                         dpad ? pads : nullptr, k);
    if (dpad)
        attention_pads_join(dev, k, pads, dpad, rows);
    attention_sums_run(s, dev, k, delta, sums);
}

static void attention_grad_run(struct step *s, struct device *dev)
{
    attention k = attention_of(s);

    WITH_DTYPE(s->in_tensor[WINDOW_ATTENTION_GRAD_QKV]->dtype, T,
               WITH_ATTENTION(k.head, S, grad_launch<S, T>(s, dev, k)));
}

extern const struct kernel cuda_window_attention_grad = {
    .name = "cuda window_attention_grad",
    .claim = attention_grad_claim,
    .run = attention_grad_run,
};
