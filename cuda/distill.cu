/* Distillation and its gradient; see cuda/row_loss.h. */
#include "ops/distill.h"

#include "cuda/kernels.h"
#include "cuda/row_loss.h"

struct distill_input {
    row_input row;
    const float *teacher;
    bool hard;
    float inverse, scale; /* 1 / T; factor of a row's loss */
};

static distill_input input_of(const struct step *s, int teacher)
{
    const struct distill_attrs *a = (const struct distill_attrs *)s->node->attrs;
    distill_input in;

    in.row = row_input_of(s, a->ignore);
    in.teacher = (const float *)s->in[teacher];
    in.hard = a->hard != 0;
    in.inverse = a->hard ? 1 : 1 / a->temperature;
    in.scale = a->hard ? 1 : a->temperature * a->temperature / (float)in.row.classes;
    return in;
}

static const char *distill_claim(struct region *r, struct graph *, struct node *n,
                                 struct device *dev)
{
    if (n->op != &op_distill && n->op != &op_distill_grad)
        return "not a distillation";
    if (n->in[ROW_LOSS_LOGITS]->dtype != DTYPE_F32)
        return "fp32 only";

    region_claim_node(r, n);
    if (n->op == &op_distill)
        region_workspace(r, row_partial_size(dev, n->in[ROW_LOSS_LOGITS]));
    return nullptr;
}

/* Returns the index of the largest element, the first if several are equal. */
template <int THREADS, int N>
__device__ static inline int64_t row_largest(const float *z, int64_t len, float *shared)
{
    float top = -INFINITY, first = -INFINITY;

    row_each<THREADS, N>(z, len, [&](int64_t, float v) { top = v > top ? v : top; });
    top = row_max<THREADS>(top, shared);
    row_each<THREADS, N>(z, len, [&](int64_t k, float v) {
        first = v == top && -(float)k > first ? -(float)k : first;
    });
    first = row_max<THREADS>(first, shared);
    return first > -INFINITY ? (int64_t)-first : 0;
}

template <int THREADS, int N>
__global__ void __launch_bounds__(ROWS_BLOCK)
    distill_losses(distill_input in, double *partial)
{
    __shared__ float shared[ROWS_BLOCK / 32];
    __shared__ double sums[ROWS_BLOCK / 32];
    const row_input &r = in.row;
    double loss = 0, n = 0;

    for (int64_t i = row_first<THREADS>(); i < r.rows; i += row_step<THREADS>()) {
        const float *z = r.z + i * r.classes, *teacher = in.teacher + i * r.classes;
        int label = row_label(&r.labels, i);
        float lse, sum = 0;

        if (label < 0)
            continue;
        lse = row_lse<THREADS, N>(z, r.classes, in.inverse, shared);
        if (in.hard) {
            sum = lse - z[row_largest<THREADS, N>(teacher, r.classes, shared)];
        } else {
            float q = row_lse<THREADS, N>(teacher, r.classes, in.inverse, shared);

            row_each<THREADS, N>(z, r.classes, [&](int64_t k, float v) {
                float log_q = teacher[k] * in.inverse - q;

                sum += expf(log_q) * (log_q - v * in.inverse + lse);
            });
            sum = row_sum<THREADS>(sum, shared);
        }
        if (!row_thread<THREADS>()) {
            loss += label < r.classes ? (double)(sum * in.scale) : (double)NAN;
            n += 1;
        }
    }
    row_leave(loss, n, partial, sums);
}

template <int THREADS, int N>
__global__ void __launch_bounds__(ROWS_BLOCK)
    distill_gradient(distill_input in, const float *dloss, const float *valid, float *dst)
{
    __shared__ float shared[ROWS_BLOCK / 32];
    const row_input &r = in.row;
    float scale = *valid > 0 ? *dloss / *valid * in.scale * in.inverse : 0;

    for (int64_t i = row_first<THREADS>(); i < r.rows; i += row_step<THREADS>()) {
        const float *z = r.z + i * r.classes, *teacher = in.teacher + i * r.classes;
        float lse = row_lse<THREADS, N>(z, r.classes, in.inverse, shared), q = 0;
        int label = row_label(&r.labels, i);
        int64_t best = -1;

        if (in.hard)
            best = row_largest<THREADS, N>(teacher, r.classes, shared);
        else
            q = row_lse<THREADS, N>(teacher, r.classes, in.inverse, shared);
        row_map<THREADS, N>(z, dst + i * r.classes, r.classes, [&](int64_t k, float v) {
            float want =
                in.hard ? (k == best ? 1.0f : 0.0f) : expf(teacher[k] * in.inverse - q);

            if (label < 0)
                return 0.0f;
            return label < r.classes ? (expf(v * in.inverse - lse) - want) * scale
                                   : (float)NAN;
        });
    }
}

static void distill_run(struct step *s, struct device *dev)
{
    bool gradient = s->node->op == &op_distill_grad;
    distill_input in =
        input_of(s, gradient ? (int)ROW_LOSS_GRAD_OTHER : (int)ROW_LOSS_OTHER);
    double *partial = (double *)s->workspace;
    unsigned blocks = 0;

    WITH_ROWS(in.row.classes, THREADS, N, {
        blocks = row_blocks(dev, in.row.rows, THREADS);
        if (gradient)
            LAUNCH(dev, (distill_gradient<THREADS, N>), blocks, ROWS_BLOCK, 0, in,
                   (const float *)s->in[ROW_LOSS_GRAD_DLOSS],
                   (const float *)s->in[ROW_LOSS_GRAD_SUMS], (float *)s->out[0]);
        else
            LAUNCH(dev, (distill_losses<THREADS, N>), blocks, ROWS_BLOCK, 0, in, partial);
    });
    if (!gradient)
        row_loss_mean(dev, partial, blocks, (float *)s->out[ROW_LOSS_LOSS],
                      (float *)s->out[ROW_LOSS_SUMS]);
}

extern const struct kernel cuda_distill = {
    .name = "cuda distill",
    .claim = distill_claim,
    .run = distill_run,
};
