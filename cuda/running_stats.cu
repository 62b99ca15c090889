/*
 * running_stats and stats_commit: one block per segment, 12 bytes per element; only some
 * ten thousand elements, so the launch dominates.
 */
#include "ops/running_stats.h"

#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "cuda/table.h"
#include "graph/kernel.h"
#include "ops/control.h"
#include "ops/running_stats_formula.h"

enum { BLOCK = 256 };

static const char *stats_claim(struct region *r, struct graph *, struct node *n,
                               struct device *dev)
{
    const struct running_stats_attrs *a = (const struct running_stats_attrs *)n->attrs;

    if (n->op != &op_running_stats && n->op != &op_stats_commit)
        return "no running statistics";

    region_claim_node(r, n);
    (void)cuda_table(r, dev, a->segment, (size_t)a->nsegment * sizeof(a->segment[0]));
    return nullptr;
}

__global__ void __launch_bounds__(BLOCK)
    move_stats(const stats_segment *segments, const float *batch, const float *running,
               float *target, accumulation a, const control *c)
{
    stats_segment g = segments[blockIdx.x];
    const float *base = accumulation_begins(&a, c->micro) ? running : target;

    if (a.group <= 1 && c->overflow)
        return;
    for (int64_t j = g.offset + threadIdx.x; j < g.offset + g.len; j += BLOCK)
        target[j] = g.count
                        ? base[j] + 1
                        : running_stats_element(base[j], batch[j], g.momentum, g.scale);
}

__global__ void __launch_bounds__(BLOCK)
    commit_stats(const stats_segment *segments, const float *pending, float *running,
                 const control *c)
{
    stats_segment g = segments[blockIdx.x];

    if (c->overflow)
        return;
    for (int64_t j = g.offset + threadIdx.x; j < g.offset + g.len; j += BLOCK)
        running[j] = pending[j];
}

static void stats_run(struct step *s, struct device *dev)
{
    const struct running_stats_attrs *a =
        (const struct running_stats_attrs *)s->node->attrs;
    const struct stats_segment *segments = (const struct stats_segment *)s->derived[0];

    if (s->node->op == &op_stats_commit)
        LAUNCH(dev, commit_stats, (unsigned)a->nsegment, BLOCK, 0, segments,
               (const float *)s->in[STATS_COMMIT_PENDING], (float *)s->out[0],
               (const struct control *)s->in[STATS_COMMIT_CONTROL]);
    else
        LAUNCH(dev, move_stats, (unsigned)a->nsegment, BLOCK, 0, segments,
               (const float *)s->in[RUNNING_STATS_BATCH],
               (const float *)s->in[RUNNING_STATS_RUNNING], (float *)s->out[0],
               a->accumulation, (const struct control *)s->in[RUNNING_STATS_CONTROL]);
}

extern const struct kernel cuda_running_stats = {
    .name = "cuda running_stats",
    .claim = stats_claim,
    .run = stats_run,
};
