/*
 * Binary cross entropy and its gradient: a warp computes a row of up to about a thousand
 * classes, a block a longer one. Elements are fp32; sums over samples are fp64 in a fixed
 * order. A label out of range makes loss and gradient NaN, and the update is skipped.
 */
#include "ops/bce.h"

#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "cuda/reduce.h"
#include "cuda/rows.h"
#include "graph/kernel.h"
#include "ops/bce_formula.h"

enum { LAST_BLOCK = 1024 };

struct bce_targets {
    const int32_t *label;
    const float *lam; /* may be NULL */
    int64_t samples, classes;
    bce_rule rule;
    bool sum_classes;
};

static bce_targets targets_of(const struct step *s, int lam)
{
    const struct bce_attrs *a = (const struct bce_attrs *)s->node->attrs;
    const struct tensor *z = s->in_tensor[LABEL_LOSS_LOGITS];
    bce_targets t = {};

    t.label = (const int32_t *)s->in[LABEL_LOSS_LABELS];
    t.lam = s->nin > lam ? (const float *)s->in[lam] : nullptr;
    t.samples = z->dim[0];
    t.classes = z->dim[1];
    t.rule.on_value = (float)(1 - (double)a->smoothing);
    t.rule.off_value = (float)((double)a->smoothing / (double)t.classes);
    t.rule.threshold = a->threshold;
    t.rule.has_threshold = a->has_threshold != 0;
    t.sum_classes = a->sum_classes != 0;
    return t;
}

static const char *bce_claim(struct region *r, struct graph *, struct node *n,
                             struct device *)
{
    if (n->op != &op_bce && n->op != &op_bce_grad)
        return "not a binary cross entropy";
    if (n->in[LABEL_LOSS_LOGITS]->dtype != DTYPE_F32)
        return "fp32 only";

    region_claim_node(r, n);
    if (n->op == &op_bce)
        region_workspace(r, (size_t)n->in[LABEL_LOSS_LOGITS]->dim[0] * sizeof(double));
    else
        region_inplace(r, 0, LABEL_LOSS_GRAD_LOGITS);
    return nullptr;
}

/* The two labels of a sample and the weight of the first. */
struct mixed {
    int label, partner;
    float lam;
    bool counts, known; /* neither label is -1; both labels are valid classes */
};

__device__ static inline mixed mixed_of(const bce_targets &t, int64_t i)
{
    mixed m;

    m.label = t.label[i];
    m.partner = t.lam ? t.label[t.samples - 1 - i] : m.label;
    m.lam = t.lam ? t.lam[i] : 1;
    m.counts = m.label >= 0 && m.partner >= 0;
    m.known = m.label < t.classes && m.partner < t.classes;
    return m;
}

/* The loss of each sample; 0 for ignored samples. */
template <int THREADS, int N>
__global__ void __launch_bounds__(ROWS_BLOCK)
    bce_losses(const float *logits, bce_targets t, double *loss)
{
    __shared__ float shared[ROWS_BLOCK / 32];

    for (int64_t i = row_first<THREADS>(); i < t.samples; i += row_step<THREADS>()) {
        mixed m = mixed_of(t, i);
        float sum = 0;

        row_each<THREADS, N>(logits + i * t.classes, t.classes, [&](int64_t k, float z) {
            sum += bce_element(z, bce_target(&t.rule, k, m.label, m.partner, m.lam));
        });
        sum = row_sum<THREADS>(sum, shared);
        if (!row_thread<THREADS>())
            loss[i] = !m.counts ? 0 : m.known ? (double)sum : (double)NAN;
    }
}

__global__ void __launch_bounds__(LAST_BLOCK)
    bce_mean(const double *loss, bce_targets t, float *dst)
{
    __shared__ double shared[LAST_BLOCK / 32];
    double sum = 0, n = 0;

    for (int64_t i = threadIdx.x; i < t.samples; i += LAST_BLOCK) {
        sum += loss[i];
        n += mixed_of(t, i).counts;
    }
    sum = block_sum<LAST_BLOCK>(sum, shared);
    n = block_sum<LAST_BLOCK>(n, shared) * (t.sum_classes ? 1 : (double)t.classes);
    if (threadIdx.x == 0)
        *dst = n > 0 ? (float)(sum / n) : 0;
}

/* Each block counts the valid samples itself. */
template <int THREADS, int N>
__global__ void __launch_bounds__(ROWS_BLOCK)
    bce_gradient(const float *logits, bce_targets t, const float *dloss, float *dst)
{
    __shared__ int shared_count[ROWS_BLOCK / 32];
    int n = 0;

    for (int64_t i = threadIdx.x; i < t.samples; i += ROWS_BLOCK)
        n += mixed_of(t, i).counts;
    n = block_sum<ROWS_BLOCK>(n, shared_count);

    double terms = t.sum_classes ? (double)n : (double)n * (double)t.classes;
    float scale = n ? (float)((double)*dloss / terms) : 0;

    for (int64_t i = row_first<THREADS>(); i < t.samples; i += row_step<THREADS>()) {
        mixed m = mixed_of(t, i);

        row_map<THREADS, N>(
            logits + i * t.classes, dst + i * t.classes, t.classes,
            [&](int64_t k, float z) {
                float target = bce_target(&t.rule, k, m.label, m.partner, m.lam);

                if (!m.counts)
                    return 0.0f;
                return m.known ? bce_derivative(z, target) * scale : (float)NAN;
            });
    }
}

static void bce_run(struct step *s, struct device *dev)
{
    const float *z = (const float *)s->in[LABEL_LOSS_LOGITS];

    if (s->node->op == &op_bce) {
        bce_targets t = targets_of(s, LABEL_LOSS_LAM);
        double *loss = (double *)s->workspace;

        WITH_ROWS(t.classes, THREADS, N, {
            LAUNCH(dev, (bce_losses<THREADS, N>), row_blocks(dev, t.samples, THREADS),
                   ROWS_BLOCK, 0, z, t, loss);
        });
        LAUNCH(dev, bce_mean, 1, LAST_BLOCK, 0, (const double *)loss, t,
               (float *)s->out[0]);
        return;
    }

    bce_targets t = targets_of(s, LABEL_LOSS_GRAD_LAM);

    WITH_ROWS(t.classes, THREADS, N, {
        LAUNCH(dev, (bce_gradient<THREADS, N>), row_blocks(dev, t.samples, THREADS),
               ROWS_BLOCK, 0, z, t, (const float *)s->in[LABEL_LOSS_GRAD_DLOSS],
               (float *)s->out[0]);
    });
}

extern const struct kernel cuda_bce = {
    .name = "cuda bce",
    .claim = bce_claim,
    .run = bce_run,
};
