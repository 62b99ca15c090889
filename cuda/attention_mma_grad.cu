/*
 * The gradient of window attention on tensor cores: the claim, and the kernel for windows
 * of one tile. A block loops over windows of one head and computes dq, dk, dv, the
 * gradient of padding and, in registers, the sums over windows. Bytes: qkv and dy once,
 * dqkv once. Windows of several tiles are in cuda/attention_mma_tiles.cu.
 */
#include "cuda/attention_mma_rows.h"

#include "cuda/kernels.h"
#include "cuda/reduce.h"

/* Returns the lane's part of the sum of ds s over the warp's pairs; recomputes s = scale
 * q . k. */
template <class S, class T>
__device__ static inline float
sum_ds_scores(const attention &k, const unit &u, const grad_tiles<S, T> &t,
              const token *query, const token *key, const mma_pairs<S> &ds)
{
    int row = 16 * mma_warp() + mma_row(0);
    float factor[] = {u.scale * query[row].inverse_norm,
                      u.scale * query[row + 8].inverse_norm},
          sum = 0;

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
            sum += ds[j / 8 + e / 4][e % 4] * s[e / 4][e % 4] * factor[e % 4 / 2] *
                   key[j + 8 * (e / 4) + mma_column(e % 4)].inverse_norm;
    }
    return sum;
}

/* Adds the sums over pairs with the same offset to the block's row; overwrites shared
 * memory. */
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
 * dqkv: may be NULL; pads [units][2][channels], for keys and values: may be NULL; sums
 * [groups][heads][offsets + 1]: may be NULL
 */
template <class S, class T>
__global__ void __launch_bounds__(MMA_THREADS, S::D > 32 ? 2 : 3)
    attention_grad_mma(const T *qkv, const T *dy, const float *lse, T *dqkv, float *pads,
                       float *sums, attention k, int groups)
{
    SHARED_BYTES(bytes);
    __shared__ token query[S::TILE], key[S::TILE]; /* equal except for norms */
    __shared__ float warps[MMA_WARPS];
    grad_tiles<S, T> t(bytes);
    int head = (int)(blockIdx.x % (unsigned)k.heads);
    int group = (int)(blockIdx.x / (unsigned)k.heads);
    bool has_token = 16 * mma_warp() < k.tokens; /* the warp has at least one token */
    mma_pairs<S> all = {};
    float dlogit = 0;

    load_table(k, head, t.table);
    for (int64_t i = group; i < k.units; i += groups) {
        unit u = unit_of(k, i, head);
        mma_pairs<S> p = {}, da = {};
        mma_rows<S> dq = {}, dk = {}, dv = {};
        float log_sum[2], mean[2] = {};

        __syncthreads(); /* wait until the tiles have been read */
        load_tokens<S::TILE>(k, u, 0, query);
        if (threadIdx.x < S::TILE)
            key[threadIdx.x] = query[threadIdx.x];
        __syncthreads();
        load_four(k, u, qkv, dy, query, key, t);
        __syncthreads();
        load_masks(k, u, t, query, key, 0);
        if (has_token) {
            load_query_values(k, u, lse, query, LOG2_E, INFINITY, log_sum);
            pairs_of<true>(k, u, t, query, key, k.tokens, log_sum, p, da);
            add_means<S>(p, da, mean);
            mean[0] = mma_row_sum(mean[0]);
            mean[1] = mma_row_sum(mean[1]);
            grads_of_scores<S>(da, mean, p);
            if (k.logit_scale)
                dlogit += sum_ds_scores(k, u, t, query, key, p);
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
        if (has_token) {
            mul_rows<S>(
                dq, [&](int j) { return mma_a_of(t.ds, S::PAIRS, 16 * mma_warp(), j); },
                t.k, k.tokens);
            finish_rows<S>(k, u, t.q, query, dq);
            add_keys<S>(t.ds, t.q, k.tokens, dk);
            finish_rows<S>(k, u, t.k, key, dk);
            add_keys<S>(t.weights, t.dy, k.tokens, dv);
            if (dqkv) /* v is no longer needed */
                store_grads<S>(k, u, key, dv, t.v, dqkv, ATTENTION_V);
        }
        __syncthreads(); /* wait until q and k have been read */
        if (has_token && dqkv) {
            store_grads<S>(k, u, query, dq, t.q, dqkv, ATTENTION_Q);
            store_grads<S>(k, u, key, dk, t.k, dqkv, ATTENTION_K);
        }
        if (pads) {
            float *dst = pads + i * 2 * k.channels + head * k.head;

            pad_rows<S>(k, key, k.tokens, dk, dst);
            pad_rows<S>(k, key, k.tokens, dv, dst + k.channels);
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

/* ---- claim and launches ---- */

/* Sizes of workspace parts in floats; delta: for windows of several tiles. */
struct mma_rooms {
    int64_t delta, sums, pads;
};

static mma_rooms rooms_of(const struct node *n, const attention &k, const struct device *dev)
{
    auto has = [&](enum window_attention_option o) {
        return window_attention_slot(n, o) >= 0;
    };
    auto aligned = [](int64_t floats) { return (floats + 63) / 64 * 64; };
    bool sums = has(WINDOW_ATTENTION_TABLE) || has(WINDOW_ATTENTION_LOGIT_SCALE);
    mma_rooms r = {};

    if (attention_mma_count(k) > 1)
        r.delta = aligned(tensor_len(n->in[WINDOW_ATTENTION_GRAD_LSE]));
    r.sums = sums ? aligned(attention_sums(k, dev)) : 0;
    r.pads = has(WINDOW_ATTENTION_PAD) ? k.units * attention_mma_count(k) * 2 * k.channels : 0;
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
    if (const char *why = attention_mma_refuses(n, qkv->dtype))
        return why;

    mma_rooms w = rooms_of(n, k, dev);

    region_claim_node(r, n);
    region_workspace(r, (size_t)(w.delta + w.sums + w.pads) * sizeof(float));
    return nullptr;
}

template <class S, class T>
static void grad_launch(const struct step *s, struct device *dev, const attention &k,
                        float *pads, float *sums)
{
    int groups = attention_groups(k, dev);

    ATTENTION_LAUNCH(dev, k, (attention_grad_mma<S, T>), (unsigned)(groups * k.heads),
                     MMA_THREADS, (grad_tiles<S, T>::FLOATS),
                     (const T *)s->in[WINDOW_ATTENTION_GRAD_QKV],
                     (const T *)s->in[WINDOW_ATTENTION_GRAD_DY],
                     (const float *)s->in[WINDOW_ATTENTION_GRAD_LSE],
                     (T *)s->out[WINDOW_ATTENTION_GRAD_DQKV], pads, sums, k, groups);
}

static void attention_mma_grad_run(struct step *s, struct device *dev)
{
    attention k = attention_of(s);
    mma_rooms w = rooms_of(s->node, k, dev);
    float *dpad = k.pad ? (float *)s->out[WINDOW_ATTENTION_GRAD_DPAD] : nullptr;
    float *delta = (float *)s->workspace, *sums = delta + w.delta;
    float *pads = dpad ? sums + w.sums : nullptr;

    if (attention_mma_count(k) > 1) {
        attention_mma_tiles(s, dev, k, delta, pads, sums);
    } else {
        sums = attention_sums_wanted(k, s) ? sums : nullptr;
        WITH_HALF(s->in_tensor[WINDOW_ATTENTION_GRAD_QKV]->dtype, T,
                  WITH_ATTENTION_MMA(k.head, S,
                                     grad_launch<S, T>(s, dev, k, pads, sums)));
        if (sums)
            attention_sums_join(s, dev, k, sums);
    }
    if (pads)
        attention_pads_join(dev, k, pads, dpad, k.units * attention_mma_count(k));
}

extern const struct kernel cuda_attention_mma_grad = {
    .name = "cuda window_attention_grad mma",
    .claim = attention_mma_grad_claim,
    .run = attention_mma_grad_run,
    .tensor_cores = true,
};
