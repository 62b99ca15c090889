/*
 * add_position: reads x and writes y once, with the positions from the cache. batch_sum:
 * a thread sums a pack of neighboring elements over all samples, so sums are fp32 in a
 * fixed order. Bytes: x once.
 */
#include "ops/position.h"

#include "cuda/channels.h"
#include "cuda/kernels.h"
#include "graph/kernel.h"

enum { BLOCK = 256, UNROLL = 4 };

/* items, sample: packs of all samples, of one sample. */
template <class T, int N>
__global__ void __launch_bounds__(BLOCK)
    position_add(const T *x, const float *p, T *y, int64_t items, int64_t sample)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
    pack<T, N> a;
    float v[N];

    if (i >= items)
        return;
    a = pack_load<N>(x + i * N);
    table_load<N>(p + i % sample * N, v);
    for (int k = 0; k < N; k++)
        a.set(k, a.get(k) + v[k]);
    pack_store<T, N>(y + i * N, a);
}

template <class T, int N>
__global__ void __launch_bounds__(BLOCK)
    position_sum(const T *x, float *y, int64_t sample, int samples)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
    float sum[N] = {};

    if (i >= sample)
        return;
    for (int b = 0; b < samples; b += UNROLL) {
        pack<T, N> a[UNROLL];

        for (int u = 0; u < UNROLL; u++)
            if (b + u < samples)
                a[u] = pack_load<N>(x + ((b + u) * sample + i) * N);
        for (int u = 0; u < UNROLL; u++)
            for (int k = 0; k < N && b + u < samples; k++)
                sum[k] += a[u].get(k);
    }
    for (int k = 0; k < N; k++)
        y[i * N + k] = sum[k];
}

static const char *position_claim(struct region *r, struct graph *, struct node *n,
                                  struct device *)
{
    if (n->op != &op_add_position && n->op != &op_batch_sum)
        return "neither add_position nor batch_sum";
    if (n->op == &op_add_position && n->in[ADD_POSITION_X]->dtype != n->out[0]->dtype)
        return "one type for x and the result";

    region_claim_node(r, n);
    if (n->op == &op_add_position)
        region_inplace(r, 0, ADD_POSITION_X);
    return nullptr;
}

static void position_run(struct step *s, struct device *dev)
{
    const struct tensor *x = s->in_tensor[0];
    int samples = (int)x->dim[0];
    int64_t len = tensor_len(x) / samples;
    const float *p =
        s->node->op == &op_add_position ? (const float *)s->in[ADD_POSITION_P] : nullptr;

    WITH_DTYPE(x->dtype, T, WITH_PACK(T, len, N, {
                   if (p)
                       LAUNCH(dev, (position_add<T, N>),
                              cuda_blocks(samples * (len / N), BLOCK, 1), BLOCK, 0,
                              (const T *)s->in[0], p, (T *)s->out[0], samples * (len / N),
                              len / N);
                   else
                       LAUNCH(dev, (position_sum<T, N>), cuda_blocks(len / N, BLOCK, 1),
                              BLOCK, 0, (const T *)s->in[0], (float *)s->out[0], len / N,
                              samples);
               }));
}

extern const struct kernel cuda_position = {
    .name = "cuda position",
    .claim = position_claim,
    .run = position_run,
};
