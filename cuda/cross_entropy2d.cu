/*
 * cross_entropy2d, its gradient, and the confusion matrix. Bytes: the logits and one byte
 * of label per pixel; the gradient writes as many bytes as the logits have.
 *
 * A block copies the logits of its pixels to shared memory, 16 bytes at a time, with gaps
 * between pixels (cuda/banks.h). Then a pixel has one thread, or four lanes if there are
 * many classes, which read its K floats there several times. Gradients are written back
 * the same way. Exponentials are float; sums over pixels are double, first per block,
 * then by one block in a fixed order. The sum of the weights, which both passes need, is
 * a separate pass over the labels.
 */
#include "cuda/cross_entropy2d.h"

#include "cuda/banks.h"
#include "cuda/channels.h"
#include "cuda/divide.h"
#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "cuda/reduce.h"
#include "graph/kernel.h"
#include "ops/confusion.h"
#include "ops/control.h"
#include "ops/image.h"
#include "ops/metrics_formula.h"

enum { BLOCK = 256, SUM_BLOCK = 256, LABELS = 16 };

/* Pixels per block: one per thread, unless they exceed 48 KiB. */
enum { PIXELS = 128, PIXELS_FEW = 32 };

/*
 * The pixels of a launch: `each` per block, with `gap` floats after each pixel's logits
 * in shared memory. row: divider by the number of classes.
 */
struct image_dims {
    int64_t pixels;
    int classes, each, gap;
    divider row;
};

static image_dims image_dims_of(const struct tensor *logits)
{
    int classes = (int)logits->dim[IMAGE_C];

    return {tensor_len(logits) / classes, classes,
            classes <= PIXEL_CLASSES ? PIXELS : PIXELS_FEW, pixel_gap(classes),
            divider_of((unsigned)classes)};
}

HOST_DEVICE static inline int pitch_of(const image_dims &p)
{
    return p.classes + p.gap;
}

static size_t image_shared(const image_dims &p)
{
    return (size_t)p.each * (size_t)pitch_of(p) * sizeof(float);
}

/* Runs one statement with L the number of lanes per pixel; every thread has work. */
#define WITH_LANES(p, L, ...)                                                            \
    do {                                                                                 \
        if ((p).each == PIXELS) {                                                        \
            constexpr int L = 1;                                                         \
            __VA_ARGS__;                                                                 \
        } else {                                                                         \
            constexpr int L = PIXELS / PIXELS_FEW;                                       \
            __VA_ARGS__;                                                                 \
        }                                                                                \
    } while (0)

static unsigned image_blocks(const image_dims &p)
{
    return cuda_blocks(p.pixels, p.each, 1);
}

/* Copies n floats; both arrays are aligned to 16 bytes. */
__device__ static inline void copy_floats(const float *src, float *dst, int n)
{
    int whole = n / 4 * 4, t = (int)threadIdx.x;

    for (int i = t * 4; i < whole; i += PIXELS * 4)
        vec_store(dst + i, vec_load(src + i));
    for (int i = whole + t; i < n; i += PIXELS)
        dst[i] = src[i];
}

/* Returns the position of logit i of a block in shared memory. */
__device__ static inline int with_gaps(const image_dims &p, int i)
{
    return i + p.gap * (int)divide(p.row, (unsigned)i);
}

/* Copies n floats of whole pixels to shared memory, N of a pixel at a time. */
template <int N>
__device__ static inline void copy_in(const image_dims &p, const float *src, float *dst,
                                      int n)
{
    if (!p.gap)
        copy_floats(src, dst, n);
    for (int i = (int)threadIdx.x * N; i < n && p.gap; i += PIXELS * N)
        pack_store<float, N>(dst + with_gaps(p, i), pack_load<N>(src + i));
}

template <int N>
__device__ static inline void copy_out(const image_dims &p, const float *src, float *dst,
                                       int n)
{
    if (!p.gap)
        copy_floats(src, dst, n);
    for (int i = (int)threadIdx.x * N; i < n && p.gap; i += PIXELS * N)
        pack_store<float, N>(dst + i, pack_load<N>(src + with_gaps(p, i)));
}

/* Loads the block's logits into shared memory; returns the number of pixels. */
template <int N>
__device__ static inline int stage(const float *logits, const image_dims &p,
                                   float *shared)
{
    int64_t first = (int64_t)blockIdx.x * p.each, left = p.pixels - first;
    int n = left < p.each ? (int)left : p.each;

    copy_in<N>(p, logits + first * p.classes, shared, n * p.classes);
    __syncthreads();
    return n;
}

__global__ void __launch_bounds__(BLOCK)
    cross_entropy2d_weights(const uint8_t *label, int64_t pixels, class_weights w,
                            double *weight)
{
    __shared__ double shared[BLOCK / 32];
    int64_t i = ((int64_t)blockIdx.x * BLOCK + threadIdx.x) * LABELS;
    double sum = 0;

    for (int k = 0; k < LABELS && i + k < pixels; k++)
        sum += (double)w.value[label[i + k]];
    sum = block_sum<BLOCK>(sum, shared);
    if (threadIdx.x == 0)
        weight[blockIdx.x] = sum;
}

/* Returns the sum of v to every thread; for launches of one block. */
__device__ static inline double sum_up(const double *v, int n)
{
    __shared__ double shared[SUM_BLOCK / 32];
    double sum = 0;

    for (int i = (int)threadIdx.x; i < n; i += SUM_BLOCK)
        sum += v[i];
    return block_sum<SUM_BLOCK>(sum, shared);
}

__global__ void __launch_bounds__(SUM_BLOCK)
    cross_entropy2d_total(const double *part, int n, double *total)
{
    double sum = sum_up(part, n);

    if (threadIdx.x == 0)
        *total = sum;
}

/* L: lanes per pixel; a block has PIXELS lanes. */
template <int N, int L>
__global__ void __launch_bounds__(PIXELS, 8)
    cross_entropy2d_pixels(const float *logits, const uint8_t *label, image_dims p,
                           class_weights w, double *loss)
{
    SHARED_BYTES(bytes);
    __shared__ double sums[PIXELS / 32];
    float *shared = reinterpret_cast<float *>(bytes);
    int n = stage<N>(logits, p, shared), t = (int)threadIdx.x / L;
    const float *z = shared + (t < n ? t : 0) * pitch_of(p);
    int target = t < n ? label[(int64_t)blockIdx.x * p.each + t] : 0;
    float weight = t < n ? w.value[target] : 0, lse = 0;
    double sum = 0;

    if (L > 1 || weight > 0)
        lse = log_sum_exp<N, L>(z, p.classes);
    if (weight > 0 && threadIdx.x % L == 0)
        sum = (double)weight * (double)(lse - z[target]);
    sum = block_sum<PIXELS>(sum, sums);
    if (threadIdx.x == 0)
        loss[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(SUM_BLOCK)
    cross_entropy2d_mean(const double *loss, int n, const double *total, float *mean)
{
    double sum = sum_up(loss, n);

    if (threadIdx.x == 0)
        *mean = *total > 0 ? (float)(sum / *total) : 0;
}

template <int N, int L>
__global__ void __launch_bounds__(PIXELS, 8)
    cross_entropy2d_gradient(const float *logits, const uint8_t *label, image_dims p,
                             class_weights w, const double *total, const float *dloss,
                             float *dz)
{
    SHARED_BYTES(bytes);
    float *shared = reinterpret_cast<float *>(bytes);
    int n = stage<N>(logits, p, shared), t = (int)threadIdx.x / L;
    int64_t first = (int64_t)blockIdx.x * p.each;
    float *z = shared + (t < n ? t : 0) * pitch_of(p), lse = 0;
    int target = t < n ? label[first + t] : 0;
    float weight = t < n ? w.value[target] : 0;
    float scale = weight > 0 ? (float)((double)weight * (double)*dloss / *total) : 0;

    if (L > 1 || weight > 0)
        lse = log_sum_exp<N, L>(z, p.classes);
    if (L > 1)
        __syncthreads(); /* lanes without a pixel read the first one */
    for (int k = (int)threadIdx.x % L * N; k < p.classes && t < n; k += N * L) {
        pack<float, N> a = pack_load<N>(z + k);

        for (int i = 0; i < N; i++)
            a.v[i] =
                weight > 0 ? (expf(a.v[i] - lse) - (float)(target == k + i)) * scale : 0;
        pack_store<float, N>(z + k, a);
    }
    __syncthreads();
    copy_out<N>(p, shared, dz + first * p.classes, n * p.classes);
}

int label_parts(int64_t pixels)
{
    return (int)cuda_blocks(pixels, BLOCK, LABELS);
}

class_weights class_weights_of(const struct cross_entropy2d_attrs *a, int classes)
{
    class_weights w = {};

    for (int k = 0; k < classes; k++)
        w.value[k] = cross_entropy2d_weight(a, k);
    return w;
}

void label_weights(struct device *dev, const uint8_t *label, int64_t pixels,
                   const class_weights &w, double *total)
{
    int parts = label_parts(pixels);

    LAUNCH(dev, cross_entropy2d_weights, (unsigned)parts, BLOCK, 0, label, pixels, w,
           total + 1);
    LAUNCH(dev, cross_entropy2d_total, 1, SUM_BLOCK, 0, (const double *)total + 1, parts,
           total);
}

void loss_mean(struct device *dev, const double *loss, int n, const double *total,
               float *mean)
{
    LAUNCH(dev, cross_entropy2d_mean, 1, SUM_BLOCK, 0, loss, n, total, mean);
}

static const char *cross_entropy2d_claim(struct region *r, struct graph *, struct node *n,
                                         struct device *)
{
    if (n->op != &op_cross_entropy2d && n->op != &op_cross_entropy2d_grad)
        return "not a cross entropy of pixels";

    const struct tensor *labels = n->in[CROSS_ENTROPY2D_LABELS];
    image_dims p = image_dims_of(n->in[CROSS_ENTROPY2D_LOGITS]);

    region_claim_node(r, n);
    region_workspace(
        r, (size_t)(1 + label_parts(tensor_len(labels)) + (int)image_blocks(p)) *
               sizeof(double));
    return nullptr;
}

static void cross_entropy2d_run(struct step *s, struct device *dev)
{
    const struct cross_entropy2d_attrs *a =
        (const struct cross_entropy2d_attrs *)s->node->attrs;
    const float *z = (const float *)s->in[CROSS_ENTROPY2D_LOGITS];
    const uint8_t *label = (const uint8_t *)s->in[CROSS_ENTROPY2D_LABELS];
    image_dims p = image_dims_of(s->in_tensor[CROSS_ENTROPY2D_LOGITS]);
    unsigned blocks = image_blocks(p);
    size_t shared = image_shared(p);
    double *total = (double *)s->workspace, *loss = total + 1 + label_parts(p.pixels);
    class_weights w = class_weights_of(a, p.classes);

    label_weights(dev, label, p.pixels, w, total);
    WITH_LANES(p, L, WITH_PACK(float, p.classes, N, {
                   if (s->node->op == &op_cross_entropy2d_grad)
                       LAUNCH(dev, (cross_entropy2d_gradient<N, L>), blocks, PIXELS,
                              shared, z, label, p, w, (const double *)total,
                              (const float *)s->in[CROSS_ENTROPY2D_GRAD_DLOSS],
                              (float *)s->out[0]);
                   else
                       LAUNCH(dev, (cross_entropy2d_pixels<N, L>), blocks, PIXELS, shared,
                              z, label, p, w, loss);
               }));
    if (s->node->op == &op_cross_entropy2d)
        loss_mean(dev, loss, (int)blocks, total, (float *)s->out[0]);
}

extern const struct kernel cuda_cross_entropy2d = {
    .name = "cuda cross_entropy2d",
    .claim = cross_entropy2d_claim,
    .run = cross_entropy2d_run,
};

/* ---- confusion ---- */

/*
 * Counts are integers, so the order of atomics does not matter. A block counts in shared
 * memory, after its logits, if the matrix is small enough.
 */
template <int N, int L>
__global__ void __launch_bounds__(PIXELS, 8)
    confusion_pixels(const float *logits, const uint8_t *label, image_dims p, int ignore,
                     bool own_matrix, unsigned long long *matrix)
{
    SHARED_BYTES(bytes);
    float *shared = reinterpret_cast<float *>(bytes);
    unsigned *counts = reinterpret_cast<unsigned *>(shared + p.each * pitch_of(p));
    int cells = p.classes * p.classes, t = (int)threadIdx.x / L, best = 0, n;

    for (int i = (int)threadIdx.x; own_matrix && i < cells; i += PIXELS)
        counts[i] = 0;
    n = stage<N>(logits, p, shared); /* ends with a barrier */
    if (L > 1 || t < n)
        best = largest<N, L>(shared + (t < n ? t : 0) * pitch_of(p), p.classes);
    if (t < n && threadIdx.x % L == 0) {
        int target = label[(int64_t)blockIdx.x * p.each + t];

        if (target != ignore && target < p.classes) {
            int cell = target * p.classes + best;

            if (own_matrix)
                atomicAdd(&counts[cell], 1u);
            else
                atomicAdd(&matrix[cell], 1ull);
        }
    }
    if (!own_matrix)
        return;
    __syncthreads();
    for (int i = (int)threadIdx.x; i < cells; i += PIXELS)
        if (counts[i])
            atomicAdd(&matrix[i], (unsigned long long)counts[i]);
}

/* Adds the counts of this batch to struct metrics. */
__global__ void __launch_bounds__(SUM_BLOCK)
    confusion_add(const unsigned long long *batch, int64_t classes, class_weights w,
                  const float *loss, struct metrics *m, int64_t *matrix)
{
    __shared__ int64_t shared[SUM_BLOCK / 32];
    __shared__ double weights[SUM_BLOCK / 32];
    int64_t count = 0, right = 0;
    double weight = 0;

    for (int64_t i = threadIdx.x; i < classes * classes; i += SUM_BLOCK) {
        int64_t n = (int64_t)batch[i];

        matrix[i] += n;
        count += n;
        weight += (double)n * (double)w.value[i / classes];
        right += i / classes == i % classes ? n : 0;
    }
    count = block_sum<SUM_BLOCK>(count, shared);
    right = block_sum<SUM_BLOCK>(right, shared);
    weight = block_sum<SUM_BLOCK>(weight, weights);
    if (threadIdx.x != 0)
        return;
    m->top1 += right;
    metrics_count(m, count, weight, *loss);
}

__global__ void __launch_bounds__(BLOCK)
    confusion_clear(unsigned long long *matrix, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;

    if (i < n)
        matrix[i] = 0;
}

void confusion_begin(struct device *dev, unsigned long long *batch, int64_t classes)
{
    int64_t n = classes * classes;

    LAUNCH(dev, confusion_clear, cuda_blocks(n, BLOCK, 1), BLOCK, 0, batch, n);
}

void confusion_end(struct device *dev, const unsigned long long *batch, int64_t classes,
                   const struct confusion_attrs *a, const float *loss, struct metrics *m,
                   int64_t *matrix)
{
    class_weights w = {};

    for (int64_t k = 0; k < classes; k++)
        w.value[k] = (float)confusion_weight(a, k, 1);
    LAUNCH(dev, confusion_add, 1, SUM_BLOCK, 0, batch, classes, w, loss, m, matrix);
}

static const char *confusion_claim(struct region *r, struct graph *, struct node *n,
                                   struct device *)
{
    int64_t classes;

    if (n->op != &op_confusion)
        return "not a confusion matrix";

    classes = n->in[CONFUSION_LOGITS]->dim[IMAGE_C];
    region_claim_node(r, n);
    region_workspace(r, (size_t)(classes * classes) * sizeof(int64_t));
    return nullptr;
}

static void confusion_run(struct step *s, struct device *dev)
{
    const struct confusion_attrs *a = (const struct confusion_attrs *)s->node->attrs;
    int64_t classes = s->in_tensor[CONFUSION_LOGITS]->dim[IMAGE_C];
    int64_t n = classes * classes;
    image_dims p = image_dims_of(s->in_tensor[CONFUSION_LOGITS]);
    bool target = classes <= PIXEL_CLASSES / 2;
    size_t shared = image_shared(p) + (target ? (size_t)n * sizeof(unsigned) : 0);
    unsigned long long *batch = (unsigned long long *)s->workspace;

    confusion_begin(dev, batch, classes);
    WITH_LANES(p, L, WITH_PACK(float, p.classes, N, {
                   LAUNCH(dev, (confusion_pixels<N, L>), image_blocks(p), PIXELS, shared,
                          (const float *)s->in[CONFUSION_LOGITS],
                          (const uint8_t *)s->in[CONFUSION_LABELS], p, a->ignore, target,
                          batch);
               }));
    confusion_end(dev, batch, classes, a, (const float *)s->in[CONFUSION_LOSS],
                  (struct metrics *)s->out[CONFUSION_METRICS],
                  (int64_t *)s->out[CONFUSION_MATRIX]);
}

extern const struct kernel cuda_confusion = {
    .name = "cuda confusion",
    .claim = confusion_claim,
    .run = confusion_run,
};
