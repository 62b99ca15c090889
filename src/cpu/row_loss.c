#include "cpu/row_loss.h"

/* Sums of a thread, in the workspace. */
struct row_sums {
    double loss, n;
};

void row_mean_claim(struct region *r, struct node *n, const struct device *dev)
{
    region_claim_node(r, n);
    region_workspace(r, (size_t)dev->threads * sizeof(struct row_sums));
}

static void loss_thread(void *arg, int thread)
{
    const struct row_mean *m = arg;
    struct row_sums sums = {0};
    int64_t lo, hi;

    row_part(&m->row, thread, &lo, &hi);
    for (int64_t i = lo; i < hi; i++) {
        double loss;

        if (m->loss(m, i, &loss)) {
            sums.loss += loss;
            sums.n++;
        }
    }
    ((struct row_sums *)m->row.s->workspace)[thread] = sums;
}

/* Writes the mean and the number of rows; adds the threads' sums in order. */
static void put_mean(const struct row_mean *m)
{
    const struct row_sums *part = m->row.s->workspace;
    struct row_sums all = {0};

    for (int t = 0; t < m->row.dev->threads; t++) {
        all.loss += part[t].loss;
        all.n += part[t].n;
    }
    *(float *)m->row.s->out[ROW_LOSS_LOSS] =
        all.n > 0 ? (float)(all.loss * (double)m->factor / all.n) : 0;
    *(float *)m->row.s->out[ROW_LOSS_SUMS] = (float)all.n;
}

static void grad_thread(void *arg, int thread)
{
    const struct row_mean *m = arg;
    int64_t lo, hi;

    row_part(&m->row, thread, &lo, &hi);
    for (int64_t i = lo; i < hi; i++) {
        float *dz = m->row.dz + i * m->row.classes;

        if (!m->grad(m, i, dz))
            for (int64_t k = 0; k < m->row.classes; k++)
                dz[k] = 0;
    }
}

void row_mean_run(struct row_mean *m)
{
    const struct step *s = m->row.s;
    float n;

    if (!m->row.dz) {
        cpu_parallel(m->row.dev, loss_thread, m);
        put_mean(m);
        return;
    }
    n = *(const float *)s->in[ROW_LOSS_GRAD_SUMS];
    m->scale = n > 0 ? m->factor * (*(const float *)s->in[ROW_LOSS_GRAD_DLOSS] / n) : 0;
    cpu_parallel(m->row.dev, grad_thread, m);
}
