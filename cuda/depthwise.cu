/*
 * Depthwise convolutions of stride 1, [+ bias], and their data gradients, [+ add]:
 * cuDNN's engines for them take 20 to 90 times as long as moving the bytes. The gradient
 * is the convolution of dy with the taps flipped.
 *
 * A thread computes N neighboring channels of a strip of COLUMNS pixels in one row: it
 * keeps each row of taps in registers and loads each pixel once for all taps of a row. A
 * block has some channels, with their taps in shared memory, and walks down the rows, so
 * that rows are loaded into the L1 cache once. Sums are fp32 in a fixed order. Bytes: x
 * and y once, plus the overlap of strips.
 */
#include "ops/add.h"
#include "ops/conv2d.h"

#include "cuda/channels.h"
#include "cuda/kernels.h"
#include "cuda/weights.h"
#include "ops/image.h"

enum { THREADS = 256, COLUMNS = 8, CHANNELS = 128 /* maximum per block */ };

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
    int strips;                                  /* per row */
    int64_t all, chunk;                          /* strips of all images, and per block */
    bool flipped;
};

/* Returns why this kernel cannot run, or NULL. x: input, y: output. */
static const char *refuses(const struct node *n, const struct tensor *x,
                           const struct tensor *w, const struct tensor *y)
{
    const struct conv2d_attrs *a = (const struct conv2d_attrs *)n->attrs;

    if (a->groups == 1 || w->dim[WEIGHT_I] != 1 || a->groups != w->dim[WEIGHT_O])
        return "not depthwise";
    if (a->extra_h || a->extra_w)
        return "the same padding on both sides";
    if (a->stride_h != 1 || a->stride_w != 1 || a->dilation_h != 1 || a->dilation_w != 1)
        return "stride and dilation 1";
    if (a->kernel_h != a->kernel_w ||
        (a->kernel_h != 3 && a->kernel_h != 5 && a->kernel_h != 7))
        return "kernels of 3, 5 or 7";
    if (a->pad_h >= a->kernel_h || a->pad_w >= a->kernel_w)
        return "less padding than the kernel";
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

/* Adds the contribution of row `line` of x, with taps f, to the strip that begins at
 * `column`. All loads of a row are issued before the first is used. Taps outside the
 * image are not multiplied, as they may be NaN. */
template <int K, int N, class T>
__device__ static inline void add_row(const depthwise &k, const T *line, int column,
                                      const float (&f)[K][N], float (&sum)[COLUMNS][N])
{
    pack<T, N> v[COLUMNS + K - 1];
    int first = column - k.pad_w;

    UNROLL_WHOLE
    for (int j = 0; j < COLUMNS + K - 1; j++) {
        v[j] = {};
        if (first + j >= 0 && first + j < k.in_w)
            v[j] = pack_load<N>(line + (int64_t)(first + j) * k.channels);
    }
    UNROLL_WHOLE
    for (int j = 0; j < COLUMNS + K - 1; j++) {
        if (first + j < 0 || first + j >= k.in_w)
            continue;
        UNROLL_WHOLE
        for (int e = 0; e < K * N; e++) {
            int t = j - e / N;

            if (t >= 0 && t < COLUMNS)
                sum[t][e % N] += v[j].get(e % N) * f[e / N][e % N];
        }
    }
}

/* bias, other: may be NULL */
template <class T, int K, int N>
__global__ void __launch_bounds__(THREADS)
    depthwise_strips(const T *x, const T *w, const float *bias, const T *other, T *y,
                     depthwise k)
{
    SHARED_BYTES(bytes);
    float *taps = reinterpret_cast<float *>(bytes);
    int first = (int)(blockIdx.x % (unsigned)k.groups) * k.wide, packs = k.wide / N;
    int lane = (int)threadIdx.x % packs * N, channel = first + lane;
    int64_t from = (int64_t)(blockIdx.x / (unsigned)k.groups) * k.chunk;
    int64_t to = from + k.chunk < k.all ? from + k.chunk : k.all;
    int step = THREADS / packs;

    load_taps<T, K>(w, k, first, taps);
    __syncthreads();
    if ((int)threadIdx.x / packs >= step || channel >= k.channels)
        return;
    for (int64_t q = from + (int)threadIdx.x / packs; q < to; q += step) {
        int64_t column_of = q / k.height;
        int row = (int)(q - column_of * k.height);
        int64_t image = column_of / k.strips;
        int column = (int)(column_of - image * k.strips) * COLUMNS;
        float sum[COLUMNS][N];

        UNROLL_WHOLE
        for (int e = 0; e < COLUMNS * N; e++)
            sum[e / N][e % N] = bias ? bias[channel + e % N] : 0;
        for (int ky = 0; ky < K; ky++) {
            int at = row + ky - k.pad_h;
            float f[K][N];

            if (at < 0 || at >= k.in_h)
                continue;
            UNROLL_WHOLE
            for (int e = 0; e < K * N; e++)
                f[e / N][e % N] = taps[(ky * K + e / N) * k.wide + lane + e % N];
            add_row<K, N>(k, x + (image * k.in_h + at) * k.in_w * k.channels + channel,
                          column, f, sum);
        }
        UNROLL_WHOLE
        for (int t = 0; t < COLUMNS; t++) {
            int64_t at = ((image * k.height + row) * k.width + column + t) * k.channels;
            pack<T, N> a = {};

            if (column + t >= k.width)
                continue;
            if (other)
                a = pack_load<N>(other + at + channel);
            UNROLL_WHOLE
            for (int i = 0; i < N; i++)
                a.set(i, other ? sum[t][i] + a.get(i) : sum[t][i]);
            pack_store(y + at + channel, a);
        }
    }
}

static depthwise depthwise_of(const struct step *s, int n, const struct device *dev)
{
    const struct state *st = (const struct state *)s->state;
    const struct conv2d_attrs *a = st->attrs;
    const struct tensor *x = s->in_tensor[0], *y = s->out_tensor[0];
    int channels = (int)y->dim[IMAGE_C], packs = channels / n, limit = CHANNELS / n;
    depthwise k = {};

    k.in_h = (int)x->dim[IMAGE_H];
    k.in_w = (int)x->dim[IMAGE_W];
    k.height = (int)y->dim[IMAGE_H];
    k.width = (int)y->dim[IMAGE_W];
    k.pad_h = st->gradient ? a->kernel_h - 1 - a->pad_h : a->pad_h;
    k.pad_w = st->gradient ? a->kernel_w - 1 - a->pad_w : a->pad_w;
    k.flipped = st->gradient;
    k.channels = channels;
    k.groups = (packs + limit - 1) / limit;
    k.wide = (packs + k.groups - 1) / k.groups * n;
    k.strips = (k.width + COLUMNS - 1) / COLUMNS;
    k.all = y->dim[IMAGE_N] * k.strips * k.height;

    int64_t blocks = dev->what.multiprocessors * 8 / k.groups;
    int64_t at_once = THREADS / (k.wide / n);

    if (blocks < 1)
        blocks = 1;
    k.chunk = ((k.all + blocks - 1) / blocks + at_once - 1) / at_once * at_once;
    return k;
}

template <class T, int K, int N>
static void launch(const struct step *s, struct device *dev, const depthwise &k)
{
    const struct state *st = (const struct state *)s->state;
    const void *w = st->half ? (const char *)s->derived[st->weight] + st->offset
                             : (const char *)s->in[st->weight];
    int64_t blocks = (k.all + k.chunk - 1) / k.chunk * k.groups;

    LAUNCH(dev, (depthwise_strips<T, K, N>), (unsigned)blocks, THREADS,
           sizeof(float) * K * K * k.wide, (const T *)s->in[0], (const T *)w,
           st->bias < 0 ? nullptr : (const float *)s->in[st->bias],
           st->other < 0 ? nullptr : (const T *)s->in[st->other], (T *)s->out[0], k);
}

template <class T, int N>
static void launch_kernel(const struct step *s, struct device *dev)
{
    int kernel = ((const struct state *)s->state)->attrs->kernel_h;
    depthwise k = depthwise_of(s, N, dev);

    if (kernel == 3)
        launch<T, 3, N>(s, dev, k);
    else if (kernel == 5)
        launch<T, 5, N>(s, dev, k);
    else
        launch<T, 7, N>(s, dev, k);
}

static void depthwise_run(struct step *s, struct device *dev)
{
    const struct tensor *y = s->out_tensor[0];

    WITH_DTYPE(y->dtype, T, {
        if (y->dim[IMAGE_C] % 2 == 0)
            launch_kernel<T, 2>(s, dev);
        else
            launch_kernel<T, 1>(s, dev);
    });
}

extern const struct kernel cuda_depthwise = {
    .name = "cuda depthwise",
    .claim = depthwise_claim,
    .run = depthwise_run,
    .state_size = sizeof(struct state),
};
