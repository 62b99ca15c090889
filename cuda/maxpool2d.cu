/*
 * maxpool2d and its gradient, [batch norm's apply and relu in front].
 *
 * Forward: a thread computes one pack of channels of one window; what windows share comes
 * from L1 and L2. Bytes: x and y once.
 *
 * Backward, two launches: the first finds the winner of each window again from x and
 * writes its place in the window, one byte (four if the window has more than 256 places),
 * to the workspace; in the second a thread sums what one pack of x won. Bytes: x, dy and
 * dx once, and the winners twice: 1/8 of what x has in fp16 with a 3x3 window and stride
 * 2. No float is added by two threads, so the order is fixed.
 *
 * A pool that is joined with something writes its channels, and the gradient reads them,
 * where they lie in the wider tensor.
 *
 * The stem's relu is read by nobody else, so it is never stored: all three launches make
 * it from x, rounded as it would have been, and the batch norm's gradient does so too.
 */
#include "cuda/maxpool2d.h"

#include "cuda/channels.h"
#include "cuda/kernels.h"
#include "cuda/pool.h"
#include "graph/kernel.h"
#include "ops/batchnorm_formula.h"
#include "ops/batchnorm_parts.h"
#include "ops/concat.h"
#include "ops/pointwise.h"
#include "ops/relu.h"

/* x as it is, or relu(x scale + shift); scale NULL: as it is. */
struct source {
    const float *scale, *shift;
    float limit;
};

template <class T, int N>
__device__ static inline void rectify(pack<T, N> *a, const float *scale,
                                      const float *shift, float limit)
{
    for (int i = 0; i < N; i++)
        a->set(i, relu_value(batchnorm_value(a->get(i), scale[i], shift[i]), limit));
}

/*
 * The largest value of each channel in a window and its place; the first of equal ones,
 * the last NaN. K: the kernel, or 0.
 */
template <class T, int N, int K, bool NORM>
__device__ static inline void window_best(const T *x, const source &f, const maxpool &p,
                                          const spot &s, float *best, int *won)
{
    const int kernel = K ? K : p.kernel;
    float scale[N], shift[N];

    if (NORM) {
        table_load<N>(f.scale + s.pack * N, scale);
        table_load<N>(f.shift + s.pack * N, shift);
    }
    for (int i = 0; i < N; i++)
        won[i] = -1;
    for (int kh = 0; kh < kernel; kh++)
        for (int kw = 0; kw < kernel; kw++) {
            int h = s.h * p.stride - p.pad + kh, w = s.w * p.stride - p.pad + kw;

            if (h < 0 || h >= p.in_h || w < 0 || w >= p.in_w)
                continue;

            int64_t at = ((int64_t)s.image * p.in_h + h) * p.in_w + w;
            pack<T, N> a = pack_load<N>(x + (at * p.packs + s.pack) * N);

            if (NORM)
                rectify<T, N>(&a, scale, shift, f.limit);
            for (int i = 0; i < N; i++) {
                float v = a.get(i);

                if (won[i] < 0 || v > best[i] || v != v) {
                    best[i] = v;
                    won[i] = kh * kernel + kw;
                }
            }
        }
}

template <class T, int N, int K, bool NORM>
__global__ void __launch_bounds__(POOL_THREADS)
    maxpool_forward(const T *x, source f, T *y, maxpool p)
{
    spot s = spot_of(p.out_blocks, p.packs, p.out_h, p.out_w);
    float best[N] = {};
    int won[N];
    pack<T, N> a;

    if (!s.on)
        return;
    window_best<T, N, K, NORM>(x, f, p, s, best, won);
    for (int i = 0; i < N; i++)
        a.set(i, best[i]);

    int64_t at = ((int64_t)s.image * p.out_h + s.h) * p.out_w + s.w;

    pack_store<T, N>(y + (at * p.pitch + s.pack) * N, a);
}

template <class P, int N> struct alignas(sizeof(P) * N) places {
    P v[N];
};

template <class T, int N, int K, bool NORM, class P>
__global__ void __launch_bounds__(POOL_THREADS)
    maxpool_winners(const T *x, source f, places<P, N> *winner, maxpool p)
{
    spot s = spot_of(p.out_blocks, p.packs, p.out_h, p.out_w);
    float best[N] = {};
    int won[N];
    places<P, N> a;

    if (!s.on)
        return;
    window_best<T, N, K, NORM>(x, f, p, s, best, won);
    for (int i = 0; i < N; i++)
        a.v[i] = (P)won[i];

    int64_t at = ((int64_t)s.image * p.out_h + s.h) * p.out_w + s.w;

    winner[at * p.packs + s.pack] = a;
}

/* S: the stride, or 0. */
template <class T, int N, int S, class P>
__global__ void __launch_bounds__(POOL_THREADS)
    maxpool_backward(const places<P, N> *winner, const T *dy, T *dx, maxpool p)
{
    const int stride = S ? S : p.stride;
    spot s = spot_of(p.in_blocks, p.packs, p.in_h, p.in_w);
    span rows = span_over(s.h, p.out_h, p.kernel, stride, p.pad);
    span columns = span_over(s.w, p.out_w, p.kernel, stride, p.pad);
    float sum[N] = {};
    pack<T, N> a;

    if (!s.on)
        return;
    for (int h = rows.first; h < rows.end; h++)
        for (int w = columns.first; w < columns.end; w++) {
            int64_t at = ((int64_t)s.image * p.out_h + h) * p.out_w + w;
            int here = (s.h + p.pad - h * stride) * p.kernel + s.w + p.pad - w * stride;
            places<P, N> won = winner[at * p.packs + s.pack];
            pack<T, N> d = pack_load<N>(dy + (at * p.pitch + s.pack) * N);

            for (int i = 0; i < N; i++)
                sum[i] += (int)won.v[i] == here ? d.get(i) : 0;
        }
    for (int i = 0; i < N; i++)
        a.set(i, sum[i]);

    int64_t at = ((int64_t)s.image * p.in_h + s.h) * p.in_w + s.w;

    pack_store<T, N>(dx + (at * p.packs + s.pack) * N, a);
}

/* ---- claims ---- */

struct pool_state {
    maxpool p;
    bool norm, bytes; /* places in the window fit a byte */
    int scale, shift; /* reads, with norm */
    float limit;
};

enum { READ_X, READ_DY }; /* dy: the gradient's */

/* The relu behind a batch norm that makes x, if only pools and its gradient read it. */
static struct node *relu_before(const struct graph *g, const struct tensor *x)
{
    struct node *relu = x->producer, *apply;
    const struct node *n;

    if (!relu || relu->op != &op_relu || !node_free(relu) || x->root)
        return nullptr;
    apply = relu->in[RELU_X]->producer;
    if (!apply || apply->op != &op_batchnorm_apply || !node_free(apply) ||
        apply->in[BATCHNORM_APPLY_X]->dtype != x->dtype)
        return nullptr;
    for (int i = 0; (n = tensor_reader(g, x, i)) != nullptr; i++)
        if (n->op != &op_maxpool2d && n->op != &op_maxpool2d_grad &&
            n->op != &op_relu_grad)
            return nullptr;
    return relu;
}

struct maxpool maxpool_of(const struct maxpool2d_attrs *a, const struct tensor *x,
                          const struct tensor *y, const struct tensor *whole,
                          int64_t from)
{
    int64_t unit = x->dim[1] | whole->dim[1] | from, n = 16 / (int)dtype_size(x->dtype);
    maxpool p = {.images = (int)x->dim[0],
                 .packs = (int)(unit % n ? x->dim[1] : x->dim[1] / n),
                 .in_h = (int)x->dim[2],
                 .in_w = (int)x->dim[3],
                 .out_h = (int)y->dim[2],
                 .out_w = (int)y->dim[3],
                 .pitch = (int)(unit % n ? whole->dim[1] : whole->dim[1] / n),
                 .kernel = a->kernel,
                 .stride = a->stride,
                 .pad = a->padding,
                 .unit = unit,
                 .skip = from};

    p.in_blocks = spot_blocks(p.packs, p.in_h, p.in_w);
    p.out_blocks = spot_blocks(p.packs, p.out_h, p.out_w);
    return p;
}

static const char *maxpool_claim(struct region *r, struct graph *g, struct node *n,
                                 struct device *)
{
    pool_state *st = (pool_state *)region_state(r);
    bool grad = n->op == &op_maxpool2d_grad;
    struct node *relu, *apply;

    if (!grad && n->op != &op_maxpool2d)
        return "not a maxpool2d";

    struct tensor *x = n->in[0], *y = grad ? n->in[MAXPOOL2D_GRAD_DY] : n->out[0];
    int64_t from = 0;
    struct tensor *whole = grad ? channel_slice_of(y, &from) : nullptr;

    if (x->dtype != y->dtype || x->dtype != n->out[0]->dtype)
        return "one type for all";
    relu = relu_before(g, x);

    st->p = maxpool_of((const struct maxpool2d_attrs *)n->attrs, x, y, whole ? whole : y,
                       from);
    st->bytes = st->p.kernel <= 16;
    st->norm = relu != nullptr;
    apply = relu ? relu->in[RELU_X]->producer : nullptr;
    region_take(r, n);
    if (apply) {
        st->limit = ((const struct relu_attrs *)relu->attrs)->limit;
        region_duplicate(r, relu);
        region_duplicate(r, apply);
    }
    (void)region_read(r, apply ? apply->in[BATCHNORM_APPLY_X] : x);
    if (grad)
        (void)region_read(r, whole ? whole : y);
    if (whole)
        region_duplicate(r, y->producer);
    if (apply) {
        st->scale = region_read(r, apply->in[BATCHNORM_APPLY_SCALE]);
        st->shift = region_read(r, apply->in[BATCHNORM_APPLY_SHIFT]);
    }
    (void)region_write(r, n->out[0]);
    if (grad)
        region_workspace(r, (size_t)tensor_len(y) * (st->bytes ? 1 : sizeof(int)));
    return nullptr;
}

/* ---- launches ---- */

#define WITH_KERNEL(p, K, ...)                                                           \
    do {                                                                                 \
        if ((p).kernel == 3) {                                                           \
            constexpr int K = 3;                                                         \
            __VA_ARGS__;                                                                 \
        } else {                                                                         \
            constexpr int K = 0;                                                         \
            __VA_ARGS__;                                                                 \
        }                                                                                \
    } while (0)

template <class T, int N, bool NORM>
static void forward_launch(struct device *dev, const maxpool &p, const source &f,
                           const void *x, void *y)
{
    unsigned grid = p.out_blocks * (unsigned)p.images;

    WITH_KERNEL(p, K,
                LAUNCH(dev, (maxpool_forward<T, N, K, NORM>), grid, POOL_THREADS, 0,
                       (const T *)x, f, (T *)y + p.skip, p));
}

void cuda_maxpool(struct device *dev, const struct maxpool *p, enum dtype t,
                  const void *x, void *y)
{
    WITH_DTYPE(t, T, WITH_PACK(T, p->unit, N, {
                   forward_launch<T, N, false>(dev, *p, source{}, x, y);
               }));
}

template <class T, int N, bool NORM, class P>
static void backward_launch(const struct step *s, struct device *dev, const maxpool &p,
                            const source &f)
{
    places<P, N> *winner = (places<P, N> *)s->workspace;
    unsigned out = p.out_blocks * (unsigned)p.images;

    WITH_KERNEL(p, K,
                LAUNCH(dev, (maxpool_winners<T, N, K, NORM, P>), out, POOL_THREADS, 0,
                       (const T *)s->in[READ_X], f, winner, p));
    WITH_STRIDE(p.stride, S,
                LAUNCH(dev, (maxpool_backward<T, N, S, P>),
                       p.in_blocks * (unsigned)p.images, POOL_THREADS, 0, winner,
                       (const T *)s->in[READ_DY] + p.skip, (T *)s->out[0], p));
}

template <class T, int N, bool NORM>
static void pool_launch(const struct step *s, struct device *dev, const pool_state *st)
{
    bool grad = s->node->op == &op_maxpool2d_grad;
    source f = {NORM ? (const float *)s->in[st->scale] : nullptr,
                NORM ? (const float *)s->in[st->shift] : nullptr, st->limit};

    if (!grad)
        forward_launch<T, N, NORM>(dev, st->p, f, s->in[READ_X], s->out[0]);
    else if (st->bytes)
        backward_launch<T, N, NORM, uint8_t>(s, dev, st->p, f);
    else
        backward_launch<T, N, NORM, int>(s, dev, st->p, f);
}

static void maxpool_run(struct step *s, struct device *dev)
{
    const pool_state *st = (const pool_state *)s->state;

    WITH_DTYPE(s->out_tensor[0]->dtype, T, WITH_PACK(T, st->p.unit, N, {
                   if (st->norm)
                       pool_launch<T, N, true>(s, dev, st);
                   else
                       pool_launch<T, N, false>(s, dev, st);
               }));
}

extern const struct kernel cuda_maxpool2d = {
    .name = "cuda maxpool2d",
    .claim = maxpool_claim,
    .run = maxpool_run,
    .state_size = sizeof(pool_state),
};
