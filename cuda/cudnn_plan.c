#include "cuda/cudnn_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cuda/cudnn_engine.h"

enum { TIMED = 10 }; /* candidates of a benchmark */

static char *make_key(const struct cudnn *c, const struct cudnn_graph *g)
{
    const struct cuda_options *o = &c->dev->options;
    struct strbuf s = STRBUF_INIT;

    strbuf_addf(&s, "cudnn %zu\n%s\n", c->version, c->device_json);
    strbuf_addf(&s, "tf32 %d deterministic %d benchmark %d workspace %zu\n", o->tf32,
                o->deterministic, c->dev->times && c->handle, cudnn_workspace_limit(c));
    cudnn_graph_text(g, &s);
    return strbuf_detach(&s);
}

static void note_tensors(struct cudnn_plan *p, const struct cudnn_graph *g)
{
    for (int i = 0; i < g->ntensor; i++)
        if (g->tensor[i].real)
            p->uid[p->nuid++] = i + 1;
}

/* The winner's descriptor moves from the pool to the plan. */
static void adopt(struct cudnn_plan *plan, struct cudnn_pool *p,
                  const struct cudnn_candidate *k)
{
    plan->desc = k->plan;
    plan->engine = k->engine;
    plan->workspace = k->workspace;
    memcpy(plan->notes, k->notes, sizeof(plan->notes));
    for (int i = 0; i < p->n; i++)
        if (p->desc[i] == k->plan) {
            p->desc[i] = p->desc[--p->n];
            return;
        }
}

static void find_engine(struct cudnn *c, const struct cudnn_graph *g,
                        struct cudnn_plan *plan)
{
    bool benchmark = c->dev->options.benchmark && c->handle;
    struct cudnn_candidate list[TIMED];
    struct cudnn_pool p = {.c = c};
    struct strbuf why = STRBUF_INIT;
    int n = cudnn_candidates(&p, g, list, benchmark ? TIMED : 1, &why), best = 0;

    if (n > 0 && benchmark)
        best = cudnn_fastest(c, g, plan, list, n, &plan->microseconds);
    if (n > 0)
        adopt(plan, &p, &list[best]);
    else
        plan->why = strbuf_detach(&why);
    strbuf_release(&why);
    cudnn_pool_release(&p);
}

/* Is it what the options ask for, and not the heuristic's first instead of the fastest?
 */
static bool settled(const struct cudnn *c, const struct cudnn_plan *p)
{
    return p->desc && (!c->dev->times || !c->handle || p->microseconds > 0);
}

/* The heuristic's first, of a hurry, is not the plan that timing finds: it has a name of
 * its own, and is not kept on disk. */
const struct cudnn_plan *cudnn_plan_get(struct cudnn *c, const struct cudnn_graph *g)
{
    bool hurry = cudnn_hurries(c);
    char *key = make_key(c, g), *quick = xasprintf("?%s", key);
    struct cudnn_plan *p = strmap_get(&c->plan, key);

    if (!p && hurry)
        p = strmap_get(&c->plan, quick);
    if (p) {
        free(key);
        free(quick);
        return p;
    }
    p = xcalloc(1, sizeof(*p));
    p->key = key;
    note_tensors(p, g);
    if (!cudnn_cache_load(c, p)) {
        find_engine(c, g, p);
        if (settled(c, p))
            cudnn_cache_store(c, p);
    }
    strmap_put(&c->plan, hurry && !p->from_cache ? quick : key, p);
    free(quick);
    return p;
}
