/* relu and its gradient alone; mostly they are taken by what stands beside them. */
#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "cuda/vec.h"
#include "graph/kernel.h"
#include "ops/pointwise.h"
#include "ops/relu.h"

enum { BLOCK = 256 };

static const char *relu_claim(struct region *r, struct graph *, struct node *n,
                              struct device *)
{
    if (n->op != &op_relu && n->op != &op_relu_grad)
        return "not a relu";
    for (int i = 0; i < n->nin; i++)
        if (n->in[i]->dtype != n->out[0]->dtype)
            return "one type for all";

    region_take(r, n);
    for (int i = 0; i < n->nin; i++)
        (void)region_read(r, n->in[i]);
    (void)region_write(r, n->out[0]);
    region_inplace(r, 0, n->nin - 1); /* x, or dy */
    return nullptr;
}

template <class T>
__global__ void __launch_bounds__(BLOCK)
    relu_forward(const T *x, T *y, int64_t n, float limit)
{
    int64_t i = ((int64_t)blockIdx.x * BLOCK + threadIdx.x) * vec<T>::N;

    if (i + vec<T>::N <= n) {
        vec<T> a = vec_load(x + i);

        for (int k = 0; k < vec<T>::N; k++)
            a.set(k, relu_value(a.get(k), limit));
        vec_store(y + i, a);
        return;
    }
    for (; i < n; i++)
        y[i] = from_float<T>(relu_value(to_float(x[i]), limit));
}

template <class T>
__global__ void __launch_bounds__(BLOCK)
    relu_backward(const T *y, const T *dy, T *dx, int64_t n, float limit)
{
    int64_t i = ((int64_t)blockIdx.x * BLOCK + threadIdx.x) * vec<T>::N;

    if (i + vec<T>::N <= n) {
        vec<T> a = vec_load(y + i), d = vec_load(dy + i);

        for (int k = 0; k < vec<T>::N; k++)
            d.set(k, relu_slope(a.get(k), d.get(k), limit));
        vec_store(dx + i, d);
        return;
    }
    for (; i < n; i++)
        dx[i] = from_float<T>(relu_slope(to_float(y[i]), to_float(dy[i]), limit));
}

static void relu_run(struct step *s, struct device *dev)
{
    float limit = ((const struct relu_attrs *)s->node->attrs)->limit;
    int64_t n = tensor_len(s->out_tensor[0]);

    WITH_DTYPE(s->out_tensor[0]->dtype, T, {
        unsigned grid = cuda_blocks(n, BLOCK, vec<T>::N);

        if (s->nin > RELU_GRAD_DY)
            LAUNCH(dev, relu_backward<T>, grid, BLOCK, 0, (const T *)s->in[RELU_GRAD_Y],
                   (const T *)s->in[RELU_GRAD_DY], (T *)s->out[0], n, limit);
        else
            LAUNCH(dev, relu_forward<T>, grid, BLOCK, 0, (const T *)s->in[RELU_X],
                   (T *)s->out[0], n, limit);
    });
}

extern const struct kernel cuda_relu = {
    .name = "cuda relu",
    .claim = relu_claim,
    .run = relu_run,
};
