/*
 * The gradients that window attention sums over windows: of the table and of logit_scale.
 * A block has one head and a group of units; of each pair of tiles it sums the gradients
 * of scores over its units in registers, and then over the pairs with the same offset. A
 * second launch adds the groups, in order, in fp64.
 */
#include "cuda/reduce.h"
#include "cuda/window_attention_pairs.h"

enum { GROUPS = 4 }; /* blocks of a multiprocessor */

static int groups_of(const attention &k, const struct device *dev)
{
    int64_t want = (int64_t)dev->what.multiprocessors * GROUPS / k.heads;

    return (int)(want > k.units ? k.units : want < 1 ? 1 : want);
}

/* [groups][heads][offsets + 1]: the last is of logit_scale */
int64_t attention_sums(const attention &k, const struct device *dev)
{
    return (int64_t)groups_of(k, dev) * k.heads * (k.offsets + 1);
}

/* Adds the tile's pairs of each offset to the block's row of sums. */
template <class S>
__device__ static inline void add_offsets(const attention &k, const pair_tiles<S> &t,
                                          int query, int key, float *sums)
{
    int w = k.grid.window_w, h = k.grid.window_h, wide = 2 * w - 1;
    int low = t.query[0].code - t.key[S::TILE - 1].code + k.centre;
    int high = t.query[S::TILE - 1].code - t.key[0].code + k.centre;

    for (int e = low + (int)threadIdx.x; e <= high; e += TILE_GEMM_THREADS) {
        int down = e / wide - (h - 1), right = e % wide - (w - 1);
        float sum = 0;

        for (int i = 0; i < S::TILE && query + i < k.tokens; i++) {
            int y = (query + i) / w - down, x = (query + i) % w - right;
            int j = y * w + x - key;

            if (y >= 0 && y < h && x >= 0 && x < w && j >= 0 && j < S::TILE)
                sum += t.pairs[i * S::PAIRS + j];
        }
        sums[e] += sum;
    }
}

template <class S, class T>
__global__ void __launch_bounds__(TILE_GEMM_THREADS)
    attention_sum(const T *qkv, const T *dy, const float *lse, const float *delta,
                  float *sums, attention k, int groups)
{
    SHARED_BYTES(bytes);
    __shared__ token queries[S::TILE], keys[S::TILE];
    __shared__ float warps[TILE_GEMM_THREADS / 32];
    pair_tiles<S> t(bytes, queries, keys);
    int head = (int)(blockIdx.x % (unsigned)k.heads);
    int group = (int)(blockIdx.x / (unsigned)k.heads);
    biases b = biases_of(k, head, t.table);
    float norm[S::R], log_sum[S::R], mean[S::R], dlogit = 0;
    pairs<S> p;

    sums += ((int64_t)group * k.heads + head) * (k.offsets + 1);
    for (int e = (int)threadIdx.x; e < k.offsets; e += TILE_GEMM_THREADS)
        sums[e] = 0;
    for (int query = 0; query < k.tokens; query += S::TILE)
        for (int key = 0; key < k.tokens; key += S::TILE) {
            float all[S::R][S::R] = {};

            for (int64_t i = group; i < k.units; i += groups) {
                unit u = unit_of(k, i, head);

                load_queries(k, u, qkv, dy, query, t, norm);
                load_keys(k, u, qkv, key, t, norm);
                UNROLL_WHOLE
                for (int a = 0; a < S::R; a++) {
                    log_sum[a] = of_query(k, u, lse, t.query[tile_gemm_row(a)]);
                    mean[a] = of_query(k, u, delta, t.query[tile_gemm_row(a)]);
                }
                pairs_of<false>(k, u, b, key, t, log_sum, p);
                UNROLL_WHOLE
                for (int a = 0; a < S::R; a++)
                    UNROLL_WHOLE
                    for (int c = 0; c < S::R; c++) {
                        float ds = p.p[a][c] * (p.da[a][c] - mean[a]);

                        all[a][c] += ds;
                        dlogit += ds * p.s[a][c];
                    }
            }
            if (!k.table)
                continue;
            store_pairs(t, [&](int a, int c) { return all[a][c]; });
            __syncthreads();
            add_offsets(k, t, query, key, sums);
        }
    dlogit = block_sum<TILE_GEMM_THREADS>(dlogit, warps);
    if (threadIdx.x == 0)
        sums[k.offsets] = dlogit;
}

/* One thread per element of [heads][offsets + 1]; dtable, dlogit_scale: or NULL */
__global__ void __launch_bounds__(TILE_GEMM_THREADS)
    attention_sum_groups(const float *sums, float *dtable, float *dlogit_scale,
                         attention k, int groups)
{
    int64_t i = (int64_t)blockIdx.x * TILE_GEMM_THREADS + threadIdx.x;
    int64_t n = (int64_t)k.heads * (k.offsets + 1);
    int head = (int)(i / (k.offsets + 1)), e = (int)(i % (k.offsets + 1));
    double sum = 0;

    if (i >= n)
        return;
    for (int g = 0; g < groups; g++)
        sum += (double)sums[g * n + i];
    if (e < k.offsets && dtable)
        dtable[(int64_t)e * k.heads + head] = (float)sum;
    if (e == k.offsets && dlogit_scale)
        dlogit_scale[head] =
            window_attention_clamped(k.logit_scale[head]) ? 0 : (float)sum;
}

template <class S, class T>
static void sums_launch(const struct step *s, struct device *dev, const attention &k,
                        const float *delta, float *sums)
{
    int groups = groups_of(k, dev);
    float *dtable = (float *)s->out[WINDOW_ATTENTION_GRAD_DTABLE];
    float *dlogit_scale = (float *)s->out[WINDOW_ATTENTION_GRAD_DLOGIT_SCALE];

    if (!k.table)
        dtable = nullptr;
    if (!k.logit_scale)
        dlogit_scale = nullptr;
    if (!dtable && !dlogit_scale)
        return;
    ATTENTION_LAUNCH(dev, k, (attention_sum<S, T>), (unsigned)(groups * k.heads),
                     pair_tiles<S>::FLOATS,
                     (const T *)s->in[WINDOW_ATTENTION_GRAD_QKV],
                     (const T *)s->in[WINDOW_ATTENTION_GRAD_DY],
                     (const float *)s->in[WINDOW_ATTENTION_GRAD_LSE], delta, sums, k,
                     groups);
    LAUNCH(dev, attention_sum_groups,
           cuda_blocks((int64_t)k.heads * (k.offsets + 1), TILE_GEMM_THREADS, 1),
           TILE_GEMM_THREADS, 0, (const float *)sums, dtable, dlogit_scale, k, groups);
}

void attention_sums_run(const struct step *s, struct device *dev, const attention &k,
                        const float *delta, float *sums)
{
    WITH_DTYPE(s->in_tensor[WINDOW_ATTENTION_GRAD_QKV]->dtype, T,
               WITH_ATTENTION(k.head, S, sums_launch<S, T>(s, dev, k, delta, sums)));
}
