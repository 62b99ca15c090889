/*
 * cross_entropy2d, its gradient, and the confusion matrix: a thread for each pixel, whose
 * logits are a run of K floats that it reads once into L1. Bytes: the logits and a byte
 * of label a pixel; the gradient writes as much again. Exponentials are in float, sums
 * over pixels in double: per block, then by one block in a fixed order. The sum of the
 * weights, which both passes need, is a pass over the labels alone.
 */
#include "ops/cross_entropy2d.h"

#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "cuda/reduce.h"
#include "graph/kernel.h"
#include "ops/confusion.h"
#include "ops/control.h"
#include "ops/image.h"

enum { BLOCK = 256, SUM_BLOCK = 256, LABELS = 16 };

/* Of each label, 0 for what does not count: a table in the parameters of a launch. */
struct class_weights {
    float of[CROSS_ENTROPY2D_CLASSES];
};

/* Sums of blocks, two to a block: weights, and weighted losses. */
struct sums {
    double *weight, *loss;
};

__device__ static inline float pixel_loss(const float *z, int64_t classes, int label,
                                          float *lse)
{
    float top = z[0], sum = 0;

    for (int64_t k = 1; k < classes; k++)
        top = z[k] > top ? z[k] : top;
    for (int64_t k = 0; k < classes; k++)
        sum += expf(z[k] - top);
    *lse = top + logf(sum);
    return *lse - z[label];
}

__global__ void __launch_bounds__(BLOCK)
    cross_entropy2d_weights(const uint8_t *label, int64_t pixels, class_weights w,
                            double *weight)
{
    __shared__ double shared[BLOCK];
    int64_t i = ((int64_t)blockIdx.x * BLOCK + threadIdx.x) * LABELS;
    double sum = 0;

    for (int k = 0; k < LABELS && i + k < pixels; k++)
        sum += (double)w.of[label[i + k]];
    sum = block_sum<BLOCK>(sum, shared);
    if (threadIdx.x == 0)
        weight[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(SUM_BLOCK)
    cross_entropy2d_total(const double *part, int n, double *total)
{
    __shared__ double shared[SUM_BLOCK];
    double sum = 0;

    for (int i = (int)threadIdx.x; i < n; i += SUM_BLOCK)
        sum += part[i];
    sum = block_sum<SUM_BLOCK>(sum, shared);
    if (threadIdx.x == 0)
        *total = sum;
}

__global__ void __launch_bounds__(BLOCK)
    cross_entropy2d_pixels(const float *logits, const uint8_t *label, int64_t pixels,
                           int64_t classes, class_weights w, double *loss)
{
    __shared__ double shared[BLOCK];
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
    float weight = i < pixels ? w.of[label[i]] : 0, lse;
    double sum = 0;

    if (weight > 0)
        sum = (double)weight *
              (double)pixel_loss(logits + i * classes, classes, label[i], &lse);
    sum = block_sum<BLOCK>(sum, shared);
    if (threadIdx.x == 0)
        loss[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(SUM_BLOCK)
    cross_entropy2d_mean(const double *loss, int n, const double *total, float *mean)
{
    __shared__ double shared[SUM_BLOCK];
    double sum = 0;

    for (int i = (int)threadIdx.x; i < n; i += SUM_BLOCK)
        sum += loss[i];
    sum = block_sum<SUM_BLOCK>(sum, shared);
    if (threadIdx.x == 0)
        *mean = *total > 0 ? (float)(sum / *total) : 0;
}

__global__ void __launch_bounds__(BLOCK)
    cross_entropy2d_gradient(const float *logits, const uint8_t *label, int64_t pixels,
                             int64_t classes, class_weights w, const double *total,
                             const float *dloss, float *dz)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
    const float *z = logits + i * classes;
    float weight = i < pixels ? w.of[label[i]] : 0, lse = 0, scale = 0;

    if (i >= pixels)
        return;
    if (weight > 0) {
        (void)pixel_loss(z, classes, label[i], &lse);
        scale = (float)((double)weight * (double)*dloss / *total);
    }
    for (int64_t k = 0; k < classes; k++)
        dz[i * classes + k] =
            weight > 0 ? (expf(z[k] - lse) - (float)(label[i] == k)) * scale : 0;
}

static int weight_blocks(int64_t pixels)
{
    return (int)cuda_blocks(pixels, BLOCK, LABELS);
}

static int pixel_blocks(int64_t pixels)
{
    return (int)cuda_blocks(pixels, BLOCK, 1);
}

static const char *cross_entropy2d_claim(struct region *r, struct graph *, struct node *n,
                                         struct device *)
{
    const struct tensor *labels;

    if (n->op != &op_cross_entropy2d && n->op != &op_cross_entropy2d_grad)
        return "not a cross entropy of pixels";

    labels = n->in[CROSS_ENTROPY2D_LABELS];
    region_take(r, n);
    for (int i = 0; i < n->nin; i++)
        (void)region_read(r, n->in[i]);
    (void)region_write(r, n->out[0]);
    region_workspace(r, (size_t)(1 + weight_blocks(tensor_len(labels)) +
                                 pixel_blocks(tensor_len(labels))) *
                            sizeof(double));
    return nullptr;
}

static void cross_entropy2d_run(struct step *s, struct device *dev)
{
    const struct cross_entropy2d_attrs *a =
        (const struct cross_entropy2d_attrs *)s->node->attrs;
    const float *z = (const float *)s->in[CROSS_ENTROPY2D_LOGITS];
    const uint8_t *label = (const uint8_t *)s->in[CROSS_ENTROPY2D_LABELS];
    int64_t classes = s->in_tensor[CROSS_ENTROPY2D_LOGITS]->dim[IMAGE_C];
    int64_t pixels = tensor_len(s->in_tensor[CROSS_ENTROPY2D_LABELS]);
    int parts = weight_blocks(pixels), blocks = pixel_blocks(pixels);
    double *total = (double *)s->workspace, *weight = total + 1, *loss = weight + parts;
    class_weights w = {};

    for (int64_t k = 0; k < classes; k++)
        w.of[k] = cross_entropy2d_weight(a, (int)k);
    LAUNCH(dev, cross_entropy2d_weights, (unsigned)parts, BLOCK, 0, label, pixels, w,
           weight);
    LAUNCH(dev, cross_entropy2d_total, 1, SUM_BLOCK, 0, weight, parts, total);
    if (s->node->op == &op_cross_entropy2d_grad) {
        LAUNCH(dev, cross_entropy2d_gradient, (unsigned)blocks, BLOCK, 0, z, label,
               pixels, classes, w, total,
               (const float *)s->in[CROSS_ENTROPY2D_GRAD_DLOSS], (float *)s->out[0]);
        return;
    }
    LAUNCH(dev, cross_entropy2d_pixels, (unsigned)blocks, BLOCK, 0, z, label, pixels,
           classes, w, loss);
    LAUNCH(dev, cross_entropy2d_mean, 1, SUM_BLOCK, 0, loss, blocks, total,
           (float *)s->out[0]);
}

extern const struct kernel cuda_cross_entropy2d = {
    .name = "cuda cross_entropy2d",
    .claim = cross_entropy2d_claim,
    .run = cross_entropy2d_run,
};

/* ---- confusion ---- */

__device__ static inline int64_t largest(const float *z, int64_t n)
{
    int64_t at = 0;

    for (int64_t k = 0; k < n; k++)
        if (isnan(z[k]))
            return 0;
        else if (z[k] > z[at])
            at = k;
    return at;
}

/* Counts are whole numbers, so atomics leave no trace of their order. */
__global__ void __launch_bounds__(BLOCK)
    confusion_pixels(const float *logits, const uint8_t *label, int64_t pixels,
                     int64_t classes, int ignore, unsigned long long *matrix)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;

    if (i < pixels && label[i] != ignore)
        atomicAdd(&matrix[label[i] * classes + largest(logits + i * classes, classes)],
                  1ull);
}

/* What the pixels of this batch add to struct metrics. */
__global__ void __launch_bounds__(SUM_BLOCK)
    confusion_add(const unsigned long long *batch, int64_t classes, const float *loss,
                  struct metrics *m, int64_t *matrix)
{
    __shared__ int64_t shared[SUM_BLOCK];
    int64_t count = 0, right = 0;

    for (int64_t i = threadIdx.x; i < classes * classes; i += SUM_BLOCK) {
        int64_t n = (int64_t)batch[i];

        matrix[i] += n;
        count += n;
        right += i / classes == i % classes ? n : 0;
    }
    count = block_sum<SUM_BLOCK>(count, shared);
    right = block_sum<SUM_BLOCK>(right, shared);
    if (threadIdx.x != 0)
        return;
    m->count += count;
    m->top1 += right;
    m->runs++;
    if (isfinite(*loss))
        m->loss_sum += (double)*loss * (double)count;
    else
        m->nonfinite++;
}

__global__ void __launch_bounds__(BLOCK)
    confusion_clear(unsigned long long *matrix, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;

    if (i < n)
        matrix[i] = 0;
}

static const char *confusion_claim(struct region *r, struct graph *, struct node *n,
                                   struct device *)
{
    int64_t classes;

    if (n->op != &op_confusion)
        return "not a confusion matrix";

    classes = n->in[CONFUSION_LOGITS]->dim[IMAGE_C];
    region_take(r, n);
    for (int i = 0; i < n->nin; i++)
        (void)region_read(r, n->in[i]);
    for (int i = 0; i < n->nout; i++)
        (void)region_write(r, n->out[i]);
    region_workspace(r, (size_t)(classes * classes) * sizeof(int64_t));
    return nullptr;
}

static void confusion_run(struct step *s, struct device *dev)
{
    const struct confusion_attrs *a = (const struct confusion_attrs *)s->node->attrs;
    int64_t classes = s->in_tensor[CONFUSION_LOGITS]->dim[IMAGE_C];
    int64_t pixels = tensor_len(s->in_tensor[CONFUSION_LABELS]), n = classes * classes;
    unsigned long long *batch = (unsigned long long *)s->workspace;

    LAUNCH(dev, confusion_clear, cuda_blocks(n, BLOCK, 1), BLOCK, 0, batch, n);
    LAUNCH(dev, confusion_pixels, (unsigned)pixel_blocks(pixels), BLOCK, 0,
           (const float *)s->in[CONFUSION_LOGITS],
           (const uint8_t *)s->in[CONFUSION_LABELS], pixels, classes, a->ignore, batch);
    LAUNCH(dev, confusion_add, 1, SUM_BLOCK, 0, batch, classes,
           (const float *)s->in[CONFUSION_LOSS],
           (struct metrics *)s->out[CONFUSION_METRICS],
           (int64_t *)s->out[CONFUSION_MATRIX]);
}

extern const struct kernel cuda_confusion = {
    .name = "cuda confusion",
    .claim = confusion_claim,
    .run = confusion_run,
};
