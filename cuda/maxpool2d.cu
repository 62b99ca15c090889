/*
 * maxpool2d and its gradient, [fused with the batch norm's apply and relu before it].
 *
 * Forward: a thread computes one pack of channels of one window; overlapping windows
 * share reads through L1 and L2. Bytes: x and y once.
 *
 * Backward: a thread sums the gradients that one pack of x won. The forward pass stored
 * the position of each window's winner as a byte (ops/maxpool2d_places.h): 1/8 of the
 * size of x in fp16 with a 3x3 window and stride 2. No two threads add to the same float,
 * so the order is fixed. Large windows, and pools whose result is concatenated with
 * another tensor, need two launches: the first finds the winners again from x and writes
 * them to the workspace (one or four bytes each).
 *
 * A pool whose result is concatenated writes its channels, and the gradient reads them,
 * within the wider tensor.
 *
 * The stem's relu has no other readers, so it is never stored: all three launches compute
 * it from x, rounded as if stored, and so does the batch norm's gradient.
 */
#include "cuda/maxpool2d.h"

#include "cuda/channels.h"
#include "cuda/kernels.h"
#include "cuda/pool.h"
#include "graph/kernel.h"
#include "ops/batchnorm_formula.h"
#include "ops/batchnorm_parts.h"
#include "ops/concat.h"
#include "ops/maxpool2d_places.h"
#include "ops/pointwise.h"
#include "ops/activation.h"

/* x as is, or relu(x scale + shift); scale NULL: as is. */
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
 * Calls each(pack of channels, index in the window) for all positions of a window within
 * the image. K: the kernel size, whose rows are loaded at once; or 0.
 */
template <class T, int N, int K, class F>
__device__ static inline void window_walk(const T *x, const maxpool &p,
                                          const pixel_index &s, const F &each)
{
    enum { LOADS = K ? K : 1 };
    const int kernel = K ? K : p.kernel;
    int top = s.h * p.stride - p.pad, left = s.w * p.stride - p.pad;

    x += ((int64_t)s.image * p.in_h * p.in_w * p.packs + s.pack) * N;
    for (int kh = 0; kh < kernel; kh++)
        for (int kw = 0; kw < kernel; kw += LOADS) {
            pack<T, N> a[LOADS] = {};
            bool inside[LOADS];

            UNROLL_WHOLE
            for (int u = 0; u < LOADS; u++) {
                int h = top + kh, w = left + kw + u;

                inside[u] =
                    (unsigned)h < (unsigned)p.in_h && (unsigned)w < (unsigned)p.in_w;
                if (inside[u])
                    a[u] = pack_load<N>(x + (int64_t)((h * p.in_w + w) * p.packs) * N);
            }
            UNROLL_WHOLE
            for (int u = 0; u < LOADS; u++)
                if (inside[u])
                    each(a[u], kh * kernel + kw + u);
        }
}

/*
 * The largest value of each channel in a window. relu(x scale + shift), rounded, is
 * monotonic in x, rising or, if the scale is negative, falling. So the largest (or
 * smallest) x is found first, and only that value is transformed. NaN wins.
 */
template <class T, int N, int K, bool NORM>
__global__ void __launch_bounds__(POOL_THREADS)
    maxpool_forward(const T *x, source f, T *y, maxpool p)
{
    pixel_index s = pixel_index_of(p.out_blocks, p.packs, p.out_h, p.out_w);
    float best[N], scale[N], shift[N], sign[N];
    pack<T, N> a;

    if (!s.valid)
        return;
    if (NORM) {
        table_load<N>(f.scale + s.pack * N, scale);
        table_load<N>(f.shift + s.pack * N, shift);
    }
    for (int i = 0; i < N; i++) {
        best[i] = -INFINITY;
        sign[i] = NORM && scale[i] < 0 ? -1.0f : 1.0f;
    }
    window_walk<T, N, K>(x, p, s, [&](const pack<T, N> &pixel, int) {
        for (int i = 0; i < N; i++) {
            float v = NORM ? pixel.get(i) * sign[i] : pixel.get(i);

            if (v > best[i] || v != v)
                best[i] = v;
        }
    });
    for (int i = 0; i < N; i++)
        a.set(i, NORM ? best[i] * sign[i] : best[i]);
    if (NORM)
        rectify<T, N>(&a, scale, shift, f.limit);

    int64_t pos = ((int64_t)s.image * p.out_h + s.h) * p.out_w + s.w;

    pack_store<T, N>(y + (pos * p.pitch + s.pack) * N, a);
}

template <class P, int N> struct alignas(sizeof(P) * N) places {
    P v[N];
};

/* The index of each channel's largest value; the first of equal ones, the last NaN. Also
 * writes that value, if y is not NULL. */
template <class T, int N, int K, bool NORM, class P>
__global__ void __launch_bounds__(POOL_THREADS)
    maxpool_winners(const T *x, source f, places<P, N> *winner, T *y, maxpool p)
{
    pixel_index s = pixel_index_of(p.out_blocks, p.packs, p.out_h, p.out_w);
    float best[N] = {}, scale[N], shift[N];
    int won[N];
    places<P, N> a;

    if (!s.valid)
        return;
    if (NORM) {
        table_load<N>(f.scale + s.pack * N, scale);
        table_load<N>(f.shift + s.pack * N, shift);
    }
    for (int i = 0; i < N; i++)
        won[i] = -1;
    window_walk<T, N, K>(x, p, s, [&](pack<T, N> pixel, int place) {
        if (NORM)
            rectify<T, N>(&pixel, scale, shift, f.limit);
        for (int i = 0; i < N; i++) {
            float v = pixel.get(i);

            if (won[i] < 0 || v > best[i] || v != v) {
                best[i] = v;
                won[i] = place;
            }
        }
    });
    for (int i = 0; i < N; i++)
        a.v[i] = (P)won[i];

    int64_t pos = ((int64_t)s.image * p.out_h + s.h) * p.out_w + s.w;

    winner[pos * p.packs + s.pack] = a;
    if (!y)
        return;

    pack<T, N> value;

    for (int i = 0; i < N; i++)
        value.set(i, best[i]);
    pack_store<T, N>(y + (pos * p.packs + s.pack) * N, value);
}

/* S: the stride, or 0 if it is known only at run time. */
template <class T, int N, int S, class P>
__global__ void __launch_bounds__(POOL_THREADS)
    maxpool_backward(const places<P, N> *winner, const T *dy, T *dx, maxpool p)
{
    enum { LOADS = S ? S : 1 }; /* windows of a row loaded at once */
    const int stride = S ? S : p.stride;
    pixel_index s = pixel_index_of(p.in_blocks, p.packs, p.in_h, p.in_w);
    span rows = span_over(s.h, p.out_h, p.kernel, stride, p.pad);
    span columns = span_over(s.w, p.out_w, p.kernel, stride, p.pad);
    float sum[N] = {};
    pack<T, N> a;

    if (!s.valid)
        return;
    for (int h = rows.first; h < rows.end; h++)
        for (int w = columns.first; w < columns.end; w += LOADS) {
            int64_t pos = ((int64_t)s.image * p.out_h + h) * p.out_w + w;
            int here = (s.h + p.pad - h * stride) * p.kernel + s.w + p.pad - w * stride;
            places<P, N> won[LOADS];
            pack<T, N> d[LOADS];

            UNROLL_WHOLE
            for (int u = 0; u < LOADS; u++) { /* past the end, load the last again */
                int64_t begin = pos + (w + u < columns.end ? u : 0);

                won[u] = winner[begin * p.packs + s.pack];
                d[u] = pack_load<N>(dy + (begin * p.pitch + s.pack) * N);
            }
            UNROLL_WHOLE
            for (int u = 0; u < LOADS; u++) {
                int place = w + u < columns.end ? here - u * stride : -1;

                for (int i = 0; i < N; i++)
                    sum[i] += (int)won[u].v[i] == place ? d[u].get(i) : 0;
            }
        }
    for (int i = 0; i < N; i++)
        a.set(i, sum[i]);

    int64_t pos = ((int64_t)s.image * p.in_h + s.h) * p.in_w + s.w;

    pack_store<T, N>(dx + (pos * p.packs + s.pack) * N, a);
}

/* ---- claims ---- */

struct pool_state {
    maxpool p;
    bool grad;
    /* winners noted by the forward pass: index of a write, or of the gradient's read;
     * or -1 */
    int won;
    bool norm, bytes; /* bytes: positions in the window fit a byte */
    int scale, shift; /* indices of reads, with norm */
    float limit;
};

enum { READ_X, READ_DY };       /* READ_DY: gradient only */
enum { READ_WON, READ_WON_DY }; /* if the winners are known */

/* Returns the relu after a batch norm that produces x, if only pools and its gradient
 * read x. */
static struct node *find_relu(const struct graph *g, const struct tensor *x)
{
    struct node *relu = x->producer, *apply;
    const struct node *n;

    if (!relu || !is_relu(relu) || !node_free(relu) || x->root)
        return nullptr;
    apply = relu->in[ACTIVATION_X]->producer;
    if (!apply || apply->op != &op_batchnorm_apply || !node_free(apply) ||
        apply->in[BATCHNORM_APPLY_X]->dtype != x->dtype)
        return nullptr;
    for (int i = 0; (n = tensor_reader(g, x, i)) != nullptr; i++)
        if (n->op != &op_maxpool2d && n->op != &op_maxpool2d_grad &&
            n->op != &op_maxpool2d_places && !is_relu_grad(n))
            return nullptr;
    return relu;
}

struct maxpool maxpool_of(const struct pool2d_attrs *a, const struct tensor *x,
                          const struct tensor *y, const struct tensor *whole,
                          int64_t start)
{
    int64_t unit = x->dim[1] | whole->dim[1] | start, n = 16 / (int)dtype_size(x->dtype);
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
                 .skip = start};

    p.in_blocks = spot_blocks(p.packs, p.in_h, p.in_w);
    p.out_blocks = spot_blocks(p.packs, p.out_h, p.out_w);
    return p;
}

static const char *claim_known(struct region *r, struct node *n)
{
    pool_state *st = (pool_state *)region_state(r);
    struct tensor *dy = n->in[MAXPOOL2D_PLACES_GRAD_DY], *dx = n->out[0];
    if (dy->dtype != dx->dtype)
        return "one type for all";
    st->p = maxpool_of((const struct pool2d_attrs *)n->attrs, dx, dy, dy, 0);
    st->grad = true;
    region_claim(r, n);
    st->won = region_read(r, n->in[MAXPOOL2D_PLACES_GRAD_WON]);
    (void)region_read(r, dy);
    (void)region_write(r, dx);
    return nullptr;
}

static const char *maxpool_claim(struct region *r, struct graph *g, struct node *n,
                                 struct device *)
{
    pool_state *st = (pool_state *)region_state(r);
    bool grad = n->op == &op_maxpool2d_grad, notes = n->op == &op_maxpool2d_places;
    struct node *relu, *apply;

    if (n->op == &op_maxpool2d_places_grad)
        return claim_known(r, n);
    if (!grad && !notes && n->op != &op_maxpool2d)
        return "not a maxpool2d";
    if (!((const struct pool2d_attrs *)n->attrs)->kernel)
        return "square windows";

    struct tensor *x = n->in[0], *y = grad ? n->in[MAXPOOL2D_GRAD_DY] : n->out[0];
    int64_t start = 0;
    struct tensor *whole = grad ? channel_slice_of(y, &start) : nullptr;

    if (x->dtype != y->dtype || x->dtype != n->out[0]->dtype)
        return "one type for all";
    relu = find_relu(g, x);

    st->p =
        maxpool_of((const struct pool2d_attrs *)n->attrs, x, y, whole ? whole : y, start);
    st->grad = grad;
    st->won = -1;
    st->bytes = st->p.kernel <= 16;
    st->norm = relu != nullptr;
    apply = relu ? relu->in[ACTIVATION_X]->producer : nullptr;
    region_claim(r, n);
    if (apply) {
        st->limit = relu_limit(relu);
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
    if (notes)
        st->won = region_write(r, n->out[MAXPOOL2D_PLACES_WON]);
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
static void winners_launch(const struct step *s, struct device *dev, const maxpool &p,
                           const source &f, void *winner, T *y)
{
    WITH_KERNEL(p, K,
                LAUNCH(dev, (maxpool_winners<T, N, K, NORM, P>),
                       p.out_blocks * (unsigned)p.images, POOL_THREADS, 0,
                       (const T *)s->in[READ_X], f, (places<P, N> *)winner, y, p));
}

template <class T, int N, class P>
static void sums_launch(const struct step *s, struct device *dev, const maxpool &p,
                        const void *winner, const void *dy)
{
    WITH_STRIDE(p.stride, S,
                LAUNCH(dev, (maxpool_backward<T, N, S, P>),
                       p.in_blocks * (unsigned)p.images, POOL_THREADS, 0,
                       (const places<P, N> *)winner, (const T *)dy + p.skip,
                       (T *)s->out[0], p));
}

template <class T, int N, bool NORM, class P>
static void backward_launch(const struct step *s, struct device *dev, const maxpool &p,
                            const source &f)
{
    winners_launch<T, N, NORM, P>(s, dev, p, f, s->workspace, nullptr);
    sums_launch<T, N, P>(s, dev, p, s->workspace, s->in[READ_DY]);
}

template <class T, int N, bool NORM>
static void pool_launch(const struct step *s, struct device *dev, const pool_state *st)
{
    void *won = !st->grad && st->won >= 0 ? s->out[st->won] : nullptr;
    source f = {NORM ? (const float *)s->in[st->scale] : nullptr,
                NORM ? (const float *)s->in[st->shift] : nullptr, st->limit};

    if (won)
        winners_launch<T, N, NORM, uint8_t>(s, dev, st->p, f, won, (T *)s->out[0]);
    else if (!st->grad)
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
                   if (st->grad && st->won >= 0)
                       sums_launch<T, N, uint8_t>(s, dev, st->p, s->in[READ_WON],
                                                  s->in[READ_WON_DY]);
                   else if (st->norm)
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
