/*
 * Window attention on tensor cores: the claim and the forward pass, with the algorithm of
 * cuda/window_attention.cu. Bytes: qkv once for each tile of queries, y once.
 */
#include "cuda/attention_mma_scores.h"

#include "cuda/kernels.h"

static const char *attention_mma_claim(struct region *r, struct graph *, struct node *n,
                                       struct device *)
{
    const struct tensor *qkv = n->op == &op_window_attention ? n->in[WINDOW_ATTENTION_QKV]
                                                             : nullptr;

    if (!qkv)
        return "no attention";
    if (qkv->dtype != n->out[WINDOW_ATTENTION_Y]->dtype)
        return "one type for qkv and the result";

    const char *why = attention_mma_refuses(n, qkv->dtype);

    if (!why)
        region_claim_node(r, n);
    return why;
}

/* Online softmax in base 2: turns scores into unnormalized weights and rescales the
 * running sum and output. */
template <class S>
__device__ static inline void online_softmax(mma_pairs<S> &s, float (&row_max)[2],
                                             float (&sum)[2], mma_rows<S> &y)
{
    UNROLL_WHOLE
    for (int half = 0; half < 2; half++) {
        float new_max = row_max[half], rescale;

        UNROLL_WHOLE
        for (int n = 0; n < S::TILE / 8; n++)
            new_max = fmaxf(new_max, fmaxf(s[n][2 * half], s[n][2 * half + 1]));
        new_max = fmaxf(new_max, __shfl_xor_sync(0xffffffffu, new_max, 1));
        new_max = fmaxf(new_max, __shfl_xor_sync(0xffffffffu, new_max, 2));
        rescale = mma_exp2(row_max[half] - new_max);
        row_max[half] = new_max;
        sum[half] *= rescale;
        UNROLL_WHOLE
        for (int c = 0; c < S::D / 8; c++) {
            y[c][2 * half] *= rescale;
            y[c][2 * half + 1] *= rescale;
        }
        UNROLL_WHOLE
        for (int n = 0; n < S::TILE / 8; n++)
            UNROLL_WHOLE
            for (int i = 2 * half; i < 2 * half + 2; i++) {
                s[n][i] = mma_exp2(s[n][i] - new_max);
                sum[half] += s[n][i];
            }
    }
}

/* Applies dropout's masks to the weights. */
template <class S>
__device__ static inline void
apply_dropout(const attention &k, const uint32_t (*keep)[S::TILE / 32], mma_pairs<S> &s)
{
    int row = 16 * mma_warp() + mma_row(0);
    float factor = 1 / (1 - k.rate);

    UNROLL_WHOLE
    for (int n = 0; n < S::TILE / 8; n++)
        UNROLL_WHOLE
        for (int i = 0; i < 4; i++)
            s[n][i] *=
                dropout_factor<S>(keep, row + 8 * (i / 2), 8 * n + mma_column(i), factor);
}

/* lse: may be NULL; q: tile of queries, overwritten */
template <class S, class T>
__device__ static inline void store_result(const attention &k, const unit &u,
                                           const token *query, const float (&row_max)[2],
                                           const float (&sum)[2], mma_rows<S> &y, T *q,
                                           T *dst, float *lse)
{
    UNROLL_WHOLE
    for (int half = 0; half < 2; half++) {
        float total = mma_row_sum(sum[half]), inverse = 1 / total;
        int pixel = query[16 * mma_warp() + mma_row(2 * half)].pixel;

        if (mma_column(0) == 0 && lse && pixel >= 0)
            lse[(u.pixel + pixel) * k.heads + u.head] =
                LN_2 * (row_max[half] + log2f(total));
        UNROLL_WHOLE
        for (int c = 0; c < S::D / 8; c++) {
            y[c][2 * half] *= inverse;
            y[c][2 * half + 1] *= inverse;
        }
    }
    store_rows<S>(k, query, y, q,
                  [&](int pixel) { return dst + result_at(k, u, pixel); });
}

template <class S, class T>
__global__ void __launch_bounds__(MMA_THREADS, S::D > 32 ? 3 : 4)
    attention_forward_mma(const T *qkv, T *dst, float *lse, attention k)
{
    SHARED_BYTES(bytes);
    __shared__ token query[S::TILE], key[S::TILE];
    __shared__ uint32_t keep[S::TILE][S::TILE / 32];
    T *q = reinterpret_cast<T *>(bytes), *keys = q + S::FEATURES;
    T *values = keys + S::FEATURES;
    attention_block block = attention_block_of<S>(k);
    unit u = block.u;
    float *table = reinterpret_cast<float *>(values + S::FEATURES);
    bool has_query = block.first + 16 * mma_warp() < k.tokens; /* the warp has a query */
    float row_max[2] = {-INFINITY, -INFINITY}, sum[2] = {};
    mma_rows<S> y = {};

    load_table(k, u.head, table);
    for (int first = 0; first < k.tokens; first += S::TILE) {
        mma_pairs<S> s = {};
        int left = k.tokens - first;

        __syncthreads(); /* wait until keys and values have been read */
        if (first == 0)
            load_tokens<S::TILE>(k, u, block.first, query);
        load_tokens<S::TILE>(k, u, first, key);
        __syncthreads();

        features<T> fk = part_of(k, u, qkv, ATTENTION_K);
        features<T> fv = part_of(k, u, qkv, ATTENTION_V);
        tile_part<S, T> part[3];

        load_part<S>(k, fk, key, part[1]);
        load_part<S>(k, fv, key, part[2]);
        if (first == 0) {
            features<T> fq = part_of(k, u, qkv, ATTENTION_Q);

            load_part<S>(k, fq, query, part[0]);
            store_part<S>(k, fq, query, block.first, part[0], q);
        }
        store_part<S>(k, fk, key, first, part[1], keys);
        store_part<S>(k, fv, key, first, part[2], values);
        __syncthreads();
        if (k.control)
            draw_masks<S::TILE>(k, u, query, first, keep);
        if (k.logit_scale) {
            norms_of<S>(q, query);
            norms_of<S>(keys, key);
        }
        if (k.control || k.logit_scale)
            __syncthreads();
        if (!has_query)
            continue;
        dot_rows<S>(s, q, keys, left);
        scores_of<S>(k, u, table, query, key, left, s);
        online_softmax<S>(s, row_max, sum, y);
        if (k.control)
            apply_dropout<S>(k, keep, s);
        mul_rows<S>(
            y, [&](int j) { return mma_a_of_sums<T>(s[j / 8], s[j / 8 + 1]); }, values,
            left);
    }
    if (has_query)
        store_result<S>(k, u, query, row_max, sum, y, q, dst, lse);
}

template <class S, class T>
static void forward_launch(const struct step *s, struct device *dev, const attention &k)
{
    int64_t tiles = (k.tokens + S::TILE - 1) / S::TILE;

    ATTENTION_LAUNCH(dev, k, (attention_forward_mma<S, T>),
                     (unsigned)(k.units * k.heads * tiles), MMA_THREADS,
                     3 * S::FEATURES * sizeof(T) / sizeof(float),
                     (const T *)s->in[WINDOW_ATTENTION_QKV],
                     (T *)s->out[WINDOW_ATTENTION_Y],
                     (float *)s->out[WINDOW_ATTENTION_LSE], k);
}

static void attention_mma_run(struct step *s, struct device *dev)
{
    attention k = attention_of(s);

    WITH_HALF(s->in_tensor[WINDOW_ATTENTION_QKV]->dtype, T,
              WITH_ATTENTION_MMA(k.head, S, forward_launch<S, T>(s, dev, k)));
}

extern const struct kernel cuda_attention_mma = {
    .name = "cuda window_attention mma",
    .claim = attention_mma_claim,
    .run = attention_mma_run,
    .tensor_cores = true,
};
