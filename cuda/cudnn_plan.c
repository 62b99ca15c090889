#include "cuda/cudnn_plan.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "cuda/cudnn_engine.h"

enum { TIMED = 10 }; /* candidates timed by a benchmark */

static char *make_key(const struct cudnn *c, const struct cudnn_graph *g)
{
    const struct cuda_options *o = &c->dev->options;
    struct strbuf s = STRBUF_INIT;

    strbuf_addf(&s, "cudnn %zu\n%s\n", c->version, c->device_json);
    strbuf_addf(&s, "tf32 %d deterministic %d benchmark %d nan %d workspace %zu\n",
                o->tf32, o->deterministic, c->dev->times && c->handle, c->handle != NULL,
                cudnn_workspace_limit(c));
    cudnn_graph_text(g, &s);
    return strbuf_detach(&s);
}

static void note_graph(struct cudnn_plan *p, const struct cudnn_graph *g)
{
    p->graph = *g;
    for (int i = 0; i < g->ntensor; i++)
        if (g->tensor[i].real)
            p->uid[p->nuid++] = i + 1;
}

/* Moves the winner's descriptor from the pool to the plan. */
static void move_descriptor(struct cudnn_plan *plan, struct cudnn_pool *p,
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
        move_descriptor(plan, &p, &list[best]);
    else
        plan->why = strbuf_detach(&why);
    strbuf_release(&why);
    cudnn_pool_release(&p);
}

/*
 * True if the plan was chosen as the options ask: timed, not just the heuristic's first.
 */
static bool plan_is_final(const struct cudnn *c, const struct cudnn_plan *p)
{
    return p->desc && (!c->dev->times || !c->handle || p->microseconds > 0);
}

/* A plan made in a hurry is the heuristic's first, not the fastest: it has its own key
 * and is not written to disk. */
struct cudnn_plan *cudnn_plan_get(struct cudnn *c, const struct cudnn_graph *g)
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
    note_graph(p, g);
    if (!cudnn_cache_load(c, p)) {
        find_engine(c, g, p);
        if (plan_is_final(c, p))
            cudnn_cache_store(c, p);
    }
    p->reserved = p->workspace;
    strmap_put(&c->plan, hurry && !p->from_cache ? quick : key, p);
    free(quick);
    return p;
}

static bool has_failed(const struct cudnn_plan *p, int engine)
{
    for (int i = 0; i < p->nfailed; i++)
        if (p->failed[i] == engine)
            return true;
    return false;
}

/* Returns the first candidate that has not failed and fits the workspace, else the first
 * that has not failed, or -1. */
static int pick_next(const struct cudnn_plan *p, const struct cudnn_candidate *list,
                     int n)
{
    int any = -1;

    for (int i = 0; i < n; i++) {
        if (has_failed(p, list[i].engine))
            continue;
        if (list[i].workspace <= p->reserved)
            return i;
        if (any < 0)
            any = i;
    }
    return any;
}

/* Returns false if there is no other candidate. */
static bool take_next(struct cudnn *c, struct cudnn_plan *p)
{
    struct cudnn_candidate list[TIMED];
    struct cudnn_pool pool = {.c = c};
    struct strbuf why = STRBUF_INIT;
    int n, next = -1;

    if (p->nfailed < CUDNN_FAILURES) {
        p->failed[p->nfailed++] = p->engine;
        n = cudnn_candidates(&pool, &p->graph, list, TIMED, &why);
        next = pick_next(p, list, n);
    }
    if (next >= 0) {
        (void)c->BackendDestroyDescriptor(p->desc);
        move_descriptor(p, &pool, &list[next]);
        p->from_cache = false;
        p->microseconds = 0;
        if (p->workspace > p->reserved && !p->own_workspace)
            CUDA_CHECK(c->dev, cudaMalloc(&p->own_workspace, cudnn_workspace_limit(c)));
    }
    strbuf_release(&why);
    cudnn_pool_release(&pool);
    return next >= 0;
}

/* Tries candidates until one runs; returns the last status. */
static int run_another(struct cudnn *c, struct cudnn_plan *p, struct cudnn_pack *pack,
                       void *const *pointer, void *workspace, int status)
{
    bool was = alloc_forbid(false);

    cudnn_cache_drop(c, p);
    while (status) {
        int failed = p->engine;
        const char *why = c->GetErrorString((cudnnStatus_t)status);

        if (!take_next(c, p))
            break;
        log_info("cuDNN engine %d does not run (%s): engine %d takes its place", failed,
                 why, p->engine);
        status = cudnn_plan_try(c, p, pack, pointer,
                                p->own_workspace ? p->own_workspace : workspace);
    }
    if (!status && plan_is_final(c, p))
        cudnn_cache_store(c, p);
    (void)alloc_forbid(was);
    return status;
}

void cudnn_plan_run(struct cudnn *c, struct cudnn_plan *p, struct cudnn_pack *pack,
                    void *const *pointer, void *workspace)
{
    int status = cudnn_plan_try(c, p, pack, pointer,
                                p->own_workspace ? p->own_workspace : workspace);

    if (status && !p->ran && !c->dev->recording)
        status = run_another(c, p, pack, pointer, workspace, status);
    if (!status)
        p->ran = true;
    else if (!cuda_spoils(c->dev, "cudnnBackendExecute",
                          c->GetErrorString((cudnnStatus_t)status)))
        cudnn_die(c, (cudnnStatus_t)status, "cudnnBackendExecute");
}

void cudnn_plan_describe(const struct cudnn_plan *p, struct strbuf *text)
{
    strbuf_addf(text, "engine %d, %.1f MiB workspace%s%s", p->engine,
                (double)p->workspace / 1048576, *p->notes ? ", " : "", p->notes);
    if (p->microseconds > 0)
        strbuf_addf(text, ", %.1f us", (double)p->microseconds);
}
