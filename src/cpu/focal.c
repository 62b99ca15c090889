/* The focal loss and its gradient on the CPU: rows are spread over threads. */
#include "ops/focal.h"

#include "cpu/kernels.h"
#include "cpu/row_loss.h"
#include "ops/focal_formula.h"

struct focal {
    const struct focal_attrs *a;
    const float *lam; /* may be NULL */
};

static const char *focal_claim(struct region *r, struct graph *g, struct node *n,
                               struct device *dev)
{
    (void)g;
    if (n->op != &op_focal && n->op != &op_focal_grad)
        return "not a focal loss";
    if (n->in[ROW_LOSS_LOGITS]->dtype != DTYPE_F32)
        return "fp32 only";

    row_mean_claim(r, n, dev);
    return NULL;
}

/* Returns false if the row is ignored. */
static bool targets_of(const struct row_mean *m, int64_t i, struct focal_targets *t)
{
    const struct row_job *r = &m->row;
    const struct focal *o = m->args;
    int64_t other = o->lam ? r->rows - 1 - i : i;
    float e = o->a->smoothing;

    t->label = row_label_checked(&r->labels, i, r->classes);
    t->partner = row_label_checked(&r->labels, other, r->classes);
    t->lam = o->lam ? o->lam[i] : 1;
    t->on_value = 1 - e;
    t->off_value = e / (float)r->classes;
    return t->label >= 0 && t->partner >= 0;
}

static bool row_loss(const struct row_mean *m, int64_t i, double *loss)
{
    const struct row_job *r = &m->row;
    const float *z = r->z + i * r->classes;
    float gamma = ((const struct focal *)m->args)->a->gamma, lse;
    struct focal_targets t;

    if (!targets_of(m, i, &t))
        return false;
    lse = row_lse(z, r->classes, 1);
    *loss = (double)(lse - lse); /* NaN */
    for (int64_t k = 0; k < r->classes; k++) {
        float want = focal_target(&t, k);

        if (want > 0)
            *loss += (double)(want * focal_value(z[k] - lse, gamma));
    }
    return true;
}

static bool grad_row(const struct row_mean *m, int64_t i, float *dz)
{
    int64_t classes = m->row.classes;
    const float *z = m->row.z + i * classes;
    float gamma = ((const struct focal *)m->args)->a->gamma, all = 0, lse;
    struct focal_targets t;

    if (!targets_of(m, i, &t))
        return false;
    lse = row_lse(z, classes, 1);
    for (int64_t k = 0; k < classes; k++) {
        float want = focal_target(&t, k);

        dz[k] = want > 0 ? want * focal_slope(z[k] - lse, gamma) : 0;
        all += dz[k];
    }
    for (int64_t k = 0; k < classes; k++)
        dz[k] = (dz[k] - expf(z[k] - lse) * all) * m->scale;
    return true;
}

static void focal_run(struct step *s, struct device *dev)
{
    const struct focal_attrs *a = s->node->attrs;
    bool gradient = s->node->op == &op_focal_grad;
    int lam = gradient ? ROW_LOSS_GRAD_OTHER : ROW_LOSS_OTHER;
    struct focal args = {a, s->nin > lam ? s->in[lam] : NULL};
    struct row_mean m = {.row = row_job_of(s, dev, a->ignore, gradient),
                         .args = &args,
                         .loss = row_loss,
                         .grad = grad_row,
                         .factor = 1};

    row_mean_run(&m);
}

const struct kernel cpu_focal = {
    .name = "cpu focal",
    .claim = focal_claim,
    .run = focal_run,
};
