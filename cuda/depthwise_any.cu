/*
 * Depthwise convolutions of any stride, dilation, and padding, [+ bias], and their data
 * gradients: what the faster strips of cuda/depthwise.cu do not take. A thread computes a
 * pack of channels of one pixel; taps are in shared memory, and pixels are read from L1 by
 * all taps that need them. Sums are fp32 in a fixed order. Bytes: x and y once.
 */
#include "cuda/channels.h"
#include "cuda/depthwise.h"
#include "cuda/kernels.h"
#include "cuda/weights.h"
#include "graph/kernel.h"
#include "ops/conv2d.h"
#include "ops/image.h"

enum { THREADS = 256, CHANNELS = 64 /* maximum per block */, TAPS = 121 };

struct any_state {
    bool half;        /* the weights come from the flat 16-bit array */
    int weight, bias; /* indices of reads; bias -1 if absent */
    size_t offset;
};

struct dw_pixels {
    int in_h, in_w, out_h, out_w; /* in: what is read; out: the result */
    int kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
    int channels, wide, groups; /* wide: channels per block */
    int64_t pixels, chunk;      /* of all images, and per block */
};

static bool is_grad(const struct node *n)
{
    return n->op == &op_conv2d_data_grad;
}

bool cuda_is_depthwise(const struct node *n)
{
    const struct conv2d_attrs *a = (const struct conv2d_attrs *)n->attrs;
    const struct tensor *w, *x;

    if (n->op == &op_conv2d_weight_grad) {
        w = n->out[0];
        x = n->in[CONV2D_WEIGHT_GRAD_X];
        if (n->in[CONV2D_WEIGHT_GRAD_DY]->dtype != x->dtype || w->dtype != DTYPE_F32 ||
            a->kernel_h != a->kernel_w ||
            (a->kernel_h != 3 && a->kernel_h != 5 && a->kernel_h != 7))
            return false;
    } else if (n->op == &op_conv2d || is_grad(n)) {
        w = n->in[is_grad(n) ? (int)CONV2D_DATA_GRAD_WEIGHT : (int)CONV2D_WEIGHT];
        x = n->in[is_grad(n) ? (int)CONV2D_DATA_GRAD_DY : (int)CONV2D_X];
        if (x->dtype != n->out[0]->dtype || w->dtype != x->dtype)
            return false;
    } else {
        return false;
    }
    return a->groups > 1 && w->dim[WEIGHT_I] == 1 && a->groups == w->dim[WEIGHT_O] &&
           a->kernel_h * a->kernel_w <= TAPS;
}

static const char *depthwise_claim(struct region *r, struct graph *g, struct node *n,
                                   struct device *dev)
{
    struct any_state *st = (struct any_state *)region_state(r);

    if (n->op == &op_conv2d_weight_grad || !cuda_is_depthwise(n))
        return "no depthwise convolution, nor a data gradient of one";

    struct tensor *w =
        n->in[is_grad(n) ? (int)CONV2D_DATA_GRAD_WEIGHT : (int)CONV2D_WEIGHT];
    struct tensor *master = dtype_is_half(w->dtype) ? cuda_weights_master(w) : nullptr;
    int bias = is_grad(n) ? (int)CONV2D_DATA_GRAD_BIAS : (int)CONV2D_BIAS;

    region_claim(r, n);
    (void)region_read(r, n->in[is_grad(n) ? (int)CONV2D_DATA_GRAD_DY : (int)CONV2D_X]);
    st->half = master != nullptr;
    if (master) {
        if (w->producer)
            region_duplicate(r, w->producer);
        st->weight = cuda_half_weights(r, g, dev, w->dtype);
        st->offset = master->offset / sizeof(float) * dtype_size(w->dtype);
    } else {
        st->weight = region_read(r, w);
    }
    st->bias = n->nin > bias ? region_read(r, n->in[bias]) : -1;
    (void)region_write(r, n->out[0]);
    return nullptr;
}

/* Returns the position that tap k of output o reads; -1: none. GRAD: the position of dy
 * whose tap k reads o. */
template <bool GRAD>
__device__ static inline int source(int o, int k, int stride, int pad, int dilation,
                                    int in)
{
    int pos = GRAD ? o + pad - k * dilation : o * stride - pad + k * dilation;

    if (GRAD) {
        if (pos < 0 || pos % stride)
            return -1;
        pos /= stride;
    }
    return pos >= 0 && pos < in ? pos : -1;
}

/* bias: may be NULL */
template <class T, int N, bool GRAD>
__global__ void __launch_bounds__(THREADS)
    depthwise_pixels(const T *x, const T *w, const float *bias, T *y, dw_pixels k)
{
    SHARED_BYTES(bytes);
    float *taps = reinterpret_cast<float *>(bytes); /* [tap][channel] */
    int all = k.kernel_h * k.kernel_w, packs = k.wide / N;
    int first = (int)(blockIdx.x % (unsigned)k.groups) * k.wide;
    int lane = (int)threadIdx.x % packs * N, channel = first + lane;
    int64_t begin = (int64_t)(blockIdx.x / (unsigned)k.groups) * k.chunk;
    int64_t end = begin + k.chunk < k.pixels ? begin + k.chunk : k.pixels;
    int step = THREADS / packs;

    for (int e = (int)threadIdx.x; e < k.wide * all; e += THREADS)
        taps[e % all * k.wide + e / all] =
            first + e / all < k.channels ? to_float(w[(int64_t)first * all + e]) : 0;
    __syncthreads();
    if ((int)threadIdx.x / packs >= step || channel >= k.channels)
        return;
    for (int64_t q = begin + (int)threadIdx.x / packs; q < end; q += step) {
        int64_t row = q / k.out_w, image = row / k.out_h;
        int column = (int)(q - row * k.out_w), line = (int)(row - image * k.out_h);
        float sum[N];
        pack<T, N> a;

        for (int i = 0; i < N; i++)
            sum[i] = bias ? bias[channel + i] : 0;
        for (int ky = 0; ky < k.kernel_h; ky++) {
            int h = source<GRAD>(line, ky, k.stride_h, k.pad_h, k.dilation_h, k.in_h);

            if (h < 0)
                continue;
            for (int kx = 0; kx < k.kernel_w; kx++) {
                int v =
                    source<GRAD>(column, kx, k.stride_w, k.pad_w, k.dilation_w, k.in_w);
                const float *f = taps + (ky * k.kernel_w + kx) * k.wide + lane;

                if (v < 0)
                    continue;
                a = pack_load<N>(x + ((image * k.in_h + h) * k.in_w + v) * k.channels +
                                 channel);
                for (int i = 0; i < N; i++)
                    sum[i] += a.get(i) * f[i];
            }
        }
        for (int i = 0; i < N; i++)
            a.set(i, sum[i]);
        pack_store(y + q * k.channels + channel, a);
    }
}

static dw_pixels pixels_of(const struct step *s, int n, const struct device *dev)
{
    const struct conv2d_attrs *a = (const struct conv2d_attrs *)s->node->attrs;
    const struct tensor *x = s->in_tensor[0], *y = s->out_tensor[0];
    int channels = (int)y->dim[IMAGE_C], packs = channels / n, max = CHANNELS / n;
    dw_pixels k = {};

    k.in_h = (int)x->dim[IMAGE_H];
    k.in_w = (int)x->dim[IMAGE_W];
    k.out_h = (int)y->dim[IMAGE_H];
    k.out_w = (int)y->dim[IMAGE_W];
    k.kernel_h = a->kernel_h;
    k.kernel_w = a->kernel_w;
    k.stride_h = a->stride_h;
    k.stride_w = a->stride_w;
    k.pad_h = a->pad_h;
    k.pad_w = a->pad_w;
    k.dilation_h = a->dilation_h;
    k.dilation_w = a->dilation_w;
    k.channels = channels;
    k.groups = (packs + max - 1) / max;
    k.wide = (packs + k.groups - 1) / k.groups * n;
    k.pixels = y->dim[IMAGE_N] * k.out_h * k.out_w;

    int64_t blocks = dev->what.multiprocessors * 8 / k.groups;
    int64_t at_once = THREADS / (k.wide / n);

    if (blocks < 1)
        blocks = 1;
    k.chunk = ((k.pixels + blocks - 1) / blocks + at_once - 1) / at_once * at_once;
    return k;
}

template <class T, int N, bool GRAD>
static void launch(const struct step *s, struct device *dev)
{
    const struct any_state *st = (const struct any_state *)s->state;
    dw_pixels k = pixels_of(s, N, dev);
    const void *w = st->half ? (const char *)s->derived[st->weight] + st->offset
                             : (const char *)s->in[st->weight];
    int64_t blocks = (k.pixels + k.chunk - 1) / k.chunk * k.groups;

    LAUNCH(dev, (depthwise_pixels<T, N, GRAD>), (unsigned)blocks, THREADS,
           sizeof(float) * (size_t)(k.kernel_h * k.kernel_w * k.wide),
           (const T *)s->in[0], (const T *)w,
           st->bias < 0 ? nullptr : (const float *)s->in[st->bias], (T *)s->out[0], k);
}

static void depthwise_run(struct step *s, struct device *dev)
{
    const struct tensor *y = s->out_tensor[0];

    WITH_DTYPE(y->dtype, T, WITH_PACK(T, y->dim[IMAGE_C], N, {
                   if (is_grad(s->node))
                       launch<T, N, true>(s, dev);
                   else
                       launch<T, N, false>(s, dev);
               }));
}

extern const struct kernel cuda_depthwise_any = {
    .name = "cuda depthwise_any",
    .claim = depthwise_claim,
    .run = depthwise_run,
    .state_size = sizeof(struct any_state),
};
