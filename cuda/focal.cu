/* The focal loss and its gradient; see cuda/row_loss.h. */
#include "ops/focal.h"

#include "cuda/kernels.h"
#include "cuda/row_loss.h"
#include "ops/focal_formula.h"

struct focal_input {
    row_input row;
    const float *lam; /* may be NULL */
    float gamma, smoothing;
};

static focal_input input_of(const struct step *s, int lam)
{
    const struct focal_attrs *a = (const struct focal_attrs *)s->node->attrs;
    focal_input in;

    in.row = row_input_of(s, a->ignore);
    in.lam = s->nin > lam ? (const float *)s->in[lam] : nullptr;
    in.gamma = a->gamma;
    in.smoothing = a->smoothing;
    return in;
}

static const char *focal_claim(struct region *r, struct graph *, struct node *n,
                               struct device *dev)
{
    if (n->op != &op_focal && n->op != &op_focal_grad)
        return "not a focal loss";
    if (n->in[ROW_LOSS_LOGITS]->dtype != DTYPE_F32)
        return "fp32 only";

    region_claim_node(r, n);
    if (n->op == &op_focal)
        region_workspace(r, row_partial_size(dev, n->in[ROW_LOSS_LOGITS]));
    return nullptr;
}

struct focal_row {
    focal_targets t;
    bool counts, known;
};

__device__ static inline focal_row focal_row_of(const focal_input &in, int64_t i)
{
    const row_input &r = in.row;
    focal_row f;

    f.t.label = row_label(&r.labels, i);
    f.t.partner = row_label(&r.labels, in.lam ? r.rows - 1 - i : i);
    f.t.lam = in.lam ? in.lam[i] : 1;
    f.t.on_value = 1 - in.smoothing;
    f.t.off_value = in.smoothing / (float)r.classes;
    f.counts = f.t.label >= 0 && f.t.partner >= 0;
    f.known = f.t.label < r.classes && f.t.partner < r.classes;
    return f;
}

template <int THREADS, int N>
__global__ void __launch_bounds__(ROWS_BLOCK)
    focal_losses(focal_input in, double *partial)
{
    __shared__ float shared[ROWS_BLOCK / 32];
    __shared__ double sums[ROWS_BLOCK / 32];
    const row_input &r = in.row;
    double loss = 0, n = 0;

    for (int64_t i = row_first<THREADS>(); i < r.rows; i += row_step<THREADS>()) {
        focal_row f = focal_row_of(in, i);
        const float *z = r.z + i * r.classes;
        float lse, sum = 0;

        if (!f.counts)
            continue;
        lse = row_lse<THREADS, N>(z, r.classes, 1, shared);
        row_each<THREADS, N>(z, r.classes, [&](int64_t k, float v) {
            float want = focal_target(&f.t, k);

            if (want > 0)
                sum += want * focal_value(v - lse, in.gamma);
        });
        sum = row_sum<THREADS>(sum, shared);
        if (!row_thread<THREADS>()) {
            loss += f.known ? (double)sum : (double)NAN;
            n += 1;
        }
    }
    row_leave(loss, n, partial, sums);
}

template <int THREADS, int N>
__global__ void __launch_bounds__(ROWS_BLOCK)
    focal_gradient(focal_input in, const float *dloss, const float *valid, float *dst)
{
    __shared__ float shared[ROWS_BLOCK / 32];
    const row_input &r = in.row;
    float scale = *valid > 0 ? *dloss / *valid : 0;

    for (int64_t i = row_first<THREADS>(); i < r.rows; i += row_step<THREADS>()) {
        focal_row f = focal_row_of(in, i);
        const float *z = r.z + i * r.classes;
        float lse = row_lse<THREADS, N>(z, r.classes, 1, shared), all = 0;

        row_each<THREADS, N>(z, r.classes, [&](int64_t k, float v) {
            float want = focal_target(&f.t, k);

            if (want > 0)
                all += want * focal_slope(v - lse, in.gamma);
        });
        all = row_sum<THREADS>(all, shared);
        row_map<THREADS, N>(z, dst + i * r.classes, r.classes, [&](int64_t k, float v) {
            float want = focal_target(&f.t, k);
            float slope = want > 0 ? want * focal_slope(v - lse, in.gamma) : 0;

            if (!f.counts)
                return 0.0f;
            return f.known ? (slope - expf(v - lse) * all) * scale : (float)NAN;
        });
    }
}

static void focal_run(struct step *s, struct device *dev)
{
    bool gradient = s->node->op == &op_focal_grad;
    focal_input in =
        input_of(s, gradient ? (int)ROW_LOSS_GRAD_OTHER : (int)ROW_LOSS_OTHER);
    int64_t rows = in.row.rows;
    double *partial = (double *)s->workspace;
    unsigned blocks = 0;

    WITH_ROWS(in.row.classes, THREADS, N, {
        blocks = row_blocks(dev, rows, THREADS);
        if (gradient)
            LAUNCH(dev, (focal_gradient<THREADS, N>), blocks, ROWS_BLOCK, 0, in,
                   (const float *)s->in[ROW_LOSS_GRAD_DLOSS],
                   (const float *)s->in[ROW_LOSS_GRAD_SUMS], (float *)s->out[0]);
        else
            LAUNCH(dev, (focal_losses<THREADS, N>), blocks, ROWS_BLOCK, 0, in, partial);
    });
    if (!gradient)
        row_loss_mean(dev, partial, blocks, (float *)s->out[ROW_LOSS_LOSS],
                      (float *)s->out[ROW_LOSS_SUMS]);
}

extern const struct kernel cuda_focal = {
    .name = "cuda focal",
    .claim = focal_claim,
    .run = focal_run,
};
