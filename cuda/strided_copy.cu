/*
 * strided_copy and its gradient: a thread copies an element of y. The gradient clears dx
 * first; where y repeats elements, a thread sums the repeats of one element in order.
 */
#include "ops/strided_copy.h"

#include "cuda/device.h"
#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "cuda/vec.h"
#include "graph/kernel.h"

enum { BLOCK = 256 };

/* Loops over what is copied, with strides in x and in y; loops over repeats come last. */
struct strided_loops {
    int n;
    int64_t count;   /* of elements of x */
    int64_t repeats; /* of each */
    int64_t len[STRIDED_COPY_DIMS], in_x[STRIDED_COPY_DIMS], in_y[STRIDED_COPY_DIMS];
    int repeat_n;
    int64_t repeat_len[STRIDED_COPY_DIMS], repeat_in_y[STRIDED_COPY_DIMS];
};

static struct strided_loops loops_of(const struct strided_copy_attrs *a)
{
    int64_t len[STRIDED_COPY_DIMS], stride[STRIDED_COPY_DIMS], step = 1;
    int n = strided_copy_loops(a, len, stride);
    strided_loops l = {};

    l.count = l.repeats = 1;
    for (int d = n - 1; d >= 0; d--) {
        if (stride[d]) {
            l.len[l.n] = len[d];
            l.in_x[l.n] = stride[d];
            l.in_y[l.n++] = step;
            l.count *= len[d];
        } else {
            l.repeat_len[l.repeat_n] = len[d];
            l.repeat_in_y[l.repeat_n++] = step;
            l.repeats *= len[d];
        }
        step *= len[d];
    }
    return l;
}

/* The places in x and y of the i-th element; the first loop is the innermost. */
__device__ static inline void place_of(const strided_loops &l, int64_t i, int64_t *x,
                                       int64_t *y)
{
    *x = *y = 0;
    for (int d = 0; d < l.n; d++) {
        int64_t pos = i % l.len[d];

        *x += pos * l.in_x[d];
        *y += pos * l.in_y[d];
        i /= l.len[d];
    }
}

__device__ static inline int64_t repeat_of(const strided_loops &l, int64_t r)
{
    int64_t y = 0;

    for (int d = 0; d < l.repeat_n; d++) {
        y += r % l.repeat_len[d] * l.repeat_in_y[d];
        r /= l.repeat_len[d];
    }
    return y;
}

template <class T>
__global__ void __launch_bounds__(BLOCK)
    strided_forward(const T *x, T *y, strided_loops l)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x, begin, end;

    if (i >= l.count)
        return;
    place_of(l, i, &begin, &end);
    for (int64_t r = 0; r < l.repeats; r++)
        y[end + repeat_of(l, r)] = x[begin];
}

template <class T>
__global__ void __launch_bounds__(BLOCK)
    strided_backward(const T *dy, T *dx, strided_loops l)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x, end, begin;
    float sum = 0;

    if (i >= l.count)
        return;
    place_of(l, i, &end, &begin);
    for (int64_t r = 0; r < l.repeats; r++)
        sum += to_float(dy[begin + repeat_of(l, r)]);
    dx[end] = from_float<T>(sum);
}

static const char *strided_copy_claim(struct region *r, struct graph *, struct node *n,
                                      struct device *)
{
    if (n->op != &op_strided_copy && n->op != &op_strided_copy_grad)
        return "no strided_copy";
    if (n->in[0]->dtype != n->out[0]->dtype)
        return "one type for all";

    region_claim_node(r, n);
    return nullptr;
}

static void strided_copy_run(struct step *s, struct device *dev)
{
    const struct strided_copy_attrs *a =
        (const struct strided_copy_attrs *)s->node->attrs;
    const struct tensor *out = s->out_tensor[0];
    strided_loops l = loops_of(a);
    unsigned blocks = (unsigned)((l.count + BLOCK - 1) / BLOCK);

    if (s->node->op == &op_strided_copy) {
        WITH_DTYPE(out->dtype, T,
                   LAUNCH(dev, strided_forward<T>, blocks, BLOCK, 0,
                          (const T *)s->in[0] + a->offset, (T *)s->out[0], l));
        return;
    }
    if (l.count < tensor_len(out))
        CUDA_CHECK(dev, cudaMemsetAsync(s->out[0], 0, tensor_size(out), dev->stream));
    WITH_DTYPE(out->dtype, T,
               LAUNCH(dev, strided_backward<T>, blocks, BLOCK, 0, (const T *)s->in[0],
                      (T *)s->out[0] + a->offset, l));
}

extern const struct kernel cuda_strided_copy = {
    .name = "cuda strided_copy",
    .claim = strided_copy_claim,
    .run = strided_copy_run,
};
