/*
 * The gradient of window attention on tensor cores for windows of several tiles. One
 * kernel has a block per tile of queries: a first loop over the keys computes delta, a
 * second one dq. Another has a block per tile of keys and computes dk and dv. The sums
 * follow (cuda/window_attention_sums.cu). Bytes: qkv and dy once per tile in each kernel,
 * dqkv once.
 */
#include "cuda/attention_mma_rows.h"

/* Computes delta, and dq unless dqkv is NULL. */
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
    load_query_values(k, u, lse, query, LOG2_E, INFINITY, log_sum);
    for (int walk = 0; walk < (dqkv ? 2 : 1); walk++) {
        for (int first = 0; first < k.tokens; first += S::TILE) {
            mma_pairs<S> p = {}, da = {};

            __syncthreads(); /* wait until keys and values have been read */
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

/* dqkv: may be NULL; pads [units][tiles][2][channels]: may be NULL */
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

        __syncthreads(); /* wait until queries and pairs have been read */
        load_tokens<S::TILE>(k, u, first, query);
        __syncthreads();
        load_two<S>(k, part_of(k, u, qkv, ATTENTION_Q), result_of(k, u, dy), query, first,
                    t.q, t.dy);
        load_query_values(k, u, lse, query, LOG2_E, INFINITY, log_sum);
        load_query_values(k, u, delta, query, 1, 0, mean);
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
        directions<S>(t.k, key); /* k is not read after the last barrier */
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

template <class S, class T>
static void tiles_launch(const struct step *s, struct device *dev, const attention &k,
                         float *delta, float *pads)
{
    const T *qkv = (const T *)s->in[WINDOW_ATTENTION_GRAD_QKV];
    const T *dy = (const T *)s->in[WINDOW_ATTENTION_GRAD_DY];
    const float *lse = (const float *)s->in[WINDOW_ATTENTION_GRAD_LSE];
    T *dqkv = (T *)s->out[WINDOW_ATTENTION_GRAD_DQKV];
    unsigned blocks = (unsigned)(k.units * attention_mma_count(k) * k.heads);

    ATTENTION_LAUNCH(dev, k, (attention_dq_mma<S, T>), blocks, MMA_THREADS,
                     (grad_tiles<S, T>::FLOATS), qkv, dy, lse, dqkv, delta, k);
    if (dqkv || pads)
        ATTENTION_LAUNCH(dev, k, (attention_dkv_mma<S, T>), blocks, MMA_THREADS,
                         (grad_tiles<S, T>::FLOATS), qkv, dy, lse, (const float *)delta,
                         dqkv, pads, k);
}

void attention_mma_tiles(const struct step *s, struct device *dev, const attention &k,
                         float *delta, float *pads, float *sums)
{
    WITH_HALF(s->in_tensor[WINDOW_ATTENTION_GRAD_QKV]->dtype, T,
              WITH_ATTENTION_MMA(k.head, S, tiles_launch<S, T>(s, dev, k, delta, pads)));
    attention_sums_run(s, dev, k, delta, sums);
}
