/*
 * The update phase on the CPU: optimizers, EMA, gradient accumulation and the norm of the
 * gradients, each one pass over flat arrays, cut by threads at any element.
 */
#include "ops/optimizer.h"

#include "cpu/device.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"
#include "ops/adam_formula.h"
#include "ops/control_formula.h"
#include "ops/ema.h"
#include "ops/grad_stats.h"
#include "ops/grads_accumulate.h"
#include "ops/rmsprop_formula.h"
#include "ops/sgd_formula.h"

enum { BLOCK = 4096 }; /* elements whose squares make one partial sum */

struct optimizer_state {
    const struct update *update; /* NULL: no optimizer */
};

struct job {
    const struct device *dev;
    struct step *s;
    const struct update *update;
    double *partial; /* of grad_stats, one for each block */
};

static const struct update *update_of(const struct node *n)
{
    const void *a = n->attrs;

    if (n->op == &op_sgd)
        return &((const struct sgd_attrs *)a)->update;
    if (n->op == &op_adam)
        return &((const struct adam_attrs *)a)->update;
    if (n->op == &op_rmsprop)
        return &((const struct rmsprop_attrs *)a)->update;
    return NULL;
}

static const char *optimizer_claim(struct region *r, struct graph *g, struct node *n,
                                   struct device *dev)
{
    struct optimizer_state *st = region_state(r);

    (void)g, (void)dev;
    if (!update_of(n) && n->op != &op_ema && n->op != &op_grads_accumulate &&
        n->op != &op_grad_stats)
        return "no pass over flat arrays";

    st->update = update_of(n);
    region_take_alone(r, n);
    if (n->op == &op_grad_stats)
        region_workspace(r, (size_t)(tensor_len(n->in[0]) / BLOCK + 1) * sizeof(double));
    return NULL;
}

/* Elements [at, at + n) of segment `seg`. */
static void update_some(const struct job *j, const struct update_segment *seg, int64_t at,
                        int64_t n)
{
    const struct node *node = j->s->node;
    const struct control *c = j->s->in[UPDATE_CONTROL];
    const struct update *u = j->update;
    const float *g = (const float *)j->s->in[UPDATE_GRADS] + at;
    float *w = (float *)j->s->out[UPDATE_WEIGHTS] + at;
    float *m1 = j->s->nout > UPDATE_MOMENT1 ? (float *)j->s->out[UPDATE_MOMENT1] + at : w;
    float *m2 = j->s->nout > UPDATE_MOMENT2 ? (float *)j->s->out[UPDATE_MOMENT2] + at : w;

    if (node->op == &op_sgd) {
        const struct sgd_attrs *a = node->attrs;
        struct sgd_rule r = sgd_rule(u, seg, c, a->momentum, a->nesterov);

        j->dev->loops->sgd(w, m1, g, n, &r);
    } else if (node->op == &op_adam) {
        const struct adam_attrs *a = node->attrs;
        struct adam_rule r =
            adam_rule(u, seg, c, a->beta1, a->beta2, a->eps, a->decoupled);

        j->dev->loops->adam(w, m1, m2, g, n, &r);
    } else {
        const struct rmsprop_attrs *a = node->attrs;
        struct rmsprop_rule r = rmsprop_rule(u, seg, c, a->alpha, a->momentum, a->eps);

        j->dev->loops->rmsprop(w, m1, m2, g, n, &r);
    }
}

static void update_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    const struct update *u = j->update;

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
    const struct optimizer_state *st = s->state;
    struct job j = {.dev = dev, .s = s, .update = st->update};
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
