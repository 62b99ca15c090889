#include "ops/running_stats.h"

#include <limits.h>
#include <string.h>

#include "graph/kernel.h"
#include "ops/control.h"
#include "ops/running_stats_formula.h"

static const struct attr running_stats_attr_table[] = {
    ATTR_INT(struct running_stats_attrs, accumulation, 1, INT_MAX, "micro-batches"),
    {0},
};

static const char *running_stats_shape(struct node *n)
{
    return tensor_len(n->in[RUNNING_STATS_BATCH]) == tensor_len(n->out[0]) &&
                   tensor_len(n->in[RUNNING_STATS_RUNNING]) == tensor_len(n->out[0])
               ? NULL
               : "statistics differ in length";
}

static void running_stats_ref(const struct step *s)
{
    const struct running_stats_attrs *a = s->node->attrs;
    const struct control *c = s->in[RUNNING_STATS_CONTROL];
    const float *batch = s->in[RUNNING_STATS_BATCH];
    float *target = s->out[0];
    const float *base =
        c->micro % a->accumulation == 0 ? s->in[RUNNING_STATS_RUNNING] : target;

    if (a->accumulation == 1 && c->overflow)
        return;
    for (int i = 0; i < a->nsegment; i++) {
        const struct stats_segment *g = &a->segment[i];

        for (int64_t j = g->offset; j < g->offset + g->len; j++)
            target[j] = g->count ? base[j] + 1
                                 : running_stats_element(base[j], batch[j], g->momentum,
                                                         g->scale);
    }
}

static int64_t running_stats_flops(const struct node *n)
{
    return 4 * tensor_len(n->out[0]);
}

static const char *stats_commit_shape(struct node *n)
{
    return tensor_len(n->in[STATS_COMMIT_PENDING]) == tensor_len(n->out[0])
               ? NULL
               : "statistics differ in length";
}

static void stats_commit_ref(const struct step *s)
{
    const struct running_stats_attrs *a = s->node->attrs;
    const struct control *c = s->in[STATS_COMMIT_CONTROL];
    const float *pending = s->in[STATS_COMMIT_PENDING];
    float *running = s->out[0];

    for (int i = 0; i < a->nsegment && !c->overflow; i++) {
        int64_t at = a->segment[i].offset;

        memcpy(running + at, pending + at, (size_t)a->segment[i].len * sizeof(float));
    }
}

const struct op op_running_stats = {
    .name = "running_stats",
    .attrs = running_stats_attr_table,
    .attrs_size = sizeof(struct running_stats_attrs),
    .precision = PRECISION_F32,
    .shape = running_stats_shape,
    .flops = running_stats_flops,
    .ref = running_stats_ref,
};

const struct op op_stats_commit = {
    .name = "stats_commit",
    .attrs = running_stats_attr_table,
    .attrs_size = sizeof(struct running_stats_attrs),
    .precision = PRECISION_F32,
    .shape = stats_commit_shape,
    .ref = stats_commit_ref,
};
