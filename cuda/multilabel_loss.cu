/*
 * The multi-label loss and its gradient: a warp computes a row of up to about a thousand
 * classes, a block a longer one. Elements are fp32; sums over samples are fp64 in a fixed
 * order.
 */
#include "ops/multilabel_loss.h"

#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "cuda/reduce.h"
#include "cuda/rows.h"
#include "graph/kernel.h"

enum { LAST_BLOCK = 1024 };

struct multilabel_inputs : multilabel_targets {
    multilabel_rule rule;
    bool sum_classes;
};

static multilabel_inputs inputs_of(const struct step *s, int lam)
{
    const struct multilabel_loss_attrs *a =
        (const struct multilabel_loss_attrs *)s->node->attrs;
    const struct tensor *z = s->in_tensor[MULTILABEL_LOGITS];
    multilabel_inputs t = {};

    t.label = (const int32_t *)s->in[MULTILABEL_LABELS];
    t.target = (const uint8_t *)s->in[MULTILABEL_TARGETS];
    t.lam = s->nin > lam ? (const float *)s->in[lam] : nullptr;
    t.samples = z->dim[0];
    t.classes = z->dim[1];
    t.rule = a->rule;
    t.sum_classes = a->sum_classes != 0;
    return t;
}

static const char *multilabel_loss_claim(struct region *r, struct graph *, struct node *n,
                                         struct device *)
{
    if (n->op != &op_multilabel_loss && n->op != &op_multilabel_loss_grad)
        return "not a multi-label loss";
    if (n->in[MULTILABEL_LOGITS]->dtype != DTYPE_F32)
        return "fp32 only";

    region_claim_node(r, n);
    if (n->op == &op_multilabel_loss)
        region_workspace(r, (size_t)n->in[MULTILABEL_LOGITS]->dim[0] * sizeof(double));
    else
        region_inplace(r, 0, MULTILABEL_LOGITS);
    return nullptr;
}

/* The loss of each sample; 0 for invalid samples. */
template <int THREADS, int N>
__global__ void __launch_bounds__(ROWS_BLOCK)
    multilabel_losses(const float *logits, multilabel_inputs t, double *loss)
{
    __shared__ float shared[ROWS_BLOCK / 32];

    for (int64_t i = row_first<THREADS>(); i < t.samples; i += row_step<THREADS>()) {
        float sum = 0;

        row_each<THREADS, N>(logits + i * t.classes, t.classes, [&](int64_t k, float z) {
            float y = multilabel_target_of(&t.rule, &t, i, k);

            sum += y >= 0 ? multilabel_element(&t.rule, k, z, y) : 0;
        });
        sum = row_sum<THREADS>(sum, shared);
        if (!row_thread<THREADS>())
            loss[i] = (double)sum;
    }
}

__global__ void __launch_bounds__(LAST_BLOCK)
    multilabel_mean(const double *loss, multilabel_inputs t, float *dst)
{
    __shared__ double shared[LAST_BLOCK / 32];
    double sum = 0, n = 0;

    for (int64_t i = threadIdx.x; i < t.samples; i += LAST_BLOCK) {
        sum += loss[i];
        n += multilabel_valid(&t, i);
    }
    sum = block_sum<LAST_BLOCK>(sum, shared);
    n = block_sum<LAST_BLOCK>(n, shared) * (t.sum_classes ? 1 : (double)t.classes);
    if (threadIdx.x == 0)
        *dst = n > 0 ? (float)(sum / n) : 0;
}

/* Each block counts the valid samples itself. */
template <int THREADS, int N>
__global__ void __launch_bounds__(ROWS_BLOCK)
    multilabel_gradient(const float *logits, multilabel_inputs t, const float *dloss,
                        float *dst)
{
    __shared__ int shared_count[ROWS_BLOCK / 32];
    int n = 0;

    for (int64_t i = threadIdx.x; i < t.samples; i += ROWS_BLOCK)
        n += multilabel_valid(&t, i);
    n = block_sum<ROWS_BLOCK>(n, shared_count);

    double terms = t.sum_classes ? (double)n : (double)n * (double)t.classes;
    float scale = n ? (float)((double)*dloss / terms) : 0;

    for (int64_t i = row_first<THREADS>(); i < t.samples; i += row_step<THREADS>()) {
        row_map<THREADS, N>(
            logits + i * t.classes, dst + i * t.classes, t.classes,
            [&](int64_t k, float z) {
                float y = multilabel_target_of(&t.rule, &t, i, k);

                return y >= 0 ? multilabel_derivative(&t.rule, k, z, y) * scale : 0.0f;
            });
    }
}

static void multilabel_loss_run(struct step *s, struct device *dev)
{
    const float *z = (const float *)s->in[MULTILABEL_LOGITS];

    if (s->node->op == &op_multilabel_loss) {
        multilabel_inputs t = inputs_of(s, MULTILABEL_LAM);
        double *loss = (double *)s->workspace;

        WITH_ROWS(t.classes, THREADS, N, {
            LAUNCH(dev, (multilabel_losses<THREADS, N>),
                   row_blocks(dev, t.samples, THREADS), ROWS_BLOCK, 0, z, t, loss);
        });
        LAUNCH(dev, multilabel_mean, 1, LAST_BLOCK, 0, (const double *)loss, t,
               (float *)s->out[0]);
        return;
    }

    multilabel_inputs t = inputs_of(s, MULTILABEL_GRAD_LAM);

    WITH_ROWS(t.classes, THREADS, N, {
        LAUNCH(dev, (multilabel_gradient<THREADS, N>),
               row_blocks(dev, t.samples, THREADS), ROWS_BLOCK, 0, z, t,
               (const float *)s->in[MULTILABEL_DLOSS], (float *)s->out[0]);
    });
}

extern const struct kernel cuda_multilabel_loss = {
    .name = "cuda multilabel_loss",
    .claim = multilabel_loss_claim,
    .run = multilabel_loss_run,
};
