/* sigmoid and its gradient: x read, y written; y and dy read, dx written. */
#include "ops/sigmoid.h"

#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "cuda/vec.h"
#include "graph/kernel.h"
#include "ops/pointwise.h"

enum { BLOCK = 256 };

static const char *sigmoid_claim(struct region *r, struct graph *, struct node *n,
                                 struct device *)
{
    if (n->op != &op_sigmoid && n->op != &op_sigmoid_grad)
        return "not a sigmoid";
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
__global__ void __launch_bounds__(BLOCK) sigmoid_forward(const T *x, T *y, int64_t n)
{
    int64_t i = ((int64_t)blockIdx.x * BLOCK + threadIdx.x) * vec<T>::N;

    if (i + vec<T>::N <= n) {
        vec<T> a = vec_load(x + i);

        for (int k = 0; k < vec<T>::N; k++)
            a.set(k, sigmoid_value(a.get(k)));
        vec_store(y + i, a);
        return;
    }
    for (; i < n; i++)
        y[i] = from_float<T>(sigmoid_value(to_float(x[i])));
}

template <class T>
__global__ void __launch_bounds__(BLOCK)
    sigmoid_backward(const T *y, const T *dy, T *dx, int64_t n)
{
    int64_t i = ((int64_t)blockIdx.x * BLOCK + threadIdx.x) * vec<T>::N;

    if (i + vec<T>::N <= n) {
        vec<T> a = vec_load(y + i), d = vec_load(dy + i);

        for (int k = 0; k < vec<T>::N; k++)
            d.set(k, sigmoid_slope(a.get(k), d.get(k)));
        vec_store(dx + i, d);
        return;
    }
    for (; i < n; i++)
        dx[i] = from_float<T>(sigmoid_slope(to_float(y[i]), to_float(dy[i])));
}

static void sigmoid_run(struct step *s, struct device *dev)
{
    int64_t n = tensor_len(s->out_tensor[0]);

    WITH_DTYPE(s->out_tensor[0]->dtype, T, {
        unsigned grid = cuda_blocks(n, BLOCK, vec<T>::N);

        if (s->nin > SIGMOID_GRAD_DY)
            LAUNCH(dev, sigmoid_backward<T>, grid, BLOCK, 0,
                   (const T *)s->in[SIGMOID_GRAD_Y], (const T *)s->in[SIGMOID_GRAD_DY],
                   (T *)s->out[0], n);
        else
            LAUNCH(dev, sigmoid_forward<T>, grid, BLOCK, 0, (const T *)s->in[SIGMOID_X],
                   (T *)s->out[0], n);
    });
}

extern const struct kernel cuda_sigmoid = {
    .name = "cuda sigmoid",
    .claim = sigmoid_claim,
    .run = sigmoid_run,
};
