/*
 * cross_entropy, its gradient, and metrics: a block for each sample, in double as the
 * reference, because batches have few logits: 256 x 1000 are 1 MB, and launches dominate.
 * The sums over samples are made by one block in a fixed order.
 */
#include "ops/cross_entropy.h"

#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "cuda/reduce.h"
#include "graph/kernel.h"
#include "ops/control.h"
#include "ops/metrics.h"
#include "ops/metrics_formula.h"

enum { BLOCK = 128, SUM_BLOCK = 256 };

struct targets {
    const int32_t *label;
    const float *lam; /* or NULL */
    int64_t samples, classes;
    double smoothing;
};

__device__ static inline bool valid(const targets &t, int64_t i)
{
    return t.label[i] >= 0 && (!t.lam || t.label[t.samples - 1 - i] >= 0);
}

__device__ static inline double target(const targets &t, int64_t i, int64_t k)
{
    double on = 1 - t.smoothing, lam = t.lam ? (double)t.lam[i] : 1;
    double sum = t.smoothing / (double)t.classes;

    if (t.label[i] == k)
        sum += lam * on;
    if (t.lam && t.label[t.samples - 1 - i] == k)
        sum += (1 - lam) * on;
    return sum;
}

/* log of the sum of exp(z) of a row, by all threads of a block; NaN if one z is. */
__device__ static inline double log_sum_exp(const float *z, int64_t n)
{
    __shared__ float tops[BLOCK];
    __shared__ double sums[BLOCK];
    float top = -INFINITY;
    double sum = 0;

    for (int64_t k = threadIdx.x; k < n; k += BLOCK)
        if (z[k] > top)
            top = z[k];
    top = block_max<BLOCK>(top, tops);
    for (int64_t k = threadIdx.x; k < n; k += BLOCK)
        sum += exp((double)z[k] - (double)top);
    return (double)top + log(block_sum<BLOCK>(sum, sums));
}

__global__ void __launch_bounds__(BLOCK)
    cross_entropy_rows(const float *logits, targets t, double *loss)
{
    __shared__ double sums[BLOCK];
    int64_t i = blockIdx.x;
    const float *z = logits + i * t.classes;
    double lse = log_sum_exp(z, t.classes), sum = 0;

    for (int64_t k = threadIdx.x; k < t.classes; k += BLOCK)
        sum += target(t, i, k) * (lse - (double)z[k]);
    sum = block_sum<BLOCK>(sum, sums);
    if (threadIdx.x == 0)
        loss[i] = valid(t, i) ? sum : 0;
}

__global__ void __launch_bounds__(SUM_BLOCK)
    cross_entropy_mean(const double *loss, targets t, float *mean)
{
    __shared__ double sums[SUM_BLOCK];
    double sum = 0, count = 0;

    for (int64_t i = threadIdx.x; i < t.samples; i += SUM_BLOCK) {
        sum += loss[i];
        count += valid(t, i);
    }
    sum = block_sum<SUM_BLOCK>(sum, sums);
    count = block_sum<SUM_BLOCK>(count, sums);
    if (threadIdx.x == 0)
        *mean = count > 0 ? (float)(sum / count) : 0;
}

__global__ void __launch_bounds__(BLOCK)
    cross_entropy_gradient(const float *logits, targets t, const float *dloss, float *dz)
{
    __shared__ double sums[BLOCK];
    int64_t row = blockIdx.x;
    const float *z = logits + row * t.classes;
    double lse = log_sum_exp(z, t.classes), count = 0;

    for (int64_t i = threadIdx.x; i < t.samples; i += BLOCK)
        count += valid(t, i);
    count = block_sum<BLOCK>(count, sums);
    for (int64_t k = threadIdx.x; k < t.classes; k += BLOCK)
        dz[row * t.classes + k] =
            valid(t, row) ? (float)((exp((double)z[k] - lse) - target(t, row, k)) *
                                    ((double)*dloss / count))
                          : 0;
}

static const char *cross_entropy_claim(struct region *r, struct graph *, struct node *n,
                                       struct device *)
{
    if (n->op != &op_cross_entropy && n->op != &op_cross_entropy_grad)
        return "not a cross entropy";

    region_take(r, n);
    for (int i = 0; i < n->nin; i++)
        (void)region_read(r, n->in[i]);
    (void)region_write(r, n->out[0]);
    region_workspace(r, (size_t)n->in[CROSS_ENTROPY_LOGITS]->dim[0] * sizeof(double));
    return nullptr;
}

static void cross_entropy_run(struct step *s, struct device *dev)
{
    bool grad = s->node->op == &op_cross_entropy_grad;
    int lam = grad ? (int)CROSS_ENTROPY_GRAD_LAM : (int)CROSS_ENTROPY_LAM;
    const struct cross_entropy_attrs *a =
        (const struct cross_entropy_attrs *)s->node->attrs;
    const struct tensor *logits = s->in_tensor[CROSS_ENTROPY_LOGITS];
    const float *z = (const float *)s->in[CROSS_ENTROPY_LOGITS];
    targets t = {(const int32_t *)s->in[CROSS_ENTROPY_LABELS],
                 s->nin > lam ? (const float *)s->in[lam] : nullptr, logits->dim[0],
                 logits->dim[1], (double)a->smoothing};
    unsigned rows = (unsigned)t.samples;
    double *loss = (double *)s->workspace;

    if (grad) {
        LAUNCH(dev, cross_entropy_gradient, rows, BLOCK, 0, z, t,
               (const float *)s->in[CROSS_ENTROPY_GRAD_DLOSS], (float *)s->out[0]);
        return;
    }
    LAUNCH(dev, cross_entropy_rows, rows, BLOCK, 0, z, t, loss);
    LAUNCH(dev, cross_entropy_mean, 1, SUM_BLOCK, 0, loss, t, (float *)s->out[0]);
}

extern const struct kernel cuda_cross_entropy = {
    .name = "cuda cross_entropy",
    .claim = cross_entropy_claim,
    .run = cross_entropy_run,
};

/* ---- metrics ---- */

/* The rank of each label, -1 for a sample that does not count. */
__global__ void __launch_bounds__(BLOCK)
    metrics_ranks(const float *logits, const int32_t *label, int64_t classes,
                  int64_t *rank)
{
    __shared__ int64_t sums[BLOCK];
    int64_t i = blockIdx.x, own = label[i], beaten = 0;
    const float *z = logits + i * classes;

    for (int64_t k = threadIdx.x; k < classes && own >= 0; k += BLOCK)
        beaten += metrics_beats(z[k], k, z[own], own);
    beaten = block_sum<BLOCK>(beaten, sums);
    if (threadIdx.x == 0)
        rank[i] = own < 0 ? -1 : beaten + (z[own] >= z[own] ? 0 : classes);
}

__global__ void __launch_bounds__(SUM_BLOCK)
    metrics_add(const int64_t *rank, int64_t samples, const float *loss,
                struct metrics *m)
{
    __shared__ int64_t sums[SUM_BLOCK];
    int64_t count = 0, top1 = 0, top5 = 0;

    for (int64_t i = threadIdx.x; i < samples; i += SUM_BLOCK) {
        count += rank[i] >= 0;
        top1 += rank[i] >= 0 && rank[i] < 1;
        top5 += rank[i] >= 0 && rank[i] < METRICS_TOP;
    }
    count = block_sum<SUM_BLOCK>(count, sums);
    top1 = block_sum<SUM_BLOCK>(top1, sums);
    top5 = block_sum<SUM_BLOCK>(top5, sums);
    if (threadIdx.x != 0)
        return;
    m->count += count;
    m->top1 += top1;
    m->top5 += top5;
    m->runs++;
    if (isfinite(*loss))
        m->loss_sum += (double)*loss * (double)count;
    else
        m->nonfinite++;
}

static const char *metrics_claim(struct region *r, struct graph *, struct node *n,
                                 struct device *)
{
    if (n->op != &op_metrics)
        return "not metrics";

    region_take(r, n);
    for (int i = 0; i < n->nin; i++)
        (void)region_read(r, n->in[i]);
    (void)region_write(r, n->out[METRICS_STATE]);
    region_workspace(r, (size_t)n->in[METRICS_LOGITS]->dim[0] * sizeof(int64_t));
    return nullptr;
}

static void metrics_run(struct step *s, struct device *dev)
{
    const struct tensor *logits = s->in_tensor[METRICS_LOGITS];
    int64_t *rank = (int64_t *)s->workspace;

    LAUNCH(dev, metrics_ranks, (unsigned)logits->dim[0], BLOCK, 0,
           (const float *)s->in[METRICS_LOGITS], (const int32_t *)s->in[METRICS_LABELS],
           logits->dim[1], rank);
    LAUNCH(dev, metrics_add, 1, SUM_BLOCK, 0, rank, logits->dim[0],
           (const float *)s->in[METRICS_LOSS], (struct metrics *)s->out[METRICS_STATE]);
}

extern const struct kernel cuda_metrics = {
    .name = "cuda metrics",
    .claim = metrics_claim,
    .run = metrics_run,
};
