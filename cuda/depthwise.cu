/*
 * Depthwise convolutions of stride 1 or 2, [+ bias], and their data gradients, [+ add]:
 * cuDNN's engines for them take 20 to 90 times as long as moving the bytes. The gradient
 * of stride 1 is the convolution of dy with the taps flipped.
 *
 * A thread computes STRIP_PACK neighboring channels of a strip of pixels in one row
 * (cuda/strips.h): it keeps a row of taps in registers and loads each pixel once for all
 * taps of a row. A block has some channels, with their taps in shared memory, and walks
 * down the rows, so that rows are loaded into the L1 cache once. Sums are fp32 in a fixed
 * order. Bytes: x and y once, plus the overlap of strips.
 *
 * Strips whose pixels all exist are computed without conditions.
 */
#include "ops/add.h"
#include "ops/conv2d.h"

#include "cuda/kernels.h"
#include "cuda/strips.h"
#include "cuda/weights.h"
#include "ops/image.h"

enum { THREADS = 256, CHANNELS = 128 /* maximum per block */ };

struct state {
    bool half;               /* the weights come from the flat 16-bit array */
    int weight, bias, other; /* indices of reads; -1 if absent */
    size_t offset;
    bool gradient;
    const struct conv2d_attrs *attrs;
};

struct depthwise {
    int in_h, in_w, height, width, pad_h, pad_w; /* height, width: of y */
    int channels, wide, groups;                  /* wide: channels per block */
    strip_grid grid;
    unsigned strips, chunk; /* strips of all images, and per block */
    bool flipped;
};

/* Returns why this kernel cannot run, or NULL. x: input, y: output. */
static const char *refuses(const struct node *n, const struct tensor *x,
                           const struct tensor *w, const struct tensor *y)
{
    const struct conv2d_attrs *a = (const struct conv2d_attrs *)n->attrs;

    if (a->groups == 1 || w->dim[WEIGHT_I] != 1 || a->groups != w->dim[WEIGHT_O])
        return "not depthwise";
    if (a->stride_h != a->stride_w || a->stride_h > 2 || a->dilation_h != 1 ||
        a->dilation_w != 1)
        return "strides 1 and 2, dilation 1";
    if (a->kernel_h != a->kernel_w ||
        (a->kernel_h != 3 && a->kernel_h != 5 && (a->kernel_h != 7 || a->stride_h != 1)))
        return "kernels of 3 and 5, and of 7 with stride 1";
    if (a->pad_h >= a->kernel_h || a->pad_w >= a->kernel_w)
        return "less padding than the kernel";
    if (y->dim[IMAGE_C] % STRIP_PACK)
        return "channels in fours";
    if (tensor_len(x) / x->dim[IMAGE_C] >= INT32_MAX / 2 ||
        tensor_len(y) / y->dim[IMAGE_C] >= INT32_MAX / 2)
        return "at most 2^30 pixels";
    if (x->dtype != y->dtype || w->dtype != y->dtype)
        return "one type for data and weights";
    return nullptr;
}

/* Returns the data gradient that a two-input add reads, with the other input in *other.
 * Returns NULL with CUDNN.FUSE False. */
static struct node *added_gradient(const struct graph *g, const struct node *n,
                                   const struct device *dev, struct tensor **other)
{
    for (int i = 0; !dev->options.apart && n->nin == 2 && i < 2; i++) {
        struct node *c = sole_producer(g, n->in[i], &op_conv2d_data_grad);

        *other = n->in[1 - i];
        if (c && (*other)->dtype == n->out[0]->dtype)
            return c;
    }
    return nullptr;
}

static const char *depthwise_claim(struct region *r, struct graph *g, struct node *n,
                                   struct device *dev)
{
    struct state *st = (struct state *)region_state(r);
    struct tensor *other = nullptr, *x, *w, *master;
    struct node *c = n->op == &op_add ? added_gradient(g, n, dev, &other) : n;
    const char *why;

    if (!c || (c->op != &op_conv2d && c->op != &op_conv2d_data_grad))
        return "no convolution, nor an add after its data gradient";
    st->gradient = c->op == &op_conv2d_data_grad;
    st->attrs = (const struct conv2d_attrs *)c->attrs;
    x = c->in[st->gradient ? (int)CONV2D_DATA_GRAD_DY : (int)CONV2D_X];
    w = c->in[st->gradient ? (int)CONV2D_DATA_GRAD_WEIGHT : (int)CONV2D_WEIGHT];
    why = refuses(c, x, w, c->out[0]);
    if (why)
        return why;

    int bias = st->gradient ? (int)CONV2D_DATA_GRAD_BIAS : (int)CONV2D_BIAS;

    region_claim(r, n);
    if (c != n)
        region_claim(r, c);
    (void)region_read(r, x);
    master = dtype_is_half(w->dtype) ? cuda_weights_master(w) : nullptr;
    st->half = master != nullptr;
    if (master) {
        if (w->producer)
            region_duplicate(r, w->producer);
        st->weight = cuda_half_weights(r, g, dev, w->dtype);
        st->offset = master->offset / sizeof(float) * dtype_size(w->dtype);
    } else {
        st->weight = region_read(r, w);
    }
    st->bias = c->nin > bias ? region_read(r, c->in[bias]) : -1;
    st->other = other ? region_read(r, other) : -1;
    (void)region_write(r, n->out[0]);
    return nullptr;
}

/* Loads the taps of the group's channels in order of use: [tap][channel], row by row. */
template <class T, int K>
__device__ static inline void load_taps(const T *w, const depthwise &k, int first,
                                        float *taps)
{
    for (int e = (int)threadIdx.x; e < k.wide * K * K; e += THREADS) {
        int c = e / (K * K), tap = e % (K * K);
        float v = first + c < k.channels ? to_float(w[(int64_t)first * K * K + e]) : 0;

        taps[(k.flipped ? K * K - 1 - tap : tap) * k.wide + c] = v;
    }
}

/* Adds the contribution of a row of x, from pixel `src` on, with taps f. All loads of a
 * row are issued before the first is used. Pixels outside the image are not multiplied, as
 * taps may be NaN. */
template <int K, int KIND, bool WHOLE, class T>
__device__ static inline void
add_row(const T *src, int step, unsigned mask, const float (&f)[K][STRIP_PACK],
        float (&sum)[strip<K, KIND>::COLUMNS][STRIP_PACK])
{
    using S = strip<K, KIND>;
    constexpr int N = STRIP_PACK;
    words<T, N> v[S::LOADS];

    strip_load<WHOLE>(src, step, mask, v);
    UNROLL_WHOLE
    for (int j = 0; j < S::LOADS; j++) {
        if (!WHOLE && !(mask >> j & 1))
            continue;
        UNROLL_WHOLE
        for (int e = 0; e < S::COLUMNS * N; e++) {
            int t = e / N, tap = S::tap(j, t);

            if (tap >= 0 && tap < K)
                sum[t][e % N] += v[j].get(e % N) * f[tap][e % N];
        }
    }
}

/* Returns the row that tap row `ky` of result row `row` reads, if it exists, or -1. */
template <int KIND>
__device__ static inline int source_row(const depthwise &k, int row, int ky)
{
    int pos = KIND == STRIP_UP ? row + k.pad_h - ky
                               : row * (KIND == STRIP_DOWN ? 2 : 1) + ky - k.pad_h;

    if (KIND == STRIP_UP)
        pos = pos < 0 || pos % 2 ? -1 : pos / 2;
    return pos < k.in_h ? pos : -1;
}

/* Sums of a strip over all tap rows. taps: of the thread's channels */
template <int K, int KIND, class T>
__device__ static inline void
add_rows(const depthwise &k, const T *x, const float *taps, const strip_place &p,
         float (&sum)[strip<K, KIND>::COLUMNS][STRIP_PACK])
{
    using S = strip<K, KIND>;
    int first = S::first(p.column, k.pad_w);
    unsigned mask = strip_mask<S::LOADS>(first, k.in_w);

    ROLLED
    for (int ky = 0; ky < K; ky++) {
        int pos = source_row<KIND>(k, p.row, ky);
        float f[K][STRIP_PACK];
        const T *src;

        if (pos < 0)
            continue;
        UNROLL_WHOLE
        for (int kx = 0; kx < K; kx++)
            table_load<STRIP_PACK>(taps + (ky * K + kx) * k.wide, f[kx]);
        src = x + ((int64_t)(p.image * k.in_h + pos) * k.in_w + first) * k.channels;
        if (mask == (1u << S::LOADS) - 1)
            add_row<K, KIND, true>(src, k.channels, mask, f, sum);
        else
            add_row<K, KIND, false>(src, k.channels, mask, f, sum);
    }
}

/* bias, other: may be NULL */
template <class T, int K, int KIND>
__global__ void __launch_bounds__(THREADS, sizeof(T) == 2 ? 2 : 1)
    depthwise_strips(const T *x, const T *w, const float *bias, const T *other, T *y,
                     depthwise k)
{
    constexpr int N = STRIP_PACK, COLUMNS = strip<K, KIND>::COLUMNS;
    SHARED_BYTES(bytes);
    float *taps = reinterpret_cast<float *>(bytes);
    int first = (int)(blockIdx.x % (unsigned)k.groups) * k.wide, packs = k.wide / N;
    int lane = (int)threadIdx.x % packs * N, channel = first + lane;
    unsigned begin = blockIdx.x / (unsigned)k.groups * k.chunk;
    unsigned end = k.strips - begin < k.chunk ? k.strips : begin + k.chunk;
    int step = THREADS / packs;

    load_taps<T, K>(w, k, first, taps);
    __syncthreads();
    if ((int)threadIdx.x / packs >= step || channel >= k.channels)
        return;
    for (unsigned q = begin + threadIdx.x / (unsigned)packs; q < end;
         q += (unsigned)step) {
        strip_place p = strip_place_of(k.grid, COLUMNS, q);
        int64_t pos =
            ((int64_t)(p.image * k.height + p.row) * k.width + p.column) * k.channels +
            channel;
        float sum[COLUMNS][N];

        UNROLL_WHOLE
        for (int e = 0; e < COLUMNS * N; e++)
            sum[e / N][e % N] = bias ? bias[channel + e % N] : 0;
        add_rows<K, KIND>(k, x + channel, taps + lane, p, sum);
        UNROLL_WHOLE
        for (int t = 0; t < COLUMNS; t++, pos += k.channels) {
            pack<T, N> a = {};

            if (p.column + t < 0 || p.column + t >= k.width)
                continue;
            if (other)
                a = pack_load<N>(other + pos);
            UNROLL_WHOLE
            for (int i = 0; i < N; i++)
                a.set(i, other ? sum[t][i] + a.get(i) : sum[t][i]);
            pack_store(y + pos, a);
        }
    }
}

static enum strip_kind kind_of(const state *st)
{
    if (st->attrs->stride_h == 1)
        return STRIP_SAME;
    return st->gradient ? STRIP_UP : STRIP_DOWN;
}

static depthwise depthwise_of(const struct step *s, const struct device *dev)
{
    const struct state *st = (const struct state *)s->state;
    const struct conv2d_attrs *a = st->attrs;
    const struct tensor *x = s->in_tensor[0], *y = s->out_tensor[0];
    enum strip_kind kind = kind_of(st);
    int packs = (int)y->dim[IMAGE_C] / STRIP_PACK, limit = CHANNELS / (int)STRIP_PACK;
    depthwise k = {};

    k.flipped = st->gradient && kind == STRIP_SAME;
    k.in_h = (int)x->dim[IMAGE_H];
    k.in_w = (int)x->dim[IMAGE_W];
    k.height = (int)y->dim[IMAGE_H];
    k.width = (int)y->dim[IMAGE_W];
    k.pad_h = k.flipped ? a->kernel_h - 1 - a->pad_h : a->pad_h;
    k.pad_w = k.flipped ? a->kernel_w - 1 - a->pad_w : a->pad_w;
    k.channels = (int)y->dim[IMAGE_C];
    k.groups = (packs + limit - 1) / limit;
    k.wide = (packs + k.groups - 1) / k.groups * STRIP_PACK;
    k.grid = strip_grid_of(k.height, k.width, strip_columns(kind),
                           kind == STRIP_UP ? k.pad_w % 2 : 0);
    k.strips = (unsigned)y->dim[IMAGE_N] * k.grid.strips.divisor * (unsigned)k.height;

    unsigned blocks = (unsigned)(dev->what.multiprocessors * 8 / k.groups);
    unsigned at_once = (unsigned)(THREADS / (k.wide / STRIP_PACK));

    if (blocks < 1)
        blocks = 1;
    k.chunk = ((k.strips + blocks - 1) / blocks + at_once - 1) / at_once * at_once;
    return k;
}

template <class T, int K, int KIND>
static void launch(const struct step *s, struct device *dev, const depthwise &k)
{
    const struct state *st = (const struct state *)s->state;
    const void *w = st->half ? (const char *)s->derived[st->weight] + st->offset
                             : (const char *)s->in[st->weight];
    unsigned blocks = (k.strips + k.chunk - 1) / k.chunk * (unsigned)k.groups;

    LAUNCH(dev, (depthwise_strips<T, K, KIND>), blocks, THREADS,
           sizeof(float) * K * K * (size_t)k.wide, (const T *)s->in[0], (const T *)w,
           st->bias < 0 ? nullptr : (const float *)s->in[st->bias],
           st->other < 0 ? nullptr : (const T *)s->in[st->other], (T *)s->out[0], k);
}

template <class T, int K> static void launch_kind(const struct step *s, struct device *dev)
{
    enum strip_kind kind = kind_of((const struct state *)s->state);
    depthwise k = depthwise_of(s, dev);

    if (kind == STRIP_SAME)
        launch<T, K, STRIP_SAME>(s, dev, k);
    else if (kind == STRIP_DOWN)
        launch<T, K, STRIP_DOWN>(s, dev, k);
    else
        launch<T, K, STRIP_UP>(s, dev, k);
}

static void depthwise_run(struct step *s, struct device *dev)
{
    int kernel = ((const struct state *)s->state)->attrs->kernel_h;

    WITH_DTYPE(s->out_tensor[0]->dtype, T, {
        if (kernel == 3)
            launch_kind<T, 3>(s, dev);
        else if (kernel == 5)
            launch_kind<T, 5>(s, dev);
        else
            launch<T, 7, STRIP_SAME>(s, dev, depthwise_of(s, dev));
    });
}

extern const struct kernel cuda_depthwise = {
    .name = "cuda depthwise",
    .claim = depthwise_claim,
    .run = depthwise_run,
    .state_size = sizeof(struct state),
};
