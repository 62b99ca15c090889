/*
 * The loss and its gradient: a warp computes a row of up to about a thousand classes, a
 * block a longer one, in two loops: the largest logit, then the sum of exponentials. Rows
 * stay in the L1 cache in between, so the logits are read once and the gradient is
 * written once. Exponentials are fp32 of differences to the largest logit; sums over
 * samples are fp64 in a fixed order.
 *
 * A label out of range, which the loader never produces, makes loss and gradient NaN, and
 * the update is skipped.
 */
#include "ops/cross_entropy.h"

#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "cuda/reduce.h"
#include "cuda/rows.h"
#include "graph/kernel.h"

enum { LAST_BLOCK = 1024 };

struct targets {
    const int32_t *label;
    const float *lam; /* may be NULL */
    int64_t samples, classes;
    float on_value, off_value; /* targets: 1 - e for the label, plus e / K for all */
    float weights; /* sum of the class weights */
};

static targets targets_of(const struct step *s, int lam)
{
    const struct cross_entropy_attrs *a =
        (const struct cross_entropy_attrs *)s->node->attrs;
    const struct tensor *z = s->in_tensor[LABEL_LOSS_LOGITS];
    targets t = {};

    t.label = (const int32_t *)s->in[LABEL_LOSS_LABELS];
    t.lam = s->nin > lam ? (const float *)s->in[lam] : nullptr;
    t.samples = z->dim[0];
    t.classes = z->dim[1];
    t.on_value = (float)(1 - (double)a->smoothing);
    t.off_value = (float)((double)a->smoothing / (double)t.classes);
    t.weights = (float)t.classes;
    if (a->weighted) {
        double sum = 0;

        for (int64_t k = 0; k < t.classes; k++)
            sum += (double)a->terms.weight[k];
        t.weights = (float)sum;
    }
    return t;
}

/* The weights and biases of classes; the primary template is all 1 and 0. Kernels get them
 * as a parameter, in constant memory. */
template <bool WEIGHTED> struct terms {
    __device__ float weight(int64_t) const { return 1; }
    __device__ float bias(int64_t) const { return 0; }
};

template <> struct terms<true> {
    struct class_terms class_values;

    __device__ float weight(int64_t k) const { return class_values.weight[k]; }
    __device__ float bias(int64_t k) const { return class_values.bias[k]; }
};

static terms<false> terms_of(const struct cross_entropy_attrs *, terms<false> *)
{
    return {};
}

static terms<true> terms_of(const struct cross_entropy_attrs *a, terms<true> *)
{
    return {a->terms};
}

static const char *cross_entropy_claim(struct region *r, struct graph *, struct node *n,
                                       struct device *)
{
    if (n->op != &op_cross_entropy && n->op != &op_cross_entropy_grad)
        return "not a cross entropy";
    if (n->in[LABEL_LOSS_LOGITS]->dtype != DTYPE_F32)
        return "fp32 only";

    region_claim_node(r, n);
    if (n->op == &op_cross_entropy)
        region_workspace(r, (size_t)n->in[LABEL_LOSS_LOGITS]->dim[0] * sizeof(double));
    else
        region_inplace(r, 0, LABEL_LOSS_GRAD_LOGITS);
    return nullptr;
}

__device__ static inline bool counts(const targets &t, int64_t i)
{
    return t.label[i] >= 0 && (!t.lam || t.label[t.samples - 1 - i] >= 0);
}

/* A row's largest logit `top`, and the sums of exp(z - top) and of w (z - top), of logits
 * with biases. */
struct row_sums {
    float top, exps, weighted;
};

template <int THREADS, int N, bool W>
__device__ static inline row_sums sums_of(const float *z, int64_t classes,
                                          const terms<W> &class_values, float *shared)
{
    row_sums r = {-INFINITY, 0, 0};

    row_each<THREADS, N>(z, classes, [&](int64_t k, float v) {
        r.top = fmaxf(r.top, v + class_values.bias(k));
    });
    r.top = row_max<THREADS>(r.top, shared);
    row_each<THREADS, N>(z, classes, [&](int64_t k, float v) {
        float d = v + class_values.bias(k) - r.top;

        r.exps += expf(d);
        r.weighted += class_values.weight(k) * d;
    });
    r.exps = row_sum<THREADS>(r.exps, shared);
    r.weighted = row_sum<THREADS>(r.weighted, shared);
    return r;
}

/* The loss of each sample, and the weight of its label; 0 for ignored samples. */
template <int THREADS, int N, bool W>
__global__ void __launch_bounds__(ROWS_BLOCK)
    sample_losses(const float *logits, targets t, terms<W> class_values, double *loss)
{
    __shared__ float shared[ROWS_BLOCK / 32];

    for (int64_t i = row_first<THREADS>(); i < t.samples; i += row_step<THREADS>()) {
        const float *z = logits + i * t.classes;
        row_sums r = sums_of<THREADS, N>(z, t.classes, class_values, shared);

        if (row_thread<THREADS>() || !counts(t, i)) {
            if (!row_thread<THREADS>())
                loss[i] = 0;
            continue;
        }

        int target = t.label[i], partner = t.lam ? t.label[t.samples - 1 - i] : target;
        double lam = t.lam ? (double)t.lam[i] : 1, log_sum = log((double)r.exps);

        if (target >= t.classes || partner >= t.classes) {
            loss[i] = NAN;
            continue;
        }

        double label_term =
                   (double)class_values.weight(target) *
                   (log_sum - (double)(z[target] + class_values.bias(target) - r.top)),
               partner_term =
                   (double)class_values.weight(partner) *
                   (log_sum - (double)(z[partner] + class_values.bias(partner) - r.top));

        loss[i] =
            (double)t.off_value * ((double)t.weights * log_sum - (double)r.weighted) +
            (double)t.on_value * (lam * label_term + (1 - lam) * partner_term);
    }
}

/* The weight of a sample's label; 0 if it is ignored. */
template <bool W>
__device__ static inline float sample_weight(const targets &t,
                                             const terms<W> &class_values, int64_t i)
{
    return counts(t, i) && t.label[i] < t.classes ? class_values.weight(t.label[i]) : 0;
}

template <bool W>
__global__ void __launch_bounds__(LAST_BLOCK)
    mean_loss(const double *loss, targets t, terms<W> class_values, float *dst)
{
    __shared__ double shared[LAST_BLOCK / 32];
    double sum = 0, n = 0;

    for (int64_t i = threadIdx.x; i < t.samples; i += LAST_BLOCK) {
        sum += loss[i];
        n += (double)sample_weight(t, class_values, i);
    }
    sum = block_sum<LAST_BLOCK>(sum, shared);
    n = block_sum<LAST_BLOCK>(n, shared);
    if (threadIdx.x == 0)
        *dst = n > 0 ? (float)(sum / n) : sum == sum ? 0 : (float)NAN;
}

/* dz = (softmax(z') sum of the weighted targets - w target) dloss / weights of the labels;
 * each block sums these itself. */
template <int THREADS, int N, bool W>
__global__ void __launch_bounds__(ROWS_BLOCK)
    loss_gradient(const float *logits, targets t, terms<W> class_values,
                  const float *dloss, float *dst)
{
    __shared__ float shared[ROWS_BLOCK / 32];
    __shared__ double shared_count[ROWS_BLOCK / 32];
    double n = 0;

    for (int64_t i = threadIdx.x; i < t.samples; i += ROWS_BLOCK)
        n += (double)sample_weight(t, class_values, i);
    n = block_sum<ROWS_BLOCK>(n, shared_count);

    float scale = n > 0 ? (float)((double)*dloss / n) : 0;

    for (int64_t i = row_first<THREADS>(); i < t.samples; i += row_step<THREADS>()) {
        const float *z = logits + i * t.classes;
        float *dz = dst + i * t.classes;
        row_sums r = sums_of<THREADS, N>(z, t.classes, class_values, shared);
        int label = t.label[i], partner = t.lam ? t.label[t.samples - 1 - i] : label;
        float lam = t.lam ? t.lam[i] : 1;
        bool counted = counts(t, i), known = label < t.classes && partner < t.classes;
        float all = 1;

        if (W && counted && known)
            all = t.off_value * t.weights +
                  t.on_value * (lam * class_values.weight(label) +
                                (1 - lam) * class_values.weight(partner));
        row_map<THREADS, N>(z, dz, t.classes, [&](int64_t k, float v) {
            float target = t.off_value + (k == label ? lam * t.on_value : 0);

            if (t.lam && k == partner)
                target += (1 - lam) * t.on_value;
            if (!counted)
                return 0.0f;
            return known ? (expf(v + class_values.bias(k) - r.top) / r.exps * all -
                            class_values.weight(k) * target) *
                               scale
                         : (float)NAN;
        });
    }
}

template <bool W> static void cross_entropy_launch(struct step *s, struct device *dev)
{
    const struct cross_entropy_attrs *a =
        (const struct cross_entropy_attrs *)s->node->attrs;
    const float *z = (const float *)s->in[LABEL_LOSS_LOGITS];
    terms<W> class_values = terms_of(a, (terms<W> *)nullptr);

    if (s->node->op == &op_cross_entropy) {
        targets t = targets_of(s, LABEL_LOSS_LAM);
        double *loss = (double *)s->workspace;

        WITH_ROWS(t.classes, THREADS, N, {
            LAUNCH(dev, (sample_losses<THREADS, N, W>),
                   row_blocks(dev, t.samples, THREADS), ROWS_BLOCK, 0, z, t, class_values,
                   loss);
        });
        LAUNCH(dev, (mean_loss<W>), 1, LAST_BLOCK, 0, (const double *)loss, t,
               class_values, (float *)s->out[0]);
        return;
    }

    targets t = targets_of(s, LABEL_LOSS_GRAD_LAM);

    WITH_ROWS(t.classes, THREADS, N, {
        LAUNCH(dev, (loss_gradient<THREADS, N, W>), row_blocks(dev, t.samples, THREADS),
               ROWS_BLOCK, 0, z, t, class_values,
               (const float *)s->in[LABEL_LOSS_GRAD_DLOSS], (float *)s->out[0]);
    });
}

static void cross_entropy_run(struct step *s, struct device *dev)
{
    if (((const struct cross_entropy_attrs *)s->node->attrs)->weighted)
        cross_entropy_launch<true>(s, dev);
    else
        cross_entropy_launch<false>(s, dev);
}

extern const struct kernel cuda_cross_entropy = {
    .name = "cuda cross_entropy",
    .claim = cross_entropy_claim,
    .run = cross_entropy_run,
};
