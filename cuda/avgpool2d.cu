/*
 * avgpool2d and its gradient: a thread computes one pack of channels of one position;
 * what windows share comes from L1 and L2. Bytes: x (or dy) and y (or dx) once. A window
 * counts the positions that lie in the image.
 */
#include "cuda/channels.h"
#include "cuda/kernels.h"
#include "graph/kernel.h"
#include "ops/avgpool2d.h"
#include "ops/window.h"

enum { BLOCK = 256 };

struct pool {
    int64_t items; /* packs of the result, of all images */
    int packs, in_h, in_w, out_h, out_w;
    int kernel, stride, pad;
};

/* Where item i of a tensor of h x w positions lies. */
struct spot {
    int64_t image;
    int pack, h, w;
};

__device__ static inline spot spot_of(int64_t i, int packs, int h, int w)
{
    int64_t at = i / packs, row = at / w;

    return {row / h, (int)(i % packs), (int)(row % h), (int)(at % w)};
}

template <class T, int N>
__global__ void __launch_bounds__(BLOCK) avgpool_forward(const T *x, T *y, pool p)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x, top, bottom, left, right;
    spot s = spot_of(i, p.packs, p.out_h, p.out_w);
    float sum[N] = {};
    pack<T, N> a;

    if (i >= p.items)
        return;
    window_span(s.h, p.in_h, p.kernel, p.stride, p.pad, &top, &bottom);
    window_span(s.w, p.in_w, p.kernel, p.stride, p.pad, &left, &right);
    for (int64_t h = top; h < bottom; h++)
        for (int64_t w = left; w < right; w++) {
            int64_t at = (s.image * p.in_h + h) * p.in_w + w;

            a = pack_load<N>(x + (at * p.packs + s.pack) * N);
            for (int k = 0; k < N; k++)
                sum[k] += a.get(k);
        }
    for (int k = 0; k < N; k++)
        a.set(k, sum[k] / (float)((bottom - top) * (right - left)));
    pack_store<T, N>(y + i * N, a);
}

template <class T, int N>
__global__ void __launch_bounds__(BLOCK) avgpool_backward(const T *dy, T *dx, pool p)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x, top, bottom, left, right;
    spot s = spot_of(i, p.packs, p.in_h, p.in_w);
    float sum[N] = {};
    pack<T, N> a;

    if (i >= p.items)
        return;
    window_cover(s.h, p.out_h, p.kernel, p.stride, p.pad, &top, &bottom);
    window_cover(s.w, p.out_w, p.kernel, p.stride, p.pad, &left, &right);
    for (int64_t h = top; h < bottom; h++)
        for (int64_t w = left; w < right; w++) {
            int64_t at = (s.image * p.out_h + h) * p.out_w + w, h0, h1, w0, w1;

            window_span(h, p.in_h, p.kernel, p.stride, p.pad, &h0, &h1);
            window_span(w, p.in_w, p.kernel, p.stride, p.pad, &w0, &w1);
            a = pack_load<N>(dy + (at * p.packs + s.pack) * N);
            for (int k = 0; k < N; k++)
                sum[k] += a.get(k) / (float)((h1 - h0) * (w1 - w0));
        }
    for (int k = 0; k < N; k++)
        a.set(k, sum[k]);
    pack_store<T, N>(dx + i * N, a);
}

static const char *avgpool_claim(struct region *r, struct graph *, struct node *n,
                                 struct device *)
{
    if (n->op != &op_avgpool2d && n->op != &op_avgpool2d_grad)
        return "not an avgpool2d";
    if (n->in[0]->dtype != n->out[0]->dtype)
        return "one type for all";

    region_take(r, n);
    (void)region_read(r, n->in[0]);
    (void)region_write(r, n->out[0]);
    return nullptr;
}

static pool pool_of(const struct avgpool2d_attrs *a, const struct tensor *x,
                    const struct tensor *y)
{
    return {.packs = (int)x->dim[1],
            .in_h = (int)x->dim[2],
            .in_w = (int)x->dim[3],
            .out_h = (int)y->dim[2],
            .out_w = (int)y->dim[3],
            .kernel = a->kernel,
            .stride = a->stride,
            .pad = a->padding};
}

static void avgpool_run(struct step *s, struct device *dev)
{
    bool grad = s->node->op == &op_avgpool2d_grad;
    const struct tensor *from = s->in_tensor[0], *to = s->out_tensor[0];
    pool p = pool_of((const struct avgpool2d_attrs *)s->node->attrs, grad ? to : from,
                     grad ? from : to);

    WITH_DTYPE(to->dtype, T, WITH_PACK(T, to->dim[1], N, {
                   p.items = tensor_len(to) / N;
                   p.packs /= N;
                   unsigned grid = cuda_blocks(p.items, BLOCK, 1);

                   if (grad)
                       LAUNCH(dev, (avgpool_backward<T, N>), grid, BLOCK, 0,
                              (const T *)s->in[0], (T *)s->out[0], p);
                   else
                       LAUNCH(dev, (avgpool_forward<T, N>), grid, BLOCK, 0,
                              (const T *)s->in[0], (T *)s->out[0], p);
               }));
}

extern const struct kernel cuda_avgpool2d = {
    .name = "cuda avgpool2d",
    .claim = avgpool_claim,
    .run = avgpool_run,
};
