/* Multiplies a tensor by a scalar: reads x, writes y, 16 bytes per thread. */
#include "ops/scale_by.h"

#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "cuda/vec.h"
#include "graph/kernel.h"

enum { BLOCK = 256 };

template <class T>
__global__ void __launch_bounds__(BLOCK)
    scale_each(const T *x, T *y, int64_t n, float factor)
{
    int64_t i = ((int64_t)blockIdx.x * BLOCK + threadIdx.x) * vec<T>::N;

    if (i + vec<T>::N <= n) {
        vec<T> a = vec_load(x + i);

        for (int k = 0; k < vec<T>::N; k++)
            a.set(k, factor * a.get(k));
        vec_store(y + i, a);
        return;
    }
    for (; i < n; i++)
        y[i] = from_float<T>(factor * to_float(x[i]));
}

static const char *scale_by_claim(struct region *r, struct graph *, struct node *n,
                                  struct device *)
{
    if (n->op != &op_scale_by)
        return "not a scale_by";
    if (n->in[SCALE_BY_X]->dtype != n->out[0]->dtype)
        return "one type for both";

    region_claim_node(r, n);
    region_inplace(r, 0, SCALE_BY_X);
    return nullptr;
}

static void scale_by_run(struct step *s, struct device *dev)
{
    int64_t n = tensor_len(s->out_tensor[0]);
    float factor = ((const struct scale_by_attrs *)s->node->attrs)->factor;

    WITH_DTYPE(s->out_tensor[0]->dtype, T, {
        LAUNCH(dev, scale_each<T>, cuda_blocks(n, BLOCK, vec<T>::N), BLOCK, 0,
               (const T *)s->in[SCALE_BY_X], (T *)s->out[0], n, factor);
    });
}

extern const struct kernel cuda_scale_by = {
    .name = "cuda scale_by",
    .claim = scale_by_claim,
    .run = scale_by_run,
};
