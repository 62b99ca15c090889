/*
 * The loss of pixels, its gradient, and the confusion matrix on the CPU. Logits are read
 * as stored: a cast before them is skipped, and a cast after the gradient is part of its
 * store. Pixels are spread over threads; sums are fp64.
 */
#include "ops/cross_entropy2d.h"

#include <string.h>

#include "base/error.h"
#include "cpu/device.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"
#include "ops/cast.h"
#include "ops/confusion.h"
#include "ops/control.h"
#include "ops/image.h"
#include "ops/metrics_formula.h"
#include "ops/state.h"

enum { LABELS = 256, PART = 64 /* pixels; multiples at which parts are cut */ };
enum { READ_LOGITS, READ_LABELS, READ_THIRD }; /* dloss, or confusion's loss */

struct pixels_state {
    const struct node *node;
    int64_t pixels;
    float weight[LABELS]; /* per label; -1: no such class */
};

/* The sums of a thread, in the workspace. */
struct sums {
    double weight, loss;
    int64_t bad; /* a label out of range, or -1 */
};

struct job {
    const struct pixels_state *st;
    const struct step *s;
    const struct device *dev;
    struct pixel_loss p;
    struct sums *sums;
    int64_t *matrix; /* [threads][classes * classes] */
};

/* Returns the gradient before cast n, or n itself. */
static struct node *gradient_at(const struct graph *g, struct node *n)
{
    return n->op == &op_cast ? sole_producer(g, n->in[CAST_X], &op_cross_entropy2d_grad)
                             : n;
}

/* Returns the logits as stored, before a cast from bf16. */
static struct tensor *logits_of(struct region *r, struct tensor *z)
{
    struct node *cast = z->producer;

    if (!cast || cast->op != &op_cast || cast->in[CAST_X]->dtype != DTYPE_BF16)
        return z;
    region_duplicate(r, cast);
    return cast->in[CAST_X];
}

static void weights_init(struct pixels_state *st, const struct node *n, int64_t classes)
{
    const struct cross_entropy2d_attrs *a = n->attrs;
    const struct confusion_attrs *c = n->attrs;
    bool counts = n->op == &op_confusion;
    int ignore = counts ? c->ignore : a->ignore;

    for (int y = 0; y < LABELS; y++)
        st->weight[y] = y == ignore    ? 0
                        : y >= classes ? -1
                        : counts       ? 1
                                       : cross_entropy2d_weight(a, y);
}

static const char *pixels_claim(struct region *r, struct graph *g, struct node *anchor,
                                struct device *dev)
{
    struct pixels_state *st = region_state(r);
    struct node *n = gradient_at(g, anchor);
    const struct tensor *z;
    int64_t classes;

    if (!n || (n->op != &op_cross_entropy2d && n->op != &op_cross_entropy2d_grad &&
               n->op != &op_confusion))
        return "no loss of pixels, nor its gradient, nor their confusion";
    z = n->in[CROSS_ENTROPY2D_LOGITS];
    classes = z->dim[IMAGE_C];
    if (z->dtype != DTYPE_F32)
        return "fp32 only";
    if (anchor != n && anchor->out[0]->dtype != DTYPE_BF16)
        return "a cast to another type than bf16";

    st->node = n;
    st->pixels = tensor_len(z) / classes;
    weights_init(st, n, classes);
    region_claim(r, anchor);
    if (n != anchor)
        region_claim(r, n);
    (void)region_read(r, logits_of(r, n->in[CROSS_ENTROPY2D_LOGITS]));
    for (int i = 1; i < n->nin; i++)
        (void)region_read(r, n->in[i]);
    for (int i = 0; i < n->nout; i++)
        (void)region_write(r, n == anchor ? n->out[i] : anchor->out[i]);
    region_workspace(
        r, (size_t)dev->threads *
               (sizeof(struct sums) +
                (n->op == &op_confusion ? 8 * (size_t)(classes * classes) : 0)));
    return NULL;
}

static void part_of(const struct job *j, int thread, int64_t *lo, int64_t *hi)
{
    cpu_part(j->st->pixels, PART, thread, j->dev->threads, lo, hi);
}

static void sum_weights(const struct job *j, int thread)
{
    struct sums s = {.bad = -1};
    int64_t lo, hi, count[LABELS] = {0};

    part_of(j, thread, &lo, &hi);
    for (int64_t i = lo; i < hi; i++)
        count[j->p.label[i]]++;
    for (int y = 0; y < LABELS; y++) {
        if (count[y] && j->st->weight[y] < 0)
            s.bad = y;
        s.weight += (double)count[y] * (double)j->st->weight[y];
    }
    j->sums[thread] = s;
}

static void loss_thread(void *arg, int thread)
{
    const struct job *j = arg;
    int64_t lo, hi;

    part_of(j, thread, &lo, &hi);
    sum_weights(j, thread);
    j->sums[thread].loss = j->dev->loops->pixel_loss(&j->p, lo, hi);
}

static struct sums total(const struct job *j)
{
    struct sums all = {.bad = -1};

    for (int t = 0; t < j->dev->threads; t++) {
        all.weight += j->sums[t].weight;
        all.loss += j->sums[t].loss;
        if (j->sums[t].bad >= 0)
            BUG("label %lld of %lld classes", (long long)j->sums[t].bad,
                (long long)j->p.classes);
    }
    return all;
}

static void grad_thread(void *arg, int thread)
{
    const struct job *j = arg;
    struct pixel_loss p = j->p;
    double all = 0;
    int64_t lo, hi;

    part_of(j, thread, &lo, &hi);
    sum_weights(j, thread);
    cpu_barrier();
    for (int t = 0; t < j->dev->threads; t++)
        all += j->sums[t].weight;
    p.scale = all > 0 ? (float)((double)*(const float *)j->s->in[READ_THIRD] / all) : 0;
    j->dev->loops->pixel_grad(&p, lo, hi);
}

static void confusion_thread(void *arg, int thread)
{
    const struct job *j = arg;
    int64_t size = j->p.classes * j->p.classes, lo, hi;
    int64_t *counts = j->matrix + thread * size;

    part_of(j, thread, &lo, &hi);
    sum_weights(j, thread);
    memset(counts, 0, (size_t)size * sizeof(*counts));
    j->dev->loops->pixel_count(&j->p, counts, lo, hi);
}

static void add_confusion(const struct job *j)
{
    struct metrics *m = j->s->out[CONFUSION_METRICS];
    int64_t *matrix = j->s->out[CONFUSION_MATRIX], classes = j->p.classes, count = 0;
    const struct confusion_attrs *a = j->st->node->attrs;
    double weight = 0;
    float loss = *(const float *)j->s->in[READ_THIRD];

    for (int t = 0; t < j->dev->threads; t++)
        for (int64_t i = 0; i < classes * classes; i++) {
            int64_t n = j->matrix[t * classes * classes + i];

            matrix[i] += n;
            count += n;
            weight += confusion_weight(a, i / classes, n);
            m->top1 += i / classes == i % classes ? n : 0;
        }
    metrics_count(m, count, weight, loss);
}

static void pixels_run(struct step *s, struct device *dev)
{
    const struct pixels_state *st = s->state;
    struct job j = {.st = st, .s = s, .dev = dev, .sums = s->workspace};
    struct sums all;

    j.matrix = (int64_t *)(j.sums + dev->threads);
    j.p = (struct pixel_loss){
        .t = s->in_tensor[READ_LOGITS]->dtype,
        .classes = s->in_tensor[READ_LOGITS]->dim[IMAGE_C],
        .z = s->in[READ_LOGITS],
        .label = s->in[READ_LABELS],
        .weight = st->weight,
    };
    if (st->node->op == &op_cross_entropy2d) {
        cpu_parallel(dev, loss_thread, &j);
        all = total(&j);
        *(float *)s->out[0] = all.weight > 0 ? (float)(all.loss / all.weight) : 0;
    } else if (st->node->op == &op_cross_entropy2d_grad) {
        j.p.dz = s->out[0];
        j.p.dt = s->out_tensor[0]->dtype;
        cpu_parallel(dev, grad_thread, &j);
        (void)total(&j);
    } else {
        cpu_parallel(dev, confusion_thread, &j);
        (void)total(&j);
        add_confusion(&j);
    }
}

const struct kernel cpu_cross_entropy2d = {
    .name = "cpu cross_entropy2d",
    .claim = pixels_claim,
    .run = pixels_run,
    .state_size = sizeof(struct pixels_state),
};
