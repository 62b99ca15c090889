/* Distillation and its gradient on the CPU: rows are spread over threads. */
#include "ops/distill.h"

#include "cpu/kernels.h"
#include "cpu/row_loss.h"

struct job {
    struct row_job row;
    const float *teacher;
    bool hard;
    float inverse; /* 1 / T */
    float scale;
};

static const char *distill_claim(struct region *r, struct graph *g, struct node *n,
                                 struct device *dev)
{
    (void)g;
    if (n->op != &op_distill && n->op != &op_distill_grad)
        return "not a distillation";
    if (n->in[ROW_LOSS_LOGITS]->dtype != DTYPE_F32)
        return "fp32 only";

    region_take_alone(r, n);
    region_workspace(r, (size_t)dev->threads * sizeof(struct row_sums));
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

/* sum q (log q - log p) of one row, or -log p of the teacher's class. */
static double row_loss(const struct job *j, const float *z, const float *teacher)
{
    int64_t n = j->row.classes;
    float lse = row_lse(z, n, j->inverse), own;
    double sum = 0;

    if (j->hard)
        return (double)(lse - z[largest(teacher, n)]);
    own = row_lse(teacher, n, j->inverse);
    for (int64_t k = 0; k < n; k++) {
        float log_q = teacher[k] * j->inverse - own;

        sum += (double)(expf(log_q) * (log_q - z[k] * j->inverse + lse));
    }
    return sum;
}

static void loss_thread(void *arg, int thread)
{
    const struct job *j = arg;
    const struct row_job *r = &j->row;
    struct row_sums sums = {0};
    int64_t lo, hi;

    row_part(r, thread, &lo, &hi);
    for (int64_t i = lo; i < hi; i++)
        if (row_label_checked(&r->labels, i, r->classes) >= 0) {
            sums.loss += row_loss(j, r->z + i * r->classes, j->teacher + i * r->classes);
            sums.n++;
        }
    sums.loss *= (double)j->scale;
    ((struct row_sums *)r->s->workspace)[thread] = sums;
}

static void grad_row(const struct job *j, const float *z, const float *teacher, float *dz)
{
    int64_t n = j->row.classes;
    float lse = row_lse(z, n, j->inverse);
    float own = j->hard ? 0 : row_lse(teacher, n, j->inverse);

    for (int64_t k = 0; k < n; k++)
        dz[k] = expf(z[k] * j->inverse - lse) * j->scale;
    if (j->hard)
        dz[largest(teacher, n)] -= j->scale;
    for (int64_t k = 0; k < n && !j->hard; k++)
        dz[k] -= expf(teacher[k] * j->inverse - own) * j->scale;
}

static void grad_thread(void *arg, int thread)
{
    const struct job *j = arg;
    const struct row_job *r = &j->row;
    int64_t lo, hi;

    row_part(r, thread, &lo, &hi);
    for (int64_t i = lo; i < hi; i++) {
        float *dz = r->dz + i * r->classes;
        bool counts = row_label_checked(&r->labels, i, r->classes) >= 0;

        for (int64_t k = 0; k < r->classes && !counts; k++)
            dz[k] = 0;
        if (counts)
            grad_row(j, r->z + i * r->classes, j->teacher + i * r->classes, dz);
    }
}

static void distill_run(struct step *s, struct device *dev)
{
    const struct distill_attrs *a = s->node->attrs;
    bool gradient = s->node->op == &op_distill_grad;
    struct job j = {.row = row_job_of(s, dev, a->ignore, gradient),
                    .teacher = s->in[gradient ? ROW_LOSS_GRAD_OTHER : ROW_LOSS_OTHER],
                    .hard = a->hard,
                    .inverse = a->hard ? 1 : 1 / a->temperature};
    float n;

    j.scale = a->hard ? 1 : a->temperature * a->temperature / (float)j.row.classes;
    if (!gradient) {
        cpu_parallel(dev, loss_thread, &j);
        row_put_mean(&j.row);
        return;
    }
    n = *(const float *)s->in[ROW_LOSS_GRAD_SUMS];
    j.scale *= n > 0 ? *(const float *)s->in[ROW_LOSS_GRAD_DLOSS] / n * j.inverse : 0;
    cpu_parallel(dev, grad_thread, &j);
}

const struct kernel cpu_distill = {
    .name = "cpu distill",
    .claim = distill_claim,
    .run = distill_run,
};
