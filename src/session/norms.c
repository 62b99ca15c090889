#include "session/norms.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "dist/group.h"
#include "graph/flat.h"
#include "session/parts.h"

bool norms_has(const struct session *s)
{
    return s->program[SESSION_STATS] != NULL;
}

static int64_t buffers_len(const struct session *s)
{
    const struct flat *f = session_flat(s);

    return f->weights_len - f->param_len;
}

void norms_begin(struct norms *n, struct session *s)
{
    size_t len = (size_t)buffers_len(s) + 1;

    *n = (struct norms){.s = s,
                        .sum = xcalloc(len, sizeof(*n->sum)),
                        .batch = xcalloc(len, sizeof(*n->batch))};
    inflight_drain(&s->inflight);
    program_refresh(s->program[SESSION_STATS]);
}

void norms_add(struct norms *n, const struct lent_batch *b)
{
    const struct build *t = &n->s->build[SESSION_STATS];

    session_stats_lent(n->s, b, n->batch);
    for (int i = 0; i < t->nstat; i++) {
        const struct stats_segment *g = &t->stat[i];

        for (int64_t k = g->offset; k < g->offset + g->len; k++)
            n->sum[k] += (double)n->batch[k] * (double)g->scale;
    }
    n->batches++;
}

/* Sets the buffers to the means over `batches` batches of each process. */
static void set_buffers(const struct norms *n, float *flat)
{
    const struct build *t = &n->s->build[SESSION_STATS];
    double all = (double)n->batches * dist_world();

    flat += session_flat(n->s)->param_len;
    for (int i = 0; i < t->nstat; i++) {
        const struct stats_segment *g = &t->stat[i];

        for (int64_t k = g->offset; k < g->offset + g->len; k++)
            flat[k] = (float)(g->count ? (double)n->batches : n->sum[k] / all);
    }
}

void norms_end(struct norms *n, float *flat)
{
    if (flat && n->batches) {
        dist_sum_doubles(n->sum, (int)buffers_len(n->s));
        set_buffers(n, flat);
    }
    free(n->sum);
    free(n->batch);
    *n = (struct norms){0};
}
