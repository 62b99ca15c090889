/*
 * The update phase on the CPU: optimizers, EMA, gradient accumulation, and the norm of
 * the gradients. Each is one pass over flat arrays, which threads split at any element.
 */
#include "ops/optimizer.h"

#include "cpu/device.h"
#include "cpu/kernels.h"
#include "graph/collective.h"
#include "graph/kernel.h"
#include "ops/control_formula.h"
#include "ops/ema.h"
#include "ops/grad_stats.h"
#include "ops/grads_accumulate.h"

enum { BLOCK = UPDATE_BLOCK }; /* elements per partial sum of squares */

struct optimizer_state {
    const struct update_loop *loop; /* NULL: no optimizer */
};

struct job {
    const struct device *dev;
    struct step *s;
    double *partial; /* sums per block: one of grad_stats, two of trust ratios */
    float *trust;    /* per segment; NULL: the optimizer has none */
};

static const struct update_loop *loop_of(const struct device *dev, const struct op *op)
{
    for (const struct update_loop *l = dev->loops->update; l->op; l++)
        if (l->op == op)
            return l;
    return NULL;
}

/* Blocks are numbered across segments; each segment begins a new block. */
static int64_t blocks_of(const struct update_segment *s)
{
    return (s->len + BLOCK - 1) / BLOCK;
}

static int64_t blocks_of_all(const struct update *u)
{
    int64_t n = 0;

    for (int i = 0; i < u->nsegment; i++)
        n += blocks_of(&u->segment[i]);
    return n;
}

static size_t trust_bytes(const struct update *u)
{
    return (size_t)blocks_of_all(u) * 2 * sizeof(double) +
           (size_t)u->nsegment * sizeof(float);
}

static const struct grad_stats_attrs *stats_of(const struct node *n)
{
    return n->attrs;
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

    region_claim_node(r, n);
    if (n->op == &op_grad_stats)
        region_workspace(r, (size_t)(stats_of(n)->len / BLOCK + 1) * sizeof(double));
    if (st->loop && st->loop->measure)
        region_workspace(r, trust_bytes(&optimizer_attrs(n)->update));
    return NULL;
}

static const struct optimizer_attrs *attrs_of(const struct job *j)
{
    return j->s->node->attrs;
}

/* Elements [at, at + n) of segment i. */
static struct update_part part_of(const struct job *j, int i, int64_t pos, int64_t n)
{
    const struct step *s = j->s;
    float *w = (float *)s->out[UPDATE_WEIGHTS] + pos;

    return (struct update_part){
        .attrs = attrs_of(j),
        .segment = &attrs_of(j)->update.segment[i],
        .control = s->in[UPDATE_CONTROL],
        .trust = j->trust ? j->trust[i] : 1,
        .w = w,
        .m1 = s->nout > UPDATE_MOMENT1 ? (float *)s->out[UPDATE_MOMENT1] + pos : w,
        .m2 = s->nout > UPDATE_MOMENT2 ? (float *)s->out[UPDATE_MOMENT2] + pos : w,
        .g = (const float *)s->in[UPDATE_GRADS] + pos,
        .n = n,
    };
}

static void update_range(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    const struct optimizer_state *st = j->s->state;
    const struct update *u = &attrs_of(j)->update;

    for (int i = 0; i < u->nsegment; i++) {
        const struct update_segment *seg = &u->segment[i];
        int64_t begin = seg->offset > lo ? seg->offset : lo;
        int64_t end = seg->offset + seg->len < hi ? seg->offset + seg->len : hi;

        if (begin < end) {
            struct update_part p = part_of(j, i, begin, end - begin);

            st->loop->run(&p);
        }
    }
}

/* ---- trust ratios ---- */

/* Block k of segment i. */
static void measure(const struct job *j, int i, int64_t k, double sum[2])
{
    const struct optimizer_state *st = j->s->state;
    const struct update_segment *s = &attrs_of(j)->update.segment[i];
    int64_t pos = k * BLOCK, n = s->len - pos < BLOCK ? s->len - pos : BLOCK;
    struct update_part p = part_of(j, i, s->offset + pos, n);

    if (update_adapts(p.attrs, s))
        st->loop->measure(&p, sum);
}

static void measure_blocks(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    const struct update *u = &attrs_of(j)->update;
    int64_t first = 0;

    for (int i = 0; i < u->nsegment; i++) {
        int64_t n = blocks_of(&u->segment[i]);

        for (int64_t k = 0; k < n; k++)
            if (first + k >= lo && first + k < hi)
                measure(j, i, k, j->partial + 2 * (first + k));
        first += n;
    }
}

static float ratio(const struct job *j, int i, const double *partial)
{
    const struct optimizer_state *st = j->s->state;
    struct update_part p = part_of(j, i, 0, 0);
    double sum[2] = {0, 0};

    if (!update_adapts(p.attrs, p.segment))
        return 1;
    for (int64_t k = 0; k < blocks_of(p.segment); k++)
        for (int x = 0; x < 2; x++)
            sum[x] += partial[2 * k + x];
    return st->loop->trust(&p, sum);
}

/* Adds fixed blocks in a fixed order, as in grad_stats. */
static void find_trust(struct job *j)
{
    const struct update *u = &attrs_of(j)->update;
    int64_t blocks = blocks_of_all(u), first = 0;
    float *trust;

    j->partial = j->s->workspace;
    trust = (float *)(j->partial + 2 * blocks);
    cpu_for(j->dev, blocks, 1, measure_blocks, j);
    for (int i = 0; i < u->nsegment; i++) {
        trust[i] = ratio(j, i, j->partial + 2 * first);
        first += blocks_of(&u->segment[i]);
    }
    j->trust = trust;
}

static void optimizer_step(struct job *j, int64_t n)
{
    const struct optimizer_state *st = j->s->state;

    if (st->loop->measure)
        find_trust(j);
    cpu_for(j->dev, n, BLOCK, update_range, j);
}

/* ---- the rest of an update ---- */

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
    const float *g = (const float *)j->s->in[0] + stats_of(j->s->node)->first;

    for (int64_t i = lo; i < hi; i += BLOCK)
        j->partial[i / BLOCK] =
            j->dev->loops->squares(g + i, hi - i < BLOCK ? hi - i : BLOCK);
}

/* Adds fixed blocks in a fixed order: the norm does not depend on the number of threads. */
static void grad_stats_run(struct step *s, struct device *dev)
{
    struct job j = {.dev = dev, .s = s, .partial = s->workspace};
    const struct collective *group = stats_of(s->node)->group;
    int64_t n = stats_of(s->node)->len;
    double sum = 0;

    cpu_for(dev, n, BLOCK, squares_part, &j);
    for (int64_t i = 0; i < (n + BLOCK - 1) / BLOCK; i++)
        sum += j.partial[i];
    if (group)
        group->sum(group, &sum, 1);
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
    else if (op == &op_ema)
        cpu_for(dev, n, BLOCK, ema_part, &j);
    else
        optimizer_step(&j, n);
}

_Static_assert((int)EMA_CONTROL == (int)UPDATE_CONTROL, "one place for the control");

const struct kernel cpu_optimizer = {
    .name = "cpu optimizer",
    .claim = optimizer_claim,
    .run = optimizer_run,
    .state_size = sizeof(struct optimizer_state),
};
