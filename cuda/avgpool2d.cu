/*
 * avgpool2d and its gradient: a thread computes one pack of channels of one position.
 * Overlapping windows share reads through L1 and L2. Bytes: x (or dy) and y (or dx) once.
 * The divisor is the number of positions of the window within the image.
 */
#include "cuda/channels.h"
#include "cuda/kernels.h"
#include "cuda/pool.h"
#include "graph/kernel.h"
#include "ops/avgpool2d.h"

struct avgpool {
    int packs, in_h, in_w, out_h, out_w;
    int kernel, stride, pad;
    unsigned blocks; /* per image of the result */
};

template <class T, int N>
__global__ void __launch_bounds__(POOL_THREADS)
    avgpool_forward(const T *x, T *y, avgpool p)
{
    pixel_index s = pixel_index_of(p.blocks, p.packs, p.out_h, p.out_w);
    span rows = span_under(s.h, p.in_h, p.kernel, p.stride, p.pad);
    span columns = span_under(s.w, p.in_w, p.kernel, p.stride, p.pad);
    float sum[N] = {}, share;
    pack<T, N> a;

    if (!s.valid)
        return;
    for (int h = rows.first; h < rows.end; h++)
        for (int w = columns.first; w < columns.end; w++) {
            int64_t pos = ((int64_t)s.image * p.in_h + h) * p.in_w + w;

            a = pack_load<N>(x + (pos * p.packs + s.pack) * N);
            for (int k = 0; k < N; k++)
                sum[k] += a.get(k);
        }
    share = 1 / (float)((rows.end - rows.first) * (columns.end - columns.first));
    for (int k = 0; k < N; k++)
        a.set(k, sum[k] * share);

    int64_t pos = ((int64_t)s.image * p.out_h + s.h) * p.out_w + s.w;

    pack_store<T, N>(y + (pos * p.packs + s.pack) * N, a);
}

/* S: the stride, or 0 if it is known only at run time. */
template <class T, int N, int S>
__global__ void __launch_bounds__(POOL_THREADS)
    avgpool_backward(const T *dy, T *dx, avgpool p)
{
    const int stride = S ? S : p.stride;
    pixel_index s = pixel_index_of(p.blocks, p.packs, p.in_h, p.in_w);
    span rows = span_over(s.h, p.out_h, p.kernel, stride, p.pad);
    span columns = span_over(s.w, p.out_w, p.kernel, stride, p.pad);
    float sum[N] = {};
    pack<T, N> a;

    if (!s.valid)
        return;
    for (int h = rows.first; h < rows.end; h++)
        for (int w = columns.first; w < columns.end; w++) {
            int64_t pos = ((int64_t)s.image * p.out_h + h) * p.out_w + w;
            span high = span_under(h, p.in_h, p.kernel, stride, p.pad);
            span wide = span_under(w, p.in_w, p.kernel, stride, p.pad);
            float share = 1 / (float)((high.end - high.first) * (wide.end - wide.first));

            a = pack_load<N>(dy + (pos * p.packs + s.pack) * N);
            for (int k = 0; k < N; k++)
                sum[k] += a.get(k) * share;
        }
    for (int k = 0; k < N; k++)
        a.set(k, sum[k]);

    int64_t pos = ((int64_t)s.image * p.in_h + s.h) * p.in_w + s.w;

    pack_store<T, N>(dx + (pos * p.packs + s.pack) * N, a);
}

static const char *avgpool_claim(struct region *r, struct graph *, struct node *n,
                                 struct device *)
{
    const struct pool2d_attrs *a = (const struct pool2d_attrs *)n->attrs;

    if (n->op != &op_avgpool2d && n->op != &op_avgpool2d_grad)
        return "not an avgpool2d";
    if (!a->kernel || a->count_include_pad)
        return "square windows, padding not counted";
    if (n->in[0]->dtype != n->out[0]->dtype)
        return "one type for all";

    region_claim(r, n);
    (void)region_read(r, n->in[0]);
    (void)region_write(r, n->out[0]);
    return nullptr;
}

static avgpool avgpool_of(const struct pool2d_attrs *a, const struct tensor *x,
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
    const struct tensor *src = s->in_tensor[0], *dst = s->out_tensor[0];
    avgpool p = avgpool_of((const struct pool2d_attrs *)s->node->attrs, grad ? dst : src,
                           grad ? src : dst);

    WITH_DTYPE(dst->dtype, T, WITH_PACK(T, dst->dim[1], N, {
                   p.packs /= N;
                   p.blocks = spot_blocks(p.packs, (int)dst->dim[2], (int)dst->dim[3]);
                   unsigned grid = p.blocks * (unsigned)dst->dim[0];

                   if (grad)
                       WITH_STRIDE(p.stride, S,
                                   LAUNCH(dev, (avgpool_backward<T, N, S>), grid,
                                          POOL_THREADS, 0, (const T *)s->in[0],
                                          (T *)s->out[0], p));
                   else
                       LAUNCH(dev, (avgpool_forward<T, N>), grid, POOL_THREADS, 0,
                              (const T *)s->in[0], (T *)s->out[0], p);
               }));
}

extern const struct kernel cuda_avgpool2d = {
    .name = "cuda avgpool2d",
    .claim = avgpool_claim,
    .run = avgpool_run,
};
