/*
 * The gradients that window attention sums over windows: of the table and of logit_scale.
 * A block has one head and a group of units. For each pair of tiles it sums the gradients
 * of scores over its units in registers, then over the pairs with the same offset. A
 * second launch adds the groups, in order, in fp64.
 */
#include "cuda/reduce.h"
#include "cuda/window_attention_pairs.h"

enum { GROUPS = 3 }; /* blocks per multiprocessor */

int attention_groups(const attention &k, const struct device *dev)
{
    int64_t want = (int64_t)dev->what.multiprocessors * GROUPS / k.heads;

    return (int)(want > k.units ? k.units : want < 1 ? 1 : want);
}

int64_t attention_sums(const attention &k, const struct device *dev)
{
    return (int64_t)attention_groups(k, dev) * k.heads * (k.offsets + 1);
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
            add_offsets<S::TILE>(k, t.query, t.key, query, key, t.pairs, S::PAIRS, sums);
        }
    dlogit = block_sum<TILE_GEMM_THREADS>(dlogit, warps);
    if (threadIdx.x == 0)
        sums[k.offsets] = dlogit;
}

/* One thread per element of [heads][offsets + 1]; dtable, dlogit_scale: may be NULL */
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

bool attention_sums_wanted(const attention &k, const struct step *s)
{
    return (k.table && s->out[WINDOW_ATTENTION_GRAD_DTABLE]) ||
           (k.logit_scale && s->out[WINDOW_ATTENTION_GRAD_DLOGIT_SCALE]);
}

void attention_sums_join(const struct step *s, struct device *dev, const attention &k,
                         const float *sums)
{
    float *dtable = (float *)s->out[WINDOW_ATTENTION_GRAD_DTABLE];
    float *dlogit_scale = (float *)s->out[WINDOW_ATTENTION_GRAD_DLOGIT_SCALE];

    LAUNCH(dev, attention_sum_groups,
           cuda_blocks((int64_t)k.heads * (k.offsets + 1), TILE_GEMM_THREADS, 1),
           TILE_GEMM_THREADS, 0, sums, k.table ? dtable : nullptr,
           k.logit_scale ? dlogit_scale : nullptr, k, attention_groups(k, dev));
}

template <class S, class T>
static void sums_launch(const struct step *s, struct device *dev, const attention &k,
                        const float *delta, float *sums)
{
    int groups = attention_groups(k, dev);

    ATTENTION_LAUNCH(dev, k, (attention_sum<S, T>), (unsigned)(groups * k.heads),
                     TILE_GEMM_THREADS, pair_tiles<S>::FLOATS,
                     (const T *)s->in[WINDOW_ATTENTION_GRAD_QKV],
                     (const T *)s->in[WINDOW_ATTENTION_GRAD_DY],
                     (const float *)s->in[WINDOW_ATTENTION_GRAD_LSE], delta, sums, k,
                     groups);
}

void attention_sums_run(const struct step *s, struct device *dev, const attention &k,
                        const float *delta, float *sums)
{
    if (!attention_sums_wanted(k, s))
        return;
    WITH_DTYPE(s->in_tensor[WINDOW_ATTENTION_GRAD_QKV]->dtype, T,
               WITH_ATTENTION(k.head, S, sums_launch<S, T>(s, dev, k, delta, sums)));
    attention_sums_join(s, dev, k, sums);
}
