/*
 * Quantization; and 8-bit layers with groups, for which cuDNN has no engine
 * (cuda/qlayer.c): a thread computes one element of the result with exact sums.
 */
#include "ops/quantize.h"

#include "cuda/channels.h"
#include "cuda/kernels.h"
#include "graph/kernel.h"
#include "ops/conv2d.h"
#include "ops/image.h"
#include "ops/linear.h"
#include "ops/qlayer.h"
#include "ops/quantize_formula.h"

enum { BLOCK = 256 };

template <class B>
__global__ void __launch_bounds__(BLOCK)
    quantize_bytes(const float *x, const float *scale, B *y, float lo, float hi,
                   int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;

    if (i < n)
        y[i] = (B)quantize_element(x[i], *scale, lo, hi);
}

static const char *quantize_claim(struct region *r, struct graph *, struct node *n,
                                  struct device *)
{
    if (n->op != &op_quantize)
        return "no quantize";
    if (n->in[QUANTIZE_X]->dtype != DTYPE_F32)
        return "fp32 only";
    region_claim_node(r, n);
    return nullptr;
}

static void quantize_run(struct step *s, struct device *dev)
{
    int64_t n = tensor_len(s->out_tensor[0]);
    unsigned grid = cuda_blocks(n, BLOCK, 1);
    const float *x = (const float *)s->in[QUANTIZE_X];
    const float *scale = (const float *)s->in[QUANTIZE_SCALE];

    if (((const struct quantize_attrs *)s->node->attrs)->is_unsigned)
        LAUNCH(dev, quantize_bytes<uint8_t>, grid, BLOCK, 0, x, scale,
               (uint8_t *)s->out[0], 0.0f, (float)QUANTIZE_MAX_U8, n);
    else
        LAUNCH(dev, quantize_bytes<int8_t>, grid, BLOCK, 0, x, scale, (int8_t *)s->out[0],
               (float)QUANTIZE_MIN_I8, (float)QUANTIZE_MAX_I8, n);
}

extern const struct kernel cuda_quantize = {
    .name = "cuda quantize",
    .claim = quantize_claim,
    .run = quantize_run,
};

/* A convolution; a linear layer is one with a single pixel. */
struct geometry {
    int64_t items;
    int in, out, groups, in_h, in_w, out_h, out_w;
    int kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
};

template <class B>
__global__ void __launch_bounds__(BLOCK)
    qconv(const B *x, const float *w, const float *scale, const float *x_scale,
          const float *bias, float *y, geometry k)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x, pos = i / k.out;
    int64_t row = pos / k.out_w, image = row / k.out_h;
    int o = (int)(i % k.out), ni = k.in / k.groups;
    int first = o / (k.out / k.groups) * ni, sum = 0;

    if (i >= k.items)
        return;
    for (int a = 0; a < k.kernel_h; a++)
        for (int b = 0; b < k.kernel_w; b++) {
            int64_t h = row % k.out_h * k.stride_h - k.pad_h + (int64_t)a * k.dilation_h;
            int64_t v = pos % k.out_w * k.stride_w - k.pad_w + (int64_t)b * k.dilation_w;
            const B *src = x + ((image * k.in_h + h) * k.in_w + v) * k.in + first;
            const float *weights =
                w + (((int64_t)o * k.kernel_h + a) * k.kernel_w + b) * ni;

            if (h < 0 || h >= k.in_h || v < 0 || v >= k.in_w)
                continue;
            for (int c = 0; c < ni; c++)
                sum += (int)src[c] * (int)weights[c];
        }
    y[i] = qlayer_result(sum, *x_scale, scale[o], bias, o);
}

static const char *qlayer_claim(struct region *r, struct graph *, struct node *n,
                                struct device *)
{
    if (n->op != &op_qconv2d && n->op != &op_qlinear)
        return "no layer in 8 bits";
    region_claim_node(r, n);
    return nullptr;
}

static geometry conv_geometry(const struct step *s)
{
    const struct conv2d_attrs *a = (const struct conv2d_attrs *)s->node->attrs;
    const struct tensor *x = s->in_tensor[QLAYER_X], *y = s->out_tensor[0];

    return {.items = tensor_len(y),
            .in = (int)x->dim[IMAGE_C],
            .out = a->out,
            .groups = a->groups,
            .in_h = (int)x->dim[IMAGE_H],
            .in_w = (int)x->dim[IMAGE_W],
            .out_h = (int)y->dim[IMAGE_H],
            .out_w = (int)y->dim[IMAGE_W],
            .kernel_h = a->kernel_h,
            .kernel_w = a->kernel_w,
            .stride_h = a->stride_h,
            .stride_w = a->stride_w,
            .pad_h = a->pad_h,
            .pad_w = a->pad_w,
            .dilation_h = a->dilation_h,
            .dilation_w = a->dilation_w};
}

static geometry linear_geometry(const struct step *s)
{
    const struct tensor *y = s->out_tensor[0];

    return {.items = tensor_len(y),
            .in = (int)tensor_channels(s->in_tensor[QLAYER_X]),
            .out = (int)tensor_channels(y),
            .groups = 1,
            .in_h = 1,
            .in_w = 1,
            .out_h = 1,
            .out_w = 1,
            .kernel_h = 1,
            .kernel_w = 1,
            .stride_h = 1,
            .stride_w = 1,
            .pad_h = 0,
            .pad_w = 0,
            .dilation_h = 1,
            .dilation_w = 1};
}

template <class B> static void qlayer_launch(struct step *s, struct device *dev)
{
    geometry k = s->node->op == &op_qconv2d ? conv_geometry(s) : linear_geometry(s);

    LAUNCH(dev, qconv<B>, cuda_blocks(k.items, BLOCK, 1), BLOCK, 0,
           (const B *)s->in[QLAYER_X], (const float *)s->in[QLAYER_WEIGHT],
           (const float *)s->in[QLAYER_WEIGHT_SCALE],
           (const float *)s->in[QLAYER_INPUT_SCALE],
           (const float *)(s->nin > QLAYER_BIAS ? s->in[QLAYER_BIAS] : nullptr),
           (float *)s->out[0], k);
}

static void qlayer_run(struct step *s, struct device *dev)
{
    if (qlayer_is_unsigned(s->node))
        qlayer_launch<uint8_t>(s, dev);
    else
        qlayer_launch<int8_t>(s, dev);
}

extern const struct kernel cuda_qlayer_plain = {
    .name = "cuda qlayer plain",
    .claim = qlayer_claim,
    .run = qlayer_run,
};
