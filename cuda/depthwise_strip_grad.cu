/*
 * The weight gradient of depthwise convolutions of stride 1 or 2 in strips
 * (cuda/strips.h). A thread has STRIP_PACK channels and one row of taps, whose sums it
 * keeps in registers: for each strip of dy it loads the pixels of x once for all taps of
 * the row. The threads of a block with the same taps are added in shared memory, the blocks
 * by a second launch. All sums are fp32 in a fixed order. Bytes: x and dy once from memory;
 * the threads of other tap rows read them from L1.
 */
#include "cuda/depthwise.h"
#include "cuda/kernels.h"
#include "cuda/strips.h"
#include "graph/kernel.h"
#include "ops/conv2d.h"
#include "ops/image.h"

enum { THREADS = 256, CHUNKS = 528, CHANNELS = 128 /* maximum per block */ };

struct strip_sums {
    int in_h, in_w, height, width, pad_h, pad_w; /* height, width: of dy */
    int channels, wide, groups;                  /* wide: channels per block */
    int lines;                                   /* strips of a block at once */
    strip_grid grid;
    unsigned strips, chunk; /* strips of all images, and per block */
    int chunks;
};

static strip_sums sums_of(const struct node *n)
{
    const struct conv2d_attrs *a = (const struct conv2d_attrs *)n->attrs;
    const struct tensor *x = n->in[CONV2D_WEIGHT_GRAD_X];
    const struct tensor *dy = n->in[CONV2D_WEIGHT_GRAD_DY];
    int packs = (int)dy->dim[IMAGE_C] / STRIP_PACK, limit = CHANNELS / (int)STRIP_PACK;
    strip_sums k = {};

    k.in_h = (int)x->dim[IMAGE_H];
    k.in_w = (int)x->dim[IMAGE_W];
    k.height = (int)dy->dim[IMAGE_H];
    k.width = (int)dy->dim[IMAGE_W];
    k.pad_h = a->pad_h;
    k.pad_w = a->pad_w;
    k.channels = (int)dy->dim[IMAGE_C];
    k.groups = (packs + limit - 1) / limit;
    packs = (packs + k.groups - 1) / k.groups;
    k.wide = packs * STRIP_PACK;
    k.lines = THREADS / (packs * a->kernel_h);
    k.grid = strip_grid_of(k.height, k.width,
                           strip_columns(a->stride_h == 1 ? STRIP_SAME : STRIP_DOWN), 0);
    k.strips = (unsigned)dy->dim[IMAGE_N] * k.grid.strips.divisor * (unsigned)k.height;

    unsigned lines = (unsigned)k.lines, blocks = CHUNKS / (unsigned)k.groups;

    if (blocks < 1)
        blocks = 1;
    k.chunk = ((k.strips + blocks - 1) / blocks + lines - 1) / lines * lines;
    k.chunks = (int)((k.strips + k.chunk - 1) / k.chunk);
    return k;
}

static const char *grad_claim(struct region *r, struct graph *, struct node *n,
                              struct device *)
{
    const struct conv2d_attrs *a = (const struct conv2d_attrs *)n->attrs;

    if (n->op != &op_conv2d_weight_grad || !cuda_is_depthwise(n))
        return "no weight gradient of a depthwise convolution of 3x3, 5x5 or 7x7";
    if (a->stride_h != a->stride_w || a->stride_h > (a->kernel_h == 7 ? 1 : 2) ||
        a->dilation_h != 1 || a->dilation_w != 1)
        return "strides 1 and 2 (7x7: 1), dilation 1";

    const struct tensor *x = n->in[CONV2D_WEIGHT_GRAD_X];

    if (x->dim[IMAGE_C] % STRIP_PACK)
        return "channels in fours";
    if (tensor_len(x) / x->dim[IMAGE_C] >= INT32_MAX / 2)
        return "at most 2^30 pixels";

    region_claim_node(r, n);
    region_workspace(r, (size_t)sums_of(n).chunks * (size_t)tensor_len(n->out[0]) *
                            sizeof(float));
    return nullptr;
}

/* Adds the products of a strip of dy and the pixels of x from `src` on. Pixels outside the
 * image are not multiplied, as dy may be NaN. */
template <int K, int KIND, bool WHOLE, class T>
__device__ static inline void
add_strip(const T *src, int step, unsigned mask,
          const words<T, STRIP_PACK> (&d)[strip<K, KIND>::COLUMNS],
          float (&sum)[K][STRIP_PACK])
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
                sum[tap][e % N] += v[j].get(e % N) * d[t].get(e % N);
        }
    }
}

/* sums: [chunk][channel][tap] */
template <class T, int K, int KIND>
__global__ void __launch_bounds__(THREADS, sizeof(T) == 2 ? 2 : 1)
    depthwise_strip_sums(const T *x, const T *dy, float *sums, strip_sums k)
{
    using S = strip<K, KIND>;
    constexpr int N = STRIP_PACK;
    SHARED_BYTES(bytes);
    float *shared = reinterpret_cast<float *>(bytes); /* [tap][channel] */
    int packs = k.wide / N, first = (int)(blockIdx.x % (unsigned)k.groups) * k.wide;
    int part = (int)threadIdx.x / packs, ky = part % K, line = part / K;
    int lane = (int)threadIdx.x % packs * N, channel = first + lane;
    unsigned chunk = blockIdx.x / (unsigned)k.groups, begin = chunk * k.chunk;
    unsigned end = k.strips - begin < k.chunk ? k.strips : begin + k.chunk;
    bool valid = line < k.lines && channel < k.channels;
    float sum[K][N] = {};

    for (unsigned q = begin + (unsigned)line; valid && q < end; q += (unsigned)k.lines) {
        strip_place p = strip_place_of(k.grid, S::COLUMNS, q);
        int pos = p.row * (KIND == STRIP_DOWN ? 2 : 1) + ky - k.pad_h;
        int column = S::first(p.column, k.pad_w);
        unsigned mask = strip_mask<S::LOADS>(column, k.in_w);
        unsigned results = strip_mask<S::COLUMNS>(p.column, k.width);
        words<T, N> d[S::COLUMNS];
        const T *row;

        if (pos < 0 || pos >= k.in_h)
            continue;
        strip_load<false>(dy +
                              ((int64_t)(p.image * k.height + p.row) * k.width + p.column) *
                                  k.channels +
                              channel,
                          k.channels, results, d);
        row = x + ((int64_t)(p.image * k.in_h + pos) * k.in_w + column) * k.channels +
              channel;
        if (mask == (1u << S::LOADS) - 1)
            add_strip<K, KIND, true>(row, k.channels, mask, d, sum);
        else
            add_strip<K, KIND, false>(row, k.channels, mask, d, sum);
    }
    for (int turn = 0; turn < k.lines; turn++) {
        if (valid && turn == line)
            UNROLL_WHOLE
            for (int e = 0; e < K * N; e++) {
                float *pos = shared + (ky * K + e / N) * k.wide + lane + e % N;

                *pos = sum[e / N][e % N] + (turn ? *pos : 0);
            }
        __syncthreads();
    }
    for (int e = (int)threadIdx.x; e < k.wide * K * K; e += THREADS) {
        int c = e / (K * K), tap = e % (K * K);

        if (first + c < k.channels)
            sums[((int64_t)chunk * k.channels + first) * K * K + e] =
                shared[tap * k.wide + c];
    }
}

template <class T, int K, int KIND>
static void launch(const struct step *s, struct device *dev, const strip_sums &k)
{
    LAUNCH(dev, (depthwise_strip_sums<T, K, KIND>), (unsigned)(k.chunks * k.groups),
           THREADS, sizeof(float) * K * K * (size_t)k.wide,
           (const T *)s->in[CONV2D_WEIGHT_GRAD_X],
           (const T *)s->in[CONV2D_WEIGHT_GRAD_DY], (float *)s->workspace, k);
}

template <class T, int K>
static void launch_kind(const struct step *s, struct device *dev, const strip_sums &k)
{
    if (((const struct conv2d_attrs *)s->node->attrs)->stride_h == 1)
        launch<T, K, STRIP_SAME>(s, dev, k);
    else
        launch<T, K, STRIP_DOWN>(s, dev, k);
}

static void grad_run(struct step *s, struct device *dev)
{
    int kernel = ((const struct conv2d_attrs *)s->node->attrs)->kernel_h;
    strip_sums k = sums_of(s->node);

    WITH_DTYPE(s->in_tensor[0]->dtype, T, {
        if (kernel == 3)
            launch_kind<T, 3>(s, dev, k);
        else if (kernel == 5)
            launch_kind<T, 5>(s, dev, k);
        else
            launch<T, 7, STRIP_SAME>(s, dev, k);
    });
    cuda_depthwise_total(s, dev, k.chunks);
}

extern const struct kernel cuda_depthwise_strip_grad = {
    .name = "cuda depthwise_strip_grad",
    .claim = grad_claim,
    .run = grad_run,
};
