#include "ops/running_stats.h"

#include <limits.h>
#include <string.h>

#include "graph/flat.h"
#include "graph/kernel.h"
#include "ops/batchnorm.h"
#include "ops/control.h"
#include "ops/norm_fold.h"
#include "ops/running_stats_formula.h"

static const struct attr running_stats_attr_table[] = {
    ATTR_INT(struct running_stats_attrs, accumulation.group, 0, INT_MAX,
             "micro-batches of an update"),
    ATTR_INT(struct running_stats_attrs, accumulation.batches, 0, INT_MAX,
             "micro-batches of an epoch"),
    {0},
};

static bool has_statistics(const struct node *n)
{
    return n->op == &op_batchnorm || n->op == &op_norm_fold;
}

/* Elements per channel in one process. */
static int64_t elements(const struct node *n)
{
    const struct tensor *x = n->in[BATCHNORM_X];

    return n->op == &op_norm_fold ? ((const struct norm_fold_attrs *)n->attrs)->count
                                  : x->dim[0] * x->dim[2] * x->dim[3];
}

/* Adds the three segments of one batch norm. */
static int add_segments(const struct graph *g, const struct node *bn,
                        struct stats_segment *s)
{
    const struct batchnorm_attrs *a = bn->attrs; /* also begins norm_fold_attrs */
    const struct tensor *t[] = {a->running_mean, a->running_var, a->batches};
    float n = (float)(elements(bn) * (a->group ? a->group->world : 1));

    for (int i = 0; i < 3; i++)
        s[i] = (struct stats_segment){
            .offset = (int64_t)(t[i]->offset / sizeof(float)) - g->flat->param_len,
            .len = tensor_len(t[i]),
            .momentum = a->momentum,
            .scale = i == 1 && n > 1 ? n / (n - 1) : 1,
            .count = i == 2,
        };
    return 3;
}

static struct running_stats_attrs find_segments(struct graph *g,
                                                struct accumulation accumulation)
{
    struct running_stats_attrs a = {"running_stats", accumulation, NULL, 0};
    struct stats_segment *s;
    int n = 0;

    for (int i = 0; i < g->nnode; i++)
        n += has_statistics(g->node[i]);
    s = arena_new(&g->arena, 3 * (size_t)n * sizeof(*s));
    a.segment = s;
    for (int i = 0; i < g->nnode; i++)
        if (has_statistics(g->node[i]))
            a.nsegment += add_segments(g, g->node[i], s + a.nsegment);
    return a;
}

const struct stats_segment *running_stats_segments(struct graph *g, int *n)
{
    struct running_stats_attrs a = find_segments(g, (struct accumulation){0});

    *n = a.nsegment;
    return a.segment;
}

void running_stats(struct builder *b, struct tensor *control,
                   struct accumulation accumulation, bool last)
{
    struct running_stats_attrs a = find_segments(b->g, accumulation);
    int64_t len = b->g->flat->weights_len - b->g->flat->param_len;
    size_t offset = (size_t)b->g->flat->param_len * sizeof(float);

    if (!a.nsegment)
        return;

    struct tensor *running =
        graph_state(b, "buffers", MEMORY_WEIGHTS, DTYPE_F32, offset, len);
    struct tensor *target = running,
                  *in[] = {
                      graph_state(b, "stats", MEMORY_STATS, DTYPE_F32, 0, len),
                      running,
                      control,
                  };

    if (accumulation.group > 1)
        target = graph_state(b, "pending", MEMORY_PENDING, DTYPE_F32, 0, len);
    node_update(b, &op_running_stats, a.layer, &a, in, 3, &target, 1);
    if (accumulation.group > 1 && last)
        node_update(b, &op_stats_commit, a.layer, &a,
                    (struct tensor *[]){target, control}, 2, &running, 1);
}

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
    const float *base = accumulation_begins(&a->accumulation, c->micro)
                            ? s->in[RUNNING_STATS_RUNNING]
                            : target;

    if (a->accumulation.group <= 1 && c->overflow)
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
        int64_t pos = a->segment[i].offset;

        memcpy(running + pos, pending + pos, (size_t)a->segment[i].len * sizeof(float));
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
