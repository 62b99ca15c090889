/* The focal loss and its gradient on the CPU: rows are spread over threads. */
#include "ops/focal.h"

#include "cpu/kernels.h"
#include "cpu/row_loss.h"
#include "ops/focal_formula.h"

struct job {
    struct row_job row;
    const struct focal_attrs *a;
    const float *lam; /* or NULL */
    float scale;
};

static const char *focal_claim(struct region *r, struct graph *g, struct node *n,
                               struct device *dev)
{
    (void)g;
    if (n->op != &op_focal && n->op != &op_focal_grad)
        return "not a focal loss";
    if (n->in[ROW_LOSS_LOGITS]->dtype != DTYPE_F32)
        return "fp32 only";

    region_take_alone(r, n);
    region_workspace(r, (size_t)dev->threads * sizeof(struct row_sums));
    return NULL;
}

/* False: the row does not count. */
static bool targets_of(const struct job *j, int64_t i, struct focal_targets *t)
{
    const struct row_job *r = &j->row;
    int64_t other = j->lam ? r->rows - 1 - i : i;
    float e = j->a->smoothing;

    t->own = row_label_checked(&r->labels, i, r->classes);
    t->partner = row_label_checked(&r->labels, other, r->classes);
    t->lam = j->lam ? j->lam[i] : 1;
    t->on = 1 - e;
    t->off = e / (float)r->classes;
    return t->own >= 0 && t->partner >= 0;
}

static void loss_thread(void *arg, int thread)
{
    const struct job *j = arg;
    const struct row_job *r = &j->row;
    struct row_sums sums = {0};
    int64_t lo, hi;

    row_part(r, thread, &lo, &hi);
    for (int64_t i = lo; i < hi; i++) {
        const float *z = r->z + i * r->classes;
        struct focal_targets t;
        float lse;

        if (!targets_of(j, i, &t))
            continue;
        lse = row_lse(z, r->classes, 1);
        for (int64_t k = 0; k < r->classes; k++) {
            float want = focal_target(&t, k);

            if (want > 0)
                sums.loss += (double)(want * focal_value(z[k] - lse, j->a->gamma));
        }
        sums.loss += (double)(lse - lse); /* NaN among the others */
        sums.n++;
    }
    ((struct row_sums *)r->s->workspace)[thread] = sums;
}

static void grad_row(const struct job *j, const struct focal_targets *t, const float *z,
                     float *dz)
{
    int64_t classes = j->row.classes;
    float lse = row_lse(z, classes, 1), all = 0;

    for (int64_t k = 0; k < classes; k++) {
        float want = focal_target(t, k);

        dz[k] = want > 0 ? want * focal_slope(z[k] - lse, j->a->gamma) : 0;
        all += dz[k];
    }
    for (int64_t k = 0; k < classes; k++)
        dz[k] = (dz[k] - expf(z[k] - lse) * all) * j->scale;
}

static void grad_thread(void *arg, int thread)
{
    const struct job *j = arg;
    const struct row_job *r = &j->row;
    int64_t lo, hi;

    row_part(r, thread, &lo, &hi);
    for (int64_t i = lo; i < hi; i++) {
        float *dz = r->dz + i * r->classes;
        struct focal_targets t;
        bool counts = targets_of(j, i, &t);

        for (int64_t k = 0; k < r->classes && !counts; k++)
            dz[k] = 0;
        if (counts)
            grad_row(j, &t, r->z + i * r->classes, dz);
    }
}

static void focal_run(struct step *s, struct device *dev)
{
    const struct focal_attrs *a = s->node->attrs;
    bool gradient = s->node->op == &op_focal_grad;
    int lam = gradient ? ROW_LOSS_GRAD_OTHER : ROW_LOSS_OTHER;
    struct job j = {.row = row_job_of(s, dev, a->ignore, gradient),
                    .a = a,
                    .lam = s->nin > lam ? s->in[lam] : NULL};
    float n;

    if (!gradient) {
        cpu_parallel(dev, loss_thread, &j);
        row_put_mean(&j.row);
        return;
    }
    n = *(const float *)s->in[ROW_LOSS_GRAD_SUMS];
    j.scale = n > 0 ? *(const float *)s->in[ROW_LOSS_GRAD_DLOSS] / n : 0;
    cpu_parallel(dev, grad_thread, &j);
}

const struct kernel cpu_focal = {
    .name = "cpu focal",
    .claim = focal_claim,
    .run = focal_run,
};
