/*
 * Single instructions of expr that nets have often, as kernels of their own; most relus
 * are fused with the op before them. Forward reads x and writes y; backward reads y or x,
 * and dy, and writes dx, 16 bytes of each per thread.
 */
#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "cuda/vec.h"
#include "graph/kernel.h"
#include "ops/expr.h"
#include "ops/gelu_formula.h"

enum { BLOCK = 256 };

/* The instructions, of one operand and of two. */
#define FORWARD(X)                                                                       \
    X(RELU) X(GELU) X(GELU_TANH) X(SIGMOID) X(SILU) X(HARD_SWISH) X(HARD_SIGMOID)        \
    X(SCALE_BY)
#define BACKWARD(X)                                                                      \
    X(RELU_GRAD) X(GELU_GRAD) X(GELU_TANH_GRAD) X(SIGMOID_GRAD) X(SILU_GRAD)             \
    X(HARD_SWISH_GRAD) X(HARD_SIGMOID_GRAD)

#define OR_IS(NAME) || expr_is(n, EXPR_##NAME)

static const char *pointwise_claim(struct region *r, struct graph *, struct node *n,
                                   struct device *)
{
    if (!(false FORWARD(OR_IS) BACKWARD(OR_IS)))
        return "not a frequent single instruction";
    for (int i = 0; i < n->nin; i++)
        if (n->in[i]->dtype != n->out[0]->dtype)
            return "one type for all";

    region_claim_node(r, n);
    region_inplace(r, 0, n->nin - 1); /* x, or dy */
    return nullptr;
}

/* gelu by ops/gelu_formula.h, which is faster than the erfc of ops/expr_formula.h. */
template <int OPCODE> __device__ static inline float compute(float a, float b, float m)
{
    if (OPCODE == EXPR_GELU)
        return gelu_value(a);
    if (OPCODE == EXPR_GELU_GRAD)
        return gelu_slope(a) * b;
    return expr_value(OPCODE, a, b, 0, m);
}

template <class T, int OPCODE>
__global__ void __launch_bounds__(BLOCK) pointwise_one(const T *x, T *y, int64_t n, float m)
{
    int64_t i = ((int64_t)blockIdx.x * BLOCK + threadIdx.x) * vec<T>::N;

    if (i + vec<T>::N <= n) {
        vec<T> a = vec_load(x + i);

        for (int k = 0; k < vec<T>::N; k++)
            a.set(k, compute<OPCODE>(a.get(k), 0, m));
        vec_store(y + i, a);
        return;
    }
    ROLLED
    for (; i < n; i++)
        y[i] = from_float<T>(compute<OPCODE>(to_float(x[i]), 0, m));
}

template <class T, int OPCODE>
__global__ void __launch_bounds__(BLOCK)
    pointwise_two(const T *y, const T *dy, T *dx, int64_t n, float m)
{
    int64_t i = ((int64_t)blockIdx.x * BLOCK + threadIdx.x) * vec<T>::N;

    if (i + vec<T>::N <= n) {
        vec<T> a = vec_load(y + i), d = vec_load(dy + i);

        for (int k = 0; k < vec<T>::N; k++)
            d.set(k, compute<OPCODE>(a.get(k), d.get(k), m));
        vec_store(dx + i, d);
        return;
    }
    ROLLED
    for (; i < n; i++)
        dx[i] = from_float<T>(compute<OPCODE>(to_float(y[i]), to_float(dy[i]), m));
}

#define LAUNCH_ONE(NAME)                                                                 \
    case EXPR_##NAME:                                                                    \
        LAUNCH(dev, (pointwise_one<T, EXPR_##NAME>), grid, BLOCK, 0, (const T *)s->in[0], \
               (T *)s->out[0], n, one->m);                                               \
        break;
#define LAUNCH_TWO(NAME)                                                                 \
    case EXPR_##NAME:                                                                    \
        LAUNCH(dev, (pointwise_two<T, EXPR_##NAME>), grid, BLOCK, 0, (const T *)s->in[0], \
               (const T *)s->in[1], (T *)s->out[0], n, one->m);                          \
        break;

template <class T> static void launch(struct step *s, struct device *dev)
{
    const struct expr_instruction *one = expr_single(s->node);
    int64_t n = tensor_len(s->out_tensor[0]);
    unsigned grid = cuda_blocks(n, BLOCK, vec<T>::N);

    switch (one->opcode) {
        FORWARD(LAUNCH_ONE)
        BACKWARD(LAUNCH_TWO)
    }
}

static void pointwise_run(struct step *s, struct device *dev)
{
    WITH_DTYPE(s->out_tensor[0]->dtype, T, launch<T>(s, dev));
}

extern const struct kernel cuda_pointwise = {
    .name = "cuda pointwise",
    .claim = pointwise_claim,
    .run = pointwise_run,
};
