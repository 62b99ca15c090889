/*
 * The update phase on the CPU: optimizers, EMA, gradient accumulation and the norm of the
 * gradients, each one pass over flat arrays, cut by threads at any element.
 */
#include "ops/optimizer.h"

#include "cpu/device.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"
#include "ops/control_formula.h"
#include "ops/ema.h"
#include "ops/grad_stats.h"
#include "ops/grads_accumulate.h"

enum { BLOCK = 4096 }; /* elements whose squares make one partial sum */

struct optimizer_state {
    const struct update_loop *loop; /* NULL: no optimizer */
};

struct job {
    const struct device *dev;
    struct step *s;
    double *partial; /* of grad_stats, one for each block */
};

static const struct update_loop *loop_of(const struct device *dev, const struct op *op)
{
    for (const struct update_loop *l = dev->loops->update; l->op; l++)
        if (l->op == op)
            return l;
    return NULL;
}

static const char *optimizer_claim(struct region *r, struct graph *g, struct node *n,
                                   struct device *dev)
{
    struct optimizer_state *st = region_state(r);

    (void)g;
    st->loop = loop_of(dev, n->op);
    if (!st->loop && n->op != &op_ema && n->op != &op_grads_accumulate &&
        n->op != &op_grad_stats)
        return "no pass over flat arrays";

    region_take_alone(r, n);
    if (n->op == &op_grad_stats)
        region_workspace(r, (size_t)(tensor_len(n->in[0]) / BLOCK + 1) * sizeof(double));
    return NULL;
}

/* Elements [at, at + n) of segment `seg`. */
static void update_some(const struct job *j, const struct update_segment *seg, int64_t at,
                        int64_t n)
{
    const struct optimizer_state *st = j->s->state;
    const float *g = (const float *)j->s->in[UPDATE_GRADS] + at;
    float *w = (float *)j->s->out[UPDATE_WEIGHTS] + at;
    float *m1 = j->s->nout > UPDATE_MOMENT1 ? (float *)j->s->out[UPDATE_MOMENT1] + at : w;
    float *m2 = j->s->nout > UPDATE_MOMENT2 ? (float *)j->s->out[UPDATE_MOMENT2] + at : w;

    st->loop->run(j->s->node->attrs, seg, j->s->in[UPDATE_CONTROL], w, m1, m2, g, n);
}

static void update_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    const struct optimizer_attrs *a = j->s->node->attrs;
    const struct update *u = &a->update;

    for (int i = 0; i < u->nsegment; i++) {
        const struct update_segment *seg = &u->segment[i];
        int64_t from = seg->offset > lo ? seg->offset : lo;
        int64_t end = seg->offset + seg->len < hi ? seg->offset + seg->len : hi;

        if (from < end)
            update_some(j, seg, from, end - from);
    }
}

static void ema_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    const struct control *c = j->s->in[EMA_CONTROL];

    j->dev->loops->ema((float *)j->s->out[0] + lo,
                       (const float *)j->s->in[EMA_WEIGHTS] + lo, hi - lo,
                       (float)(1 - c->ema_decay));
}

static void accumulate_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    const struct grads_accumulate_attrs *a = j->s->node->attrs;
    const struct control *c = j->s->in[GRADS_ACCUMULATE_CONTROL];

    j->dev->loops->accumulate((float *)j->s->out[0] + lo,
                              (const float *)j->s->in[GRADS_ACCUMULATE_GRADS] + lo,
                              hi - lo, accumulation_begins(&a->accumulation, c->micro));
}

static void squares_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    const float *g = j->s->in[0];

    for (int64_t i = lo; i < hi; i += BLOCK)
        j->partial[i / BLOCK] =
            j->dev->loops->squares(g + i, hi - i < BLOCK ? hi - i : BLOCK);
}

/* Fixed blocks in a fixed order: the norm does not depend on the number of threads. */
static void grad_stats_run(struct step *s, struct device *dev)
{
    struct job j = {.dev = dev, .s = s, .partial = s->workspace};
    int64_t n = tensor_len(s->in_tensor[0]);
    double sum = 0;

    cpu_for(dev, n, BLOCK, squares_part, &j);
    for (int64_t i = 0; i < (n + BLOCK - 1) / BLOCK; i++)
        sum += j.partial[i];
    control_gradients(s->out[0], sum);
}

static void optimizer_run(struct step *s, struct device *dev)
{
    struct job j = {.dev = dev, .s = s};
    const struct op *op = s->node->op;
    int64_t n = tensor_len(s->out_tensor[0]);

    if (op == &op_grad_stats)
        grad_stats_run(s, dev);
    else if (op == &op_grads_accumulate)
        cpu_for(dev, n, BLOCK, accumulate_part, &j);
    else if (((const struct control *)s->in[UPDATE_CONTROL])->overflow)
        return;
    else
        cpu_for(dev, n, BLOCK, op == &op_ema ? ema_part : update_part, &j);
}

_Static_assert((int)EMA_CONTROL == (int)UPDATE_CONTROL, "one place for the control");

const struct kernel cpu_optimizer = {
    .name = "cpu optimizer",
    .claim = optimizer_claim,
    .run = optimizer_run,
    .state_size = sizeof(struct optimizer_state),
};
