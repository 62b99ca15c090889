/*
 * reduce_sum. If the innermost dim is kept, a block sums 32 neighboring results, each by 8
 * threads; otherwise a block sums one result. The order of sums depends on shapes only.
 */
#include "ops/reduce_sum.h"

#include "cuda/kernels.h"
#include "cuda/reduce.h"
#include "cuda/vec.h"
#include "graph/kernel.h"

enum { BLOCK = 256, COLUMNS = 32, LANES = BLOCK / COLUMNS };

static const char *reduce_sum_claim(struct region *r, struct graph *, struct node *n,
                                    struct device *)
{
    if (n->op != &op_reduce_sum)
        return "not a reduce_sum";

    region_claim_node(r, n);
    return nullptr;
}

/* The offset in x of result k (of the kept dims) and term i (of the summed ones). */
__device__ static inline int64_t place(const struct reduce_loops &loops, int64_t k, int64_t i)
{
    int64_t pos = 0, stride = 1;

    for (int d = loops.n - 1; d >= 0; d--) {
        int64_t rest = loops.kept[d] ? k : i, next = rest / loops.len[d];

        pos += (rest - next * loops.len[d]) * stride;
        stride *= loops.len[d];
        if (loops.kept[d])
            k = next;
        else
            i = next;
    }
    return pos;
}

template <class T>
__global__ void __launch_bounds__(BLOCK)
    sum_columns(const T *x, float *y, int64_t results, int64_t terms,
                const __grid_constant__ struct reduce_loops loops)
{
    __shared__ double part[LANES][COLUMNS];
    int column = (int)threadIdx.x % COLUMNS, lane = (int)threadIdx.x / COLUMNS;
    int64_t k = (int64_t)blockIdx.x * COLUMNS + column;
    double sum = 0;

    for (int64_t i = lane; k < results && i < terms; i += LANES)
        sum += to_float(x[place(loops, k, i)]);
    part[lane][column] = sum;
    __syncthreads();
    if (lane > 0 || k >= results)
        return;
    for (int l = 1; l < LANES; l++)
        sum += part[l][column];
    y[k] = (float)sum;
}

template <class T>
__global__ void __launch_bounds__(BLOCK)
    sum_runs(const T *x, float *y, int64_t terms,
             const __grid_constant__ struct reduce_loops loops)
{
    __shared__ double shared[BLOCK / 32];
    double sum = 0;

    for (int64_t i = threadIdx.x; i < terms; i += BLOCK)
        sum += to_float(x[place(loops, blockIdx.x, i)]);
    sum = block_sum<BLOCK>(sum, shared);
    if (threadIdx.x == 0)
        y[blockIdx.x] = (float)sum;
}

static void reduce_sum_run(struct step *s, struct device *dev)
{
    int64_t results = tensor_len(s->out_tensor[0]);
    int64_t terms = tensor_len(s->in_tensor[0]) / results;
    struct reduce_loops loops;

    reduce_loops(s->node, &loops);
    WITH_DTYPE(s->in_tensor[0]->dtype, T, {
        if (loops.kept[loops.n - 1])
            LAUNCH(dev, sum_columns<T>, cuda_blocks(results, COLUMNS, 1), BLOCK, 0,
                   (const T *)s->in[0], (float *)s->out[0], results, terms, loops);
        else
            LAUNCH(dev, sum_runs<T>, (unsigned)results, BLOCK, 0, (const T *)s->in[0],
                   (float *)s->out[0], terms, loops);
    });
}

extern const struct kernel cuda_reduce_sum = {
    .name = "cuda reduce_sum",
    .claim = reduce_sum_claim,
    .run = reduce_sum_run,
};
