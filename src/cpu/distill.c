/* Distillation and its gradient on the CPU: rows are spread over threads. */
#include "ops/distill.h"

#include "cpu/kernels.h"
#include "cpu/row_loss.h"

struct distillation {
    const float *teacher;
    bool hard;
    float inverse; /* 1 / T */
};

static const char *distill_claim(struct region *r, struct graph *g, struct node *n,
                                 struct device *dev)
{
    (void)g;
    if (n->op != &op_distill && n->op != &op_distill_grad)
        return "not a distillation";
    if (n->in[ROW_LOSS_LOGITS]->dtype != DTYPE_F32)
        return "fp32 only";

    row_mean_claim(r, n, dev);
    return NULL;
}

static int64_t largest(const float *z, int64_t n)
{
    int64_t best = 0;

    for (int64_t k = 1; k < n; k++)
        if (z[k] > z[best])
            best = k;
    return best;
}

static bool counts(const struct row_job *r, int64_t i)
{
    return row_label_checked(&r->labels, i, r->classes) >= 0;
}

/* sum q (log q - log p) of one row, or -log p of the teacher's class. */
static bool row_loss(const struct row_mean *m, int64_t i, double *loss)
{
    const struct distillation *o = m->args;
    int64_t n = m->row.classes;
    const float *z = m->row.z + i * n, *teacher = o->teacher + i * n;
    float lse, teacher_lse;

    if (!counts(&m->row, i))
        return false;
    lse = row_lse(z, n, o->inverse);
    *loss = o->hard ? (double)(lse - z[largest(teacher, n)]) : 0;
    teacher_lse = o->hard ? 0 : row_lse(teacher, n, o->inverse);
    for (int64_t k = 0; k < n && !o->hard; k++) {
        float log_q = teacher[k] * o->inverse - teacher_lse;

        *loss += (double)(expf(log_q) * (log_q - z[k] * o->inverse + lse));
    }
    return true;
}

static bool grad_row(const struct row_mean *m, int64_t i, float *dz)
{
    const struct distillation *o = m->args;
    int64_t n = m->row.classes;
    const float *z = m->row.z + i * n, *teacher = o->teacher + i * n;
    float scale = m->scale * o->inverse, lse, teacher_lse;

    if (!counts(&m->row, i))
        return false;
    lse = row_lse(z, n, o->inverse);
    teacher_lse = o->hard ? 0 : row_lse(teacher, n, o->inverse);
    for (int64_t k = 0; k < n; k++)
        dz[k] = expf(z[k] * o->inverse - lse) * scale;
    if (o->hard)
        dz[largest(teacher, n)] -= scale;
    for (int64_t k = 0; k < n && !o->hard; k++)
        dz[k] -= expf(teacher[k] * o->inverse - teacher_lse) * scale;
    return true;
}

static void distill_run(struct step *s, struct device *dev)
{
    const struct distill_attrs *a = s->node->attrs;
    bool gradient = s->node->op == &op_distill_grad;
    struct distillation args = {
        .teacher = s->in[gradient ? ROW_LOSS_GRAD_OTHER : ROW_LOSS_OTHER],
        .hard = a->hard,
        .inverse = a->hard ? 1 : 1 / a->temperature};
    struct row_mean m = {.row = row_job_of(s, dev, a->ignore, gradient),
                         .args = &args,
                         .loss = row_loss,
                         .grad = grad_row};

    m.factor = a->hard ? 1 : a->temperature * a->temperature / (float)m.row.classes;
    row_mean_run(&m);
}

const struct kernel cpu_distill = {
    .name = "cpu distill",
    .claim = distill_claim,
    .run = distill_run,
};
