/* Dice and its gradient on the CPU: each thread sums the classes of its rows. */
#include "ops/dice.h"

#include <string.h>

#include "cpu/kernels.h"
#include "cpu/row_loss.h"

enum { CLASSES_MAX = 4096 }; /* most classes per row that a thread buffers */

struct job {
    struct row_job row;
    const struct dice_attrs *a;
    const float *sums;
    float dloss;
};

static const char *dice_claim(struct region *r, struct graph *g, struct node *n,
                              struct device *dev)
{
    int64_t classes;

    (void)g;
    if (n->op != &op_dice && n->op != &op_dice_grad)
        return "not a Dice loss";
    classes = row_loss_classes(n->in[ROW_LOSS_LOGITS]);
    if (n->in[ROW_LOSS_LOGITS]->dtype != DTYPE_F32)
        return "fp32 only";
    if (classes > CLASSES_MAX)
        return "too many classes";

    region_claim_node(r, n);
    if (n->op == &op_dice)
        region_workspace(r, (size_t)dev->threads * (size_t)classes *
                                sizeof(struct dice_class));
    return NULL;
}

static void loss_thread(void *arg, int thread)
{
    const struct job *j = arg;
    const struct row_job *r = &j->row;
    struct dice_class *c = (struct dice_class *)r->s->workspace + thread * r->classes;
    int64_t lo, hi;

    memset(c, 0, (size_t)r->classes * sizeof(*c));
    row_part(r, thread, &lo, &hi);
    for (int64_t i = lo; i < hi; i++) {
        const float *z = r->z + i * r->classes;
        int label = row_label_checked(&r->labels, i, r->classes);
        float lse;

        if (label < 0)
            continue;
        lse = row_lse(z, r->classes, 1);
        for (int64_t k = 0; k < r->classes; k++) {
            double p = (double)expf(z[k] - lse);

            c[k].mass += j->a->squared ? p * p : p;
            if (k == label)
                c[k].overlap += p;
        }
        c[label].labels++;
    }
}

/* Adds the threads' sums in order. */
static void finish_sums(const struct job *j)
{
    const struct row_job *r = &j->row;
    const struct dice_class *part = r->s->workspace;
    float *sums = r->s->out[ROW_LOSS_SUMS];
    double loss = 0;

    for (int64_t k = 0; k < r->classes; k++) {
        struct dice_class c = {0};
        double on_label, always;

        for (int t = 0; t < r->dev->threads; t++) {
            c.overlap += part[t * r->classes + k].overlap;
            c.mass += part[t * r->classes + k].mass;
            c.labels += part[t * r->classes + k].labels;
        }
        loss += dice_end(&c, (double)j->a->smooth, j->a->squared, (double)r->classes,
                         &on_label, &always);
        sums[k] = (float)on_label;
        sums[r->classes + k] = (float)always;
    }
    *(float *)r->s->out[ROW_LOSS_LOSS] = (float)loss;
}

static void grad_thread(void *arg, int thread)
{
    const struct job *j = arg;
    const struct row_job *r = &j->row;
    int64_t classes = r->classes, lo, hi;

    row_part(r, thread, &lo, &hi);
    for (int64_t i = lo; i < hi; i++) {
        const float *z = r->z + i * classes;
        float *dz = r->dz + i * classes, p[CLASSES_MAX], all = 0, lse;
        int label = row_label_checked(&r->labels, i, classes);

        for (int64_t k = 0; k < classes && label < 0; k++)
            dz[k] = 0;
        if (label < 0)
            continue;
        lse = row_lse(z, classes, 1);
        for (int64_t k = 0; k < classes; k++) {
            p[k] = expf(z[k] - lse);
            dz[k] = j->sums[classes + k] * (j->a->squared ? p[k] : 1) +
                    (k == label ? j->sums[k] : 0);
            all += p[k] * dz[k];
        }
        for (int64_t k = 0; k < classes; k++)
            dz[k] = p[k] * (dz[k] - all) * j->dloss;
    }
}

static void dice_run(struct step *s, struct device *dev)
{
    const struct dice_attrs *a = s->node->attrs;
    bool gradient = s->node->op == &op_dice_grad;
    struct job j = {.row = row_job_of(s, dev, a->ignore, gradient), .a = a};

    if (!gradient) {
        cpu_parallel(dev, loss_thread, &j);
        finish_sums(&j);
        return;
    }
    j.sums = s->in[ROW_LOSS_GRAD_SUMS];
    j.dloss = *(const float *)s->in[ROW_LOSS_GRAD_DLOSS];
    cpu_parallel(dev, grad_thread, &j);
}

const struct kernel cpu_dice = {
    .name = "cpu dice",
    .claim = dice_claim,
    .run = dice_run,
};
