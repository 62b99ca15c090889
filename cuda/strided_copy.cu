/*
 * strided_copy and its gradient: a thread copies up to 16 bytes. The gradient clears dx
 * first unless all of it is written; where y repeats elements, a thread sums the repeats of
 * one element in order.
 */
#include "ops/strided_copy.h"

#include "cuda/device.h"
#include "cuda/divide.h"
#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "cuda/vec.h"
#include "graph/kernel.h"

enum { BLOCK = 256 };

/* The first loop is the innermost; steps in units of what a thread copies. */
struct copy_loops {
    int n;
    unsigned count;
    divider len[STRIDED_COPY_DIMS];
    int64_t src[STRIDED_COPY_DIMS], dst[STRIDED_COPY_DIMS];
};

template <class U>
__global__ void __launch_bounds__(BLOCK)
    strided_elements(const U *src, U *dst, copy_loops l)
{
    unsigned i = blockIdx.x * BLOCK + threadIdx.x;

    if (i >= l.count)
        return;
    for (int d = 0; d < STRIDED_COPY_DIMS; d++) {
        if (d >= l.n)
            break;

        unsigned rest = divide(l.len[d], i);
        int64_t pos = i - rest * l.len[d].divisor;

        src += pos * l.src[d];
        dst += pos * l.dst[d];
        i = rest;
    }
    *dst = *src;
}

/* Returns how many elements of `each` bytes a thread can copy at once. */
static int elements_at_once(const struct strided_copy_attrs *a, int n, const int64_t *len,
                            const int64_t *stride, size_t each)
{
    int at_once = 16 / (int)each;
    int64_t sizes = a->offset;

    if (n == 0 || stride[n - 1] != 1)
        return 1;
    sizes |= len[n - 1];
    for (int d = 0; d < n - 1; d++)
        sizes |= stride[d];
    while (sizes % at_once)
        at_once /= 2;
    return at_once;
}

template <class U>
static void copy_launch(struct device *dev, const void *src, void *dst,
                        const copy_loops &l)
{
    LAUNCH(dev, strided_elements<U>, (l.count + BLOCK - 1) / BLOCK, BLOCK, 0,
           (const U *)src, (U *)dst, l);
}

/* Copies from x to y, or for the gradient from dy to the same places of dx. */
static void copy_elements(const struct step *s, struct device *dev)
{
    const struct strided_copy_attrs *a =
        (const struct strided_copy_attrs *)s->node->attrs;
    bool back = s->node->op == &op_strided_copy_grad;
    size_t each = dtype_size(s->out_tensor[0]->dtype), skip = (size_t)a->offset * each;
    const char *src = (const char *)s->in[0] + (back ? 0 : skip);
    char *dst = (char *)s->out[0] + (back ? skip : 0);
    int64_t len[STRIDED_COPY_DIMS], stride[STRIDED_COPY_DIMS], step = 1;
    int n = strided_copy_loops(a, len, stride);
    int at_once = elements_at_once(a, n, len, stride, each);
    copy_loops l = {.n = n};

    for (int i = 0, d = n - 1; d >= 0; i++, d--) {
        int unit = i ? at_once : 1; /* of the innermost loop, the step stays 1 */
        int64_t x = stride[d] / unit, y = step;

        if (i == 0)
            len[d] /= at_once;
        l.len[i] = divider_of((unsigned)len[d]);
        l.src[i] = back ? y : x;
        l.dst[i] = back ? x : y;
        step *= len[d];
    }
    l.count = (unsigned)step;

    switch (each * (size_t)at_once) {
    case 16: copy_launch<uint4>(dev, src, dst, l); break;
    case 8: copy_launch<uint2>(dev, src, dst, l); break;
    case 4: copy_launch<uint32_t>(dev, src, dst, l); break;
    default: copy_launch<uint16_t>(dev, src, dst, l);
    }
}

/* Loops over the elements of dx that get sums, with strides in dx and in dy, and over the
 * repeats of each. */
struct sum_loops {
    int n, repeat_n;
    int64_t count, repeats;
    int64_t len[STRIDED_COPY_DIMS], in_x[STRIDED_COPY_DIMS], in_y[STRIDED_COPY_DIMS];
    int64_t repeat_len[STRIDED_COPY_DIMS], repeat_in_y[STRIDED_COPY_DIMS];
};

static struct sum_loops sum_loops_of(const struct strided_copy_attrs *a)
{
    int64_t len[STRIDED_COPY_DIMS], stride[STRIDED_COPY_DIMS], step = 1;
    int n = strided_copy_loops(a, len, stride);
    sum_loops l = {};

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
__device__ static inline void place_of(const sum_loops &l, int64_t i, int64_t *x,
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

__device__ static inline int64_t repeat_of(const sum_loops &l, int64_t r)
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
    strided_sums(const T *dy, T *dx, sum_loops l)
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

template <class T>
static void sum_launch(const struct step *s, struct device *dev)
{
    const struct strided_copy_attrs *a =
        (const struct strided_copy_attrs *)s->node->attrs;
    sum_loops l = sum_loops_of(a);

    LAUNCH(dev, strided_sums<T>, (unsigned)((l.count + BLOCK - 1) / BLOCK), BLOCK, 0,
           (const T *)s->in[0], (T *)s->out[0] + a->offset, l);
}

static const char *strided_copy_claim(struct region *r, struct graph *, struct node *n,
                                      struct device *)
{
    if (n->op != &op_strided_copy && n->op != &op_strided_copy_grad)
        return "no strided_copy";
    if (n->in[0]->dtype != n->out[0]->dtype)
        return "one type for all";
    if (tensor_len(n->in[0]) > INT32_MAX || tensor_len(n->out[0]) > INT32_MAX)
        return "at most 2^31 elements";

    region_claim_node(r, n);
    return nullptr;
}

static void strided_copy_run(struct step *s, struct device *dev)
{
    const struct strided_copy_attrs *a =
        (const struct strided_copy_attrs *)s->node->attrs;
    const struct tensor *in = s->in_tensor[0], *out = s->out_tensor[0];
    bool back = s->node->op == &op_strided_copy_grad;
    bool unique = strided_copy_is_unique(a);

    if (back && !(unique && tensor_len(in) == tensor_len(out)))
        CUDA_CHECK(dev, cudaMemsetAsync(s->out[0], 0, tensor_size(out), dev->stream));
    if (back && !unique)
        WITH_DTYPE(out->dtype, T, sum_launch<T>(s, dev));
    else
        copy_elements(s, dev);
}

extern const struct kernel cuda_strided_copy = {
    .name = "cuda strided_copy",
    .claim = strided_copy_claim,
    .run = strided_copy_run,
};
