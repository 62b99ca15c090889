/*
 * The regression losses and their gradient: a warp computes a row of up to about a thousand
 * targets, a block a longer one. Elements are fp32; sums over samples are fp64 in a fixed
 * order. unscale: a thread per value.
 */
#include "ops/regression_loss.h"

#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "cuda/reduce.h"
#include "cuda/rows.h"
#include "graph/kernel.h"
#include "ops/unscale.h"

enum { LAST_BLOCK = 1024, UNSCALE_BLOCK = 256 };

struct regression_batch : regression_targets {
    regression_rule rule;
};

static regression_batch batch_of(const struct step *s, int lam)
{
    const struct regression_loss_attrs *a =
        (const struct regression_loss_attrs *)s->node->attrs;
    const struct tensor *z = s->in_tensor[REGRESSION_VALUES];
    regression_batch t = {};

    t.label = (const int32_t *)s->in[REGRESSION_LABELS];
    t.target = (const float *)s->in[REGRESSION_TARGETS];
    t.mean = (const float *)s->in[REGRESSION_MEAN];
    t.std = (const float *)s->in[REGRESSION_STD];
    t.lam = s->nin > lam ? (const float *)s->in[lam] : nullptr;
    t.samples = z->dim[0];
    t.targets = z->dim[1];
    t.rule = a->rule;
    return t;
}

static const char *regression_loss_claim(struct region *r, struct graph *, struct node *n,
                                         struct device *)
{
    if (n->op != &op_regression_loss && n->op != &op_regression_loss_grad)
        return "not a regression loss";
    if (n->in[REGRESSION_VALUES]->dtype != DTYPE_F32)
        return "fp32 only";

    region_claim_node(r, n);
    if (n->op == &op_regression_loss)
        region_workspace(r, (size_t)n->in[REGRESSION_VALUES]->dim[0] * sizeof(double));
    else
        region_inplace(r, 0, REGRESSION_VALUES);
    return nullptr;
}

/* The loss of each sample; 0 for invalid samples. */
template <int THREADS, int N>
__global__ void __launch_bounds__(ROWS_BLOCK)
    regression_losses(const float *values, regression_batch t, double *loss)
{
    __shared__ float shared[ROWS_BLOCK / 32];

    for (int64_t i = row_first<THREADS>(); i < t.samples; i += row_step<THREADS>()) {
        bool valid = regression_valid(&t, i);
        float sum = 0;

        row_each<THREADS, N>(values + i * t.targets, t.targets, [&](int64_t k, float z) {
            float e = regression_error(&t, i, k, z);

            sum += valid ? regression_element(&t.rule, e) : 0;
        });
        sum = row_sum<THREADS>(sum, shared);
        if (!row_thread<THREADS>())
            loss[i] = (double)sum;
    }
}

__global__ void __launch_bounds__(LAST_BLOCK)
    regression_mean(const double *loss, regression_batch t, float *dst)
{
    __shared__ double shared[LAST_BLOCK / 32];
    double sum = 0, n = 0;

    for (int64_t i = threadIdx.x; i < t.samples; i += LAST_BLOCK) {
        sum += loss[i];
        n += regression_valid(&t, i);
    }
    sum = block_sum<LAST_BLOCK>(sum, shared);
    n = block_sum<LAST_BLOCK>(n, shared) * (double)t.targets;
    if (threadIdx.x == 0)
        *dst = n > 0 ? (float)(sum / n) : 0;
}

/* Each block counts the valid samples itself. */
template <int THREADS, int N>
__global__ void __launch_bounds__(ROWS_BLOCK)
    regression_gradient(const float *values, regression_batch t, const float *dloss,
                        float *dst)
{
    __shared__ int shared_count[ROWS_BLOCK / 32];
    int n = 0;

    for (int64_t i = threadIdx.x; i < t.samples; i += ROWS_BLOCK)
        n += regression_valid(&t, i);
    n = block_sum<ROWS_BLOCK>(n, shared_count);

    float scale = n ? (float)((double)*dloss / ((double)n * (double)t.targets)) : 0;

    for (int64_t i = row_first<THREADS>(); i < t.samples; i += row_step<THREADS>()) {
        bool valid = regression_valid(&t, i);

        row_map<THREADS, N>(values + i * t.targets, dst + i * t.targets, t.targets,
                            [&](int64_t k, float z) {
                                float e = regression_error(&t, i, k, z);

                                return valid ? regression_slope(&t.rule, e) * scale
                                             : 0.0f;
                            });
    }
}

static void regression_loss_run(struct step *s, struct device *dev)
{
    const float *z = (const float *)s->in[REGRESSION_VALUES];

    if (s->node->op == &op_regression_loss) {
        regression_batch t = batch_of(s, REGRESSION_LAM);
        double *loss = (double *)s->workspace;

        WITH_ROWS(t.targets, THREADS, N, {
            LAUNCH(dev, (regression_losses<THREADS, N>),
                   row_blocks(dev, t.samples, THREADS), ROWS_BLOCK, 0, z, t, loss);
        });
        LAUNCH(dev, regression_mean, 1, LAST_BLOCK, 0, (const double *)loss, t,
               (float *)s->out[0]);
        return;
    }

    regression_batch t = batch_of(s, REGRESSION_GRAD_LAM);

    WITH_ROWS(t.targets, THREADS, N, {
        LAUNCH(dev, (regression_gradient<THREADS, N>),
               row_blocks(dev, t.samples, THREADS), ROWS_BLOCK, 0, z, t,
               (const float *)s->in[REGRESSION_DLOSS], (float *)s->out[0]);
    });
}

extern const struct kernel cuda_regression_loss = {
    .name = "cuda regression_loss",
    .claim = regression_loss_claim,
    .run = regression_loss_run,
};

static const char *unscale_claim(struct region *r, struct graph *, struct node *n,
                                 struct device *)
{
    if (n->op != &op_unscale)
        return "not an unscale";
    if (n->in[UNSCALE_VALUES]->dtype != DTYPE_F32)
        return "fp32 only";

    region_claim_node(r, n);
    return nullptr;
}

__global__ void __launch_bounds__(UNSCALE_BLOCK)
    unscale_values(const float *z, const float *mean, const float *std, int64_t len,
                   int64_t targets, float *y)
{
    int64_t i = (int64_t)blockIdx.x * UNSCALE_BLOCK + threadIdx.x;

    if (i < len)
        y[i] = fmaf(z[i], std[i % targets], mean[i % targets]);
}

static void unscale_run(struct step *s, struct device *dev)
{
    const struct tensor *y = s->out_tensor[0];
    int64_t len = tensor_len(y);

    LAUNCH(dev, unscale_values, (unsigned)((len + UNSCALE_BLOCK - 1) / UNSCALE_BLOCK),
           UNSCALE_BLOCK, 0, (const float *)s->in[UNSCALE_VALUES],
           (const float *)s->in[UNSCALE_MEAN], (const float *)s->in[UNSCALE_STD], len,
           y->dim[1], (float *)s->out[0]);
}

extern const struct kernel cuda_unscale = {
    .name = "cuda unscale",
    .claim = unscale_claim,
    .run = unscale_run,
};
