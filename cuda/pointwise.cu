/*
 * relu, sigmoid, gelu, and their gradients as separate kernels; most relus are fused with
 * the op before them. Forward reads x and writes y; backward reads y (gelu: x) and dy and
 * writes dx, 16 bytes of each per thread.
 */
#include "ops/pointwise.h"

#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "cuda/vec.h"
#include "graph/kernel.h"
#include "ops/gelu.h"
#include "ops/gelu_formula.h"
#include "ops/relu.h"
#include "ops/sigmoid.h"

enum { BLOCK = 256 };
enum { READ_X, READ_DY }; /* READ_X: in backward, y before dy */

static_assert((int)RELU_X == READ_X && (int)SIGMOID_X == READ_X &&
                  (int)RELU_GRAD_Y == READ_X && (int)SIGMOID_GRAD_Y == READ_X &&
                  (int)RELU_GRAD_DY == READ_DY && (int)SIGMOID_GRAD_DY == READ_DY &&
                  (int)GELU_X == READ_X && (int)GELU_GRAD_X == READ_X &&
                  (int)GELU_GRAD_DY == READ_DY,
              "all have the same slots");

static const char *pointwise_claim(struct region *r, struct graph *, struct node *n,
                                   struct device *)
{
    if (n->op != &op_relu && n->op != &op_relu_grad && n->op != &op_sigmoid &&
        n->op != &op_sigmoid_grad && n->op != &op_gelu && n->op != &op_gelu_grad)
        return "not a relu, a sigmoid or a gelu";
    for (int i = 0; i < n->nin; i++)
        if (n->in[i]->dtype != n->out[0]->dtype)
            return "one type for all";

    region_claim_node(r, n);
    region_inplace(r, 0, n->nin - 1); /* x, or dy */
    return nullptr;
}

struct relu_rule {
    float limit;
    __device__ float value(float x) const { return relu_value(x, limit); }
    __device__ float slope(float y, float dy) const { return relu_slope(y, dy, limit); }
};

struct sigmoid_rule {
    __device__ float value(float x) const { return sigmoid_value(x); }
    __device__ float slope(float y, float dy) const { return sigmoid_slope(y, dy); }
};

struct gelu_rule {
    __device__ float value(float x) const { return gelu_value(x); }
    __device__ float slope(float x, float dy) const { return gelu_slope(x) * dy; }
};

struct gelu_tanh_rule {
    __device__ float value(float x) const { return gelu_tanh_value(x); }
    __device__ float slope(float x, float dy) const { return gelu_tanh_slope(x) * dy; }
};

template <class T, class R>
__global__ void __launch_bounds__(BLOCK)
    pointwise_forward(const T *x, T *y, int64_t n, R rule)
{
    int64_t i = ((int64_t)blockIdx.x * BLOCK + threadIdx.x) * vec<T>::N;

    if (i + vec<T>::N <= n) {
        vec<T> a = vec_load(x + i);

        for (int k = 0; k < vec<T>::N; k++)
            a.set(k, rule.value(a.get(k)));
        vec_store(y + i, a);
        return;
    }
    for (; i < n; i++)
        y[i] = from_float<T>(rule.value(to_float(x[i])));
}

template <class T, class R>
__global__ void __launch_bounds__(BLOCK)
    pointwise_backward(const T *y, const T *dy, T *dx, int64_t n, R rule)
{
    int64_t i = ((int64_t)blockIdx.x * BLOCK + threadIdx.x) * vec<T>::N;

    if (i + vec<T>::N <= n) {
        vec<T> a = vec_load(y + i), d = vec_load(dy + i);

        for (int k = 0; k < vec<T>::N; k++)
            d.set(k, rule.slope(a.get(k), d.get(k)));
        vec_store(dx + i, d);
        return;
    }
    for (; i < n; i++)
        dx[i] = from_float<T>(rule.slope(to_float(y[i]), to_float(dy[i])));
}

template <class R> static void run(struct step *s, struct device *dev, R rule)
{
    int64_t n = tensor_len(s->out_tensor[0]);

    WITH_DTYPE(s->out_tensor[0]->dtype, T, {
        unsigned grid = cuda_blocks(n, BLOCK, vec<T>::N);

        if (s->nin > READ_DY)
            LAUNCH(dev, (pointwise_backward<T, R>), grid, BLOCK, 0,
                   (const T *)s->in[READ_X], (const T *)s->in[READ_DY], (T *)s->out[0], n,
                   rule);
        else
            LAUNCH(dev, (pointwise_forward<T, R>), grid, BLOCK, 0,
                   (const T *)s->in[READ_X], (T *)s->out[0], n, rule);
    });
}

static void run_gelu(struct step *s, struct device *dev)
{
    if (((const struct gelu_attrs *)s->node->attrs)->tanh)
        run(s, dev, gelu_tanh_rule{});
    else
        run(s, dev, gelu_rule{});
}

static void pointwise_run(struct step *s, struct device *dev)
{
    const struct op *op = s->node->op;

    if (op == &op_relu || op == &op_relu_grad)
        run(s, dev, relu_rule{((const struct relu_attrs *)s->node->attrs)->limit});
    else if (op == &op_gelu || op == &op_gelu_grad)
        run_gelu(s, dev);
    else
        run(s, dev, sigmoid_rule{});
}

extern const struct kernel cuda_pointwise = {
    .name = "cuda pointwise",
    .claim = pointwise_claim,
    .run = pointwise_run,
};
