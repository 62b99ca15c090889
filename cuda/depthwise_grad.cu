/*
 * The weight gradient of a depthwise convolution of any stride, dilation, and padding, for
 * what cuda/depthwise_strip_grad.cu does not take, which is several times as fast. A
 * thread walks down the pixels of dy with a channel, whose taps it sums in registers; the
 * threads of a block are added in shared memory, the blocks by a second launch. All sums
 * are fp32 in a fixed order. Bytes: x and dy once; each pixel of x is read from L1 by the
 * taps that need it.
 */
#include "cuda/channels.h"
#include "cuda/depthwise.h"
#include "cuda/kernels.h"
#include "graph/kernel.h"
#include "ops/conv2d.h"
#include "ops/image.h"

enum { CHUNKS = 528, LANES = 32 };

struct dw_windows {
    int in_h, in_w, out_h, out_w; /* of x and dy */
    int stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
    int chunks;
};

static int chunks_of(const struct node *n)
{
    const struct tensor *dy = n->in[CONV2D_WEIGHT_GRAD_DY];
    int64_t channels = dy->dim[IMAGE_C];

    return tile_chunks(tile_of(tensor_len(dy) / channels, channels, 1), CHUNKS);
}

static const char *grad_claim(struct region *r, struct graph *, struct node *n,
                              struct device *)
{
    if (n->op != &op_conv2d_weight_grad || !cuda_is_depthwise(n))
        return "no weight gradient of a depthwise convolution of 3x3, 5x5 or 7x7";

    region_claim_node(r, n);
    region_workspace(r, (size_t)chunks_of(n) * (size_t)tensor_len(n->out[0]) *
                            sizeof(float));
    return nullptr;
}

/* sums: [chunk][channel][tap] */
template <class T, int K>
__global__ void __launch_bounds__(TILE_THREADS)
    depthwise_sums(const T *x, const T *dy, float *sums, tile k, dw_windows g)
{
    __shared__ float shared[TILE_THREADS];
    place p = place_of<1>(k, (int)(blockIdx.x % (unsigned)k.tiles));
    int chunk = (int)(blockIdx.x / (unsigned)k.tiles);
    float sum[K * K] = {};

    if (p.valid)
        for (int64_t q = (int64_t)chunk * k.high + p.row; q < k.rows;
             q += (int64_t)g.chunks * k.high) {
            int64_t row = q / g.out_w, image = row / g.out_h;
            int left = (int)(q - row * g.out_w) * g.stride_w - g.pad_w;
            int top = (int)(row - image * g.out_h) * g.stride_h - g.pad_h;
            float d = to_float(dy[q * k.channels + p.channel]);
            const T *src = x + image * g.in_h * g.in_w * k.channels + p.channel;

            UNROLL_WHOLE
            for (int e = 0; e < K * K; e++) {
                int h = top + e / K * g.dilation_h, w = left + e % K * g.dilation_w;

                if ((unsigned)h < (unsigned)g.in_h && (unsigned)w < (unsigned)g.in_w)
                    sum[e] += d * to_float(src[((int64_t)h * g.in_w + w) * k.channels]);
            }
        }
    for (int e = 0; e < K * K; e++) {
        float all = tile_sum<1>(k, p, &sum[e], shared);
        int channel = p.tile * k.wide + (int)threadIdx.x;

        if ((int)threadIdx.x < k.wide && channel < k.channels)
            sums[((int64_t)chunk * k.channels + channel) * K * K + e] = all;
    }
}

/* A warp sums an element of dw over the chunks. */
__global__ void __launch_bounds__(TILE_THREADS)
    depthwise_total(const float *sums, float *dw, int64_t n, int chunks)
{
    int64_t i = ((int64_t)blockIdx.x * TILE_THREADS + threadIdx.x) / LANES;
    int lane = (int)threadIdx.x % LANES;
    float sum = 0;

    for (int c = lane; c < chunks && i < n; c += LANES)
        sum += sums[c * n + i];
    for (int offset = LANES / 2; offset > 0; offset /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    if (lane == 0 && i < n)
        dw[i] = sum;
}

void cuda_depthwise_total(const struct step *s, struct device *dev, int chunks)
{
    int64_t n = tensor_len(s->out_tensor[0]);

    LAUNCH(dev, depthwise_total, cuda_blocks(n * LANES, TILE_THREADS, 1), TILE_THREADS, 0,
           (const float *)s->workspace, (float *)s->out[0], n, chunks);
}

template <class T, int K>
static void launch_sums(const struct step *s, struct device *dev, const tile &k,
                        const dw_windows &g)
{
    LAUNCH(dev, (depthwise_sums<T, K>), (unsigned)(g.chunks * k.tiles), TILE_THREADS, 0,
           (const T *)s->in[CONV2D_WEIGHT_GRAD_X],
           (const T *)s->in[CONV2D_WEIGHT_GRAD_DY], (float *)s->workspace, k, g);
}

static void grad_run(struct step *s, struct device *dev)
{
    const struct conv2d_attrs *a = (const struct conv2d_attrs *)s->node->attrs;
    const struct tensor *x = s->in_tensor[CONV2D_WEIGHT_GRAD_X];
    const struct tensor *dy = s->in_tensor[CONV2D_WEIGHT_GRAD_DY];
    int64_t channels = dy->dim[IMAGE_C];
    tile k = tile_of(tensor_len(dy) / channels, channels, 1);
    dw_windows g = {(int)x->dim[IMAGE_H],
                    (int)x->dim[IMAGE_W],
                    (int)dy->dim[IMAGE_H],
                    (int)dy->dim[IMAGE_W],
                    a->stride_h,
                    a->stride_w,
                    a->pad_h,
                    a->pad_w,
                    a->dilation_h,
                    a->dilation_w,
                    chunks_of(s->node)};

    WITH_DTYPE(x->dtype, T, {
        if (a->kernel_h == 3)
            launch_sums<T, 3>(s, dev, k, g);
        else if (a->kernel_h == 5)
            launch_sums<T, 5>(s, dev, k, g);
        else
            launch_sums<T, 7>(s, dev, k, g);
    });
    cuda_depthwise_total(s, dev, g.chunks);
}

extern const struct kernel cuda_depthwise_weight_grad = {
    .name = "cuda depthwise_weight_grad",
    .claim = grad_claim,
    .run = grad_run,
};
