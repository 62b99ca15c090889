/*
 * Builds what follows the losses of a training graph (session/build.h): backward phases,
 * the segments of each optimizer in each process, and the nodes around the optimizers.
 */
#include "session/build_update.h"

#include "graph/autodiff.h"
#include "graph/flat.h"
#include "models/backbone.h"
#include "ops/all_reduce.h"
#include "ops/batchnorm.h"
#include "ops/ema.h"
#include "ops/grad_stats.h"
#include "ops/grads_accumulate.h"
#include "ops/grads_join.h"
#include "ops/loss_scale.h"
#include "ops/loss_sum.h"
#include "ops/norm_fold.h"
#include "ops/running_stats.h"
#include "ops/state.h"
#include "ops/update_control.h"
#include "session/head.h"

/* Builds one backward phase, or with AMP.NUM_LOSSES one per loss, each with its own loss
 * scale: the sum of their gradients could not be unscaled. */
void build_backward(struct build *t, struct builder *b, const struct plan *p)
{
    struct loss_scale_attrs seed = {"loss_scale", p->accumulation, p->inject_overflow_at,
                                    0};
    size_t len = (size_t)b->g->flat->trained_len * sizeof(float);

    b->phase = PHASE_BACKWARD;
    if (p->scaler.losses <= 1)
        autodiff(b, t->loss, loss_scale_(b, &seed));
    for (int k = 0; p->scaler.losses > 1 && k < p->nloss; k++) {
        struct loss_share_attrs share = {"loss", p->loss[k].weight};

        seed.scale = k + 1;
        autodiff_at(b, t->each[k], loss_share(b, loss_scale_(b, &seed), &share),
                    (size_t)k * len);
    }
}

static float weight_decay_of(const struct plan *p, const struct optimizer_group *g,
                             const struct tensor *t)
{
    if (g->weight_decay.has)
        return (float)g->weight_decay.value;
    return model_decays(backbone_owner(p->model, &p->options, t->name), t, p->decay_1d)
               ? (float)p->weight_decay
               : 0;
}

/* Adds the segments of the parameters that optimizer `use` updates. */
static void add_segments(struct build *t, const struct plan *p, int use,
                         const float *scale)
{
    const struct flat *f = t->graph->flat;

    for (int i = 0; i < f->ntrained; i++) {
        const struct segment *s = &f->segment[i];
        const struct optimizer_group *g = optimizer_group_of(&p->groups, s->tensor->name);

        if (!s->tensor->grad || g->use != use)
            continue;
        t->updated[t->nsegment] = s->tensor;
        t->segment[t->nsegment++] = (struct update_segment){
            .offset = s->offset,
            .len = s->len,
            .lr_scale = scale[i] * (float)g->lr_scale,
            .weight_decay = weight_decay_of(p, g, s->tensor),
            .late = p->frozen_updates && p->nhead && !head_has(p, s->tensor->name),
        };
    }
}

/* One segment per parameter with a gradient; frozen and unused parameters have none. */
void build_segments(struct build *t, const struct plan *p)
{
    struct arena *mem = &t->graph->arena;
    const struct flat *f = t->graph->flat;
    size_t n = (size_t)f->ntrained;
    float *scale = arena_new(mem, (size_t)f->nparam * sizeof(*scale));
    const char *prefix = p->model->backbone_prefix;
    const struct layer_rule *rules = p->model->layers;

    if (!rules)
        rules = backbone_owner(p->model, &p->options, prefix ? prefix : "")->layers;
    if (p->layer_decay >= 1)
        rules = NULL; /* all have the same rate */
    layer_scales(rules, prefix, f, p->layer_decay, scale);
    t->segment = arena_new(mem, n * sizeof(*t->segment));
    t->updated = arena_new(mem, n * sizeof(*t->updated));
    t->use = arena_new(mem, ((size_t)p->groups.nuse + 1) * sizeof(*t->use));
    for (int i = 0; i < p->groups.nuse; i++) {
        t->use[i] = t->nsegment;
        add_segments(t, p, i, scale);
    }
    t->use[p->groups.nuse] = t->nsegment;
}

/* Moves the start `pos` of a share to a multiple of 64 bytes or to a whole tensor. */
static int64_t shard_cut(const struct flat *f, int64_t pos, bool whole)
{
    int i = 0;

    if (!whole)
        return pos / 16 * 16;
    while (i < f->ntrained && f->segment[i].offset < pos)
        i++;
    return i < f->ntrained ? f->segment[i].offset : f->trained_len;
}

/* Adds this process's parts of segments `first` to `last`. */
static void shard_segments(struct shard *s, const struct build *t, int first, int last)
{
    for (int i = first; i < last; i++) {
        struct update_segment u = t->segment[i];
        int64_t end = s->first + s->len;
        int64_t begin = u.offset > s->first ? u.offset : s->first;
        int64_t stop = u.offset + u.len < end ? u.offset + u.len : end;

        if (begin >= stop)
            continue;
        u.offset = begin - s->first;
        u.len = stop - begin;
        s->whole[s->nsegment] = i;
        s->segment[s->nsegment++] = u;
    }
}

/* Cuts the trained weights into equal shares and collects this process's segments. */
void build_shard(struct build *t, const struct plan *p)
{
    struct graph *g = t->graph;
    const struct flat *f = g->flat;
    int64_t *begin = arena_new(&g->arena, ((size_t)p->world + 1) * sizeof(*begin));
    struct shard *s = &t->shard;

    for (int r = 1; r < p->world; r++)
        begin[r] = shard_cut(f, f->trained_len * r / p->world,
                             optimizer_groups_trust(&p->groups));
    begin[p->world] = f->trained_len;
    *s = (struct shard){.begin = begin, .first = begin[p->group->rank]};
    s->len = begin[p->group->rank + 1] - s->first;
    s->segment = arena_new(&g->arena, (size_t)t->nsegment * sizeof(*s->segment));
    s->whole = arena_new(&g->arena, (size_t)t->nsegment * sizeof(*s->whole));
    s->use = arena_new(&g->arena, ((size_t)p->groups.nuse + 1) * sizeof(*s->use));
    for (int i = 0; i < p->groups.nuse; i++) {
        s->use[i] = s->nsegment;
        shard_segments(s, t, t->use[i], t->use[i + 1]);
    }
    s->use[p->groups.nuse] = s->nsegment;
}

/* Adds the node of one optimizer, over its own segments. */
static void build_one_optimizer(struct build *t, struct builder *b, const struct plan *p,
                                struct tensor *grads, int use)
{
    static const enum memory memory[] = {MEMORY_WEIGHTS, MEMORY_MOMENT1, MEMORY_MOMENT2};
    const struct optimizer_use *o = &p->groups.use[use];
    struct tensor *state[OPTIMIZER_STATES] = {NULL};
    const struct shard *shard = &t->shard;
    const int *ptr = shard->begin ? shard->use : t->use;
    int moments = optimizer_moments(o->optimizer, &o->h);
    struct update u = {
        .segment = (shard->begin ? shard->segment : t->segment) + ptr[use],
        .nsegment = ptr[use + 1] - ptr[use],
        .clip_value = (float)p->clip_value,
    };

    if (plan_rounds(p))
        u.round = p->half == DTYPE_F16 ? UPDATE_ROUND_F16 : UPDATE_ROUND_BF16;
    for (int i = 0; i <= moments; i++)
        state[i] = graph_state(b, i ? o->optimizer->moment[i - 1] : "weights", memory[i],
                               DTYPE_F32, i ? 0 : (size_t)shard->first * sizeof(float),
                               shard->begin ? shard->len : b->g->flat->trained_len);
    optimizer_node(b, o->optimizer, &u, &o->h, grads, control_tensor(b), state);
}

/* Every process has a node for every optimizer, even if its share has no segment of it,
 * because moments have the same length in all processes. */
static void build_optimizer(struct build *t, struct builder *b, const struct plan *p,
                            struct tensor *grads)
{
    const struct shard *shard = &t->shard;

    if (shard->begin && shard->len)
        grads =
            graph_state(b, "own_grads", grads->memory, DTYPE_F32,
                        grads->offset + (size_t)shard->first * sizeof(float), shard->len);
    for (int i = 0; i < p->groups.nuse; i++)
        if (t->use[i + 1] > t->use[i] && (!shard->begin || shard->len))
            build_one_optimizer(t, b, p, grads, i);
    if (shard->begin)
        all_gather(b, p->group, shard->begin,
                   graph_state(b, "weights", MEMORY_WEIGHTS, DTYPE_F32, 0,
                               b->g->flat->trained_len));
}

static void build_ema(struct builder *b, struct tensor *control)
{
    int64_t len = b->g->flat->weights_len;

    ema(b, graph_state(b, "weights_and_buffers", MEMORY_WEIGHTS, DTYPE_F32, 0, len),
        control, graph_state(b, "ema", MEMORY_EMA, DTYPE_F32, 0, len));
}

/* Averages the running statistics over all processes, in pieces of 25 MiB. */
static void build_mean_buffers(struct builder *b, const struct plan *p)
{
    enum { PIECE = 25 << 18 };
    int64_t end = b->g->flat->weights_len;

    for (int64_t pos = b->g->flat->param_len; p->group && pos < end; pos += PIECE)
        all_reduce(b, p->group,
                   graph_state(b, "buffers", MEMORY_WEIGHTS, DTYPE_F32,
                               (size_t)pos * sizeof(float),
                               end - pos < PIECE ? end - pos : PIECE));
}

bool build_shares_grads(const struct build *t, const struct plan *p)
{
    return t->shard.begin && p->scaler.losses <= 1;
}

void build_update(struct build *t, struct builder *b, const struct plan *p, bool last)
{
    const struct flat *f = b->g->flat;
    int losses = p->scaler.losses > 1 ? p->scaler.losses : 1;
    int64_t one = f->trained_len, len = losses * one;
    /* of the squares that this process adds to the norm: one adds what all have */
    int64_t first = p->group && p->group->rank ? f->shared_len : 0;
    struct tensor *control = control_tensor(b);
    struct tensor *grads = graph_state(b, "grads", MEMORY_GRADS, DTYPE_F32, 0, len);
    struct control_prepare_attrs prepare = {
        .schedule = p->schedule,
        .clip_norm = p->clip_norm,
        .ema_decay = p->ema_decay,
        .ema_ramp = p->ema_ramp,
    };

    b->phase = PHASE_UPDATE;
    if (p->accumulation.group > 1) {
        struct tensor *sum =
            graph_state(b, "grads_sum", MEMORY_GRADS_SUM, DTYPE_F32, 0, len);

        if (!p->group || !last) /* otherwise buckets do it */
            grads_accumulate(b, grads, control, sum, p->accumulation);
        grads = sum;
    }
    if (last) {
        if (losses > 1) {
            struct tensor *joined =
                graph_state(b, "joined_grads", MEMORY_GRADS, DTYPE_F32,
                            (size_t)len * sizeof(float), one);

            grads_join(b, grads, losses, joined, control);
            grads = joined;
        }
        if (build_shares_grads(t, p))
            grad_stats_shared(b, grads, control, p->group, t->shard.first, t->shard.len);
        else if (f->shared_len < f->trained_len)
            grad_stats_shared(b, grads, control, p->group, first, f->trained_len - first);
        else
            grad_stats(b, grads, control);
        control_prepare_node(b, control, &prepare);
        build_optimizer(t, b, p, grads);
    }
    running_stats(b, control, p->accumulation, last);
    if (last && !(p->norms && p->norms->world == p->world))
        build_mean_buffers(b, p);
    if (last && p->ema_on_device)
        build_ema(b, control);
    if (last)
        control_finish_node(b, control, &p->scaler, p->holds);
    else
        control_micro_node(b, control);
}

/* Without master weights, weights that are only used in 16 bits are rounded to 16 bits,
 * and on request those of batch norms, too. */
void build_rounding(struct build *t, const struct plan *p)
{
    const struct graph *g = t->graph;

    for (int i = 0; i < t->nsegment; i++) {
        const struct node *n;
        bool half = false, full = false, norm = false;

        for (int r = 0; (n = tensor_reader(g, t->updated[i], r)); r++) {
            half |= n->op == g->ops->cast;
            full |= n->op != g->ops->cast;
            norm |= n->op == &op_batchnorm || n->op == &op_norm_fold;
        }
        t->segment[i].round = norm ? p->round_norms : half && !full && !p->master_weights;
    }
    for (int i = 0; i < t->shard.nsegment; i++)
        t->shard.segment[i].round = t->segment[t->shard.whole[i]].round;
}
