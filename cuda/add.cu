/*
 * add: reads each input once and writes the sum once, 16 bytes at a time. The sum is fp32
 * and rounded once. It may be written over the first input.
 */
#include "ops/add.h"

#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "cuda/vec.h"
#include "graph/kernel.h"

enum { BLOCK = 256, MAX_INPUTS = 64 }; /* inputs of one node */

/* Passed by value, so the list needs no device memory. */
template <class T> struct addends {
    const T *x[MAX_INPUTS];
};

static const char *add_claim(struct region *r, struct graph *, struct node *n,
                             struct device *)
{
    if (n->op != &op_add)
        return "not an add";
    if (n->nin > MAX_INPUTS)
        return "more than 64 inputs";
    for (int i = 0; i < n->nin; i++)
        if (n->in[i]->dtype != n->out[0]->dtype)
            return "one type for all";

    region_claim_node(r, n);
    region_inplace(r, 0, 0);
    return nullptr;
}

/* COUNT: the number of inputs; 0: it is `count`, known only at run time. */
template <class T, int COUNT>
__global__ void __launch_bounds__(BLOCK)
    add_each(const __grid_constant__ addends<T> in, int count, T *y, int64_t n)
{
    int64_t i = ((int64_t)blockIdx.x * BLOCK + threadIdx.x) * vec<T>::N;
    int inputs = COUNT ? COUNT : count;

    if (i + vec<T>::N <= n) {
        float sum[vec<T>::N];
        vec<T> a = vec_load(in.x[0] + i);

        for (int k = 0; k < vec<T>::N; k++)
            sum[k] = a.get(k);
        for (int j = 1; j < inputs; j++) {
            vec<T> b = vec_load(in.x[j] + i);

            for (int k = 0; k < vec<T>::N; k++)
                sum[k] += b.get(k);
        }
        for (int k = 0; k < vec<T>::N; k++)
            a.set(k, sum[k]);
        vec_store(y + i, a);
        return;
    }
    for (; i < n; i++) {
        float sum = to_float(in.x[0][i]);

        for (int j = 1; j < inputs; j++)
            sum += to_float(in.x[j][i]);
        y[i] = from_float<T>(sum);
    }
}

static void add_run(struct step *s, struct device *dev)
{
    int64_t n = tensor_len(s->out_tensor[0]);

    WITH_DTYPE(s->out_tensor[0]->dtype, T, {
        unsigned grid = cuda_blocks(n, BLOCK, vec<T>::N);
        addends<T> in = {};

        for (int i = 0; i < s->nin; i++)
            in.x[i] = (const T *)s->in[i];
        if (s->nin == 2)
            LAUNCH(dev, (add_each<T, 2>), grid, BLOCK, 0, in, s->nin, (T *)s->out[0], n);
        else if (s->nin == 3)
            LAUNCH(dev, (add_each<T, 3>), grid, BLOCK, 0, in, s->nin, (T *)s->out[0], n);
        else
            LAUNCH(dev, (add_each<T, 0>), grid, BLOCK, 0, in, s->nin, (T *)s->out[0], n);
    });
}

extern const struct kernel cuda_add = {
    .name = "cuda add",
    .claim = add_claim,
    .run = add_run,
};
