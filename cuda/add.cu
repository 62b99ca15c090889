/* add: the sum of two or more tensors. Bytes: each input and the output once. */
#include "ops/add.h"

#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "cuda/vec.h"
#include "graph/kernel.h"

enum { BLOCK = 256, MOST = 16 };

template <class T> struct terms {
    const T *p[MOST];
    int n;
};

template <class T>
__global__ void __launch_bounds__(BLOCK) add_each(terms<T> x, T *y, int64_t n)
{
    int64_t i = ((int64_t)blockIdx.x * BLOCK + threadIdx.x) * vec<T>::N;

    if (i + vec<T>::N <= n) {
        float sum[vec<T>::N] = {};
        vec<T> out;

        for (int t = 0; t < x.n; t++) {
            vec<T> a = vec_load(x.p[t] + i);

            for (int k = 0; k < vec<T>::N; k++)
                sum[k] += a.get(k);
        }
        for (int k = 0; k < vec<T>::N; k++)
            out.set(k, sum[k]);
        vec_store(y + i, out);
        return;
    }
    for (; i < n; i++) {
        float sum = 0;

        for (int t = 0; t < x.n; t++)
            sum += to_float(x.p[t][i]);
        y[i] = from_float<T>(sum);
    }
}

static const char *add_claim(struct region *r, struct graph *, struct node *n,
                             struct device *)
{
    if (n->op != &op_add)
        return "not an add";
    if (n->nin > MOST)
        return "more than 16 terms";
    for (int i = 0; i < n->nin; i++)
        if (n->in[i]->dtype != n->out[0]->dtype)
            return "one type for all";

    region_take(r, n);
    for (int i = 0; i < n->nin; i++)
        (void)region_read(r, n->in[i]);
    (void)region_write(r, n->out[0]);
    region_inplace(r, 0, 0);
    return nullptr;
}

static void add_run(struct step *s, struct device *dev)
{
    int64_t n = tensor_len(s->out_tensor[0]);

    WITH_DTYPE(s->out_tensor[0]->dtype, T, {
        terms<T> x = {};

        for (x.n = 0; x.n < s->nin; x.n++)
            x.p[x.n] = (const T *)s->in[x.n];
        LAUNCH(dev, add_each<T>, cuda_blocks(n, BLOCK, vec<T>::N), BLOCK, 0, x,
               (T *)s->out[0], n);
    });
}

extern const struct kernel cuda_add = {
    .name = "cuda add",
    .claim = add_claim,
    .run = add_run,
};
