/* Finds engines for an operation graph and filters them by the options. */
#include "cuda/cudnn_engine.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"

/* CONFIGS: most engines from one heuristic, which offers about 40. COMPILED: most engines
 * that are compiled at run time. */
enum { CONFIGS = 64, COMPILED = 3 };

/* Counts of rejected engines by reason, for the message if none is left. */
struct tally {
    int offered, tf32, precision, nondeterministic, winograd, plain, workspace, failed,
        nan;
    size_t smallest; /* smallest workspace among engines that exceed the limit */
    char message[480];
};

struct search {
    struct cudnn_pool *p;
    const struct cudnn_graph *g;
    struct cudnn_candidate *list;
    int n, limit, compiled;
    bool fp32;  /* all data is fp32 */
    bool fused; /* more than one operation */
    struct tally tally;
};

size_t cudnn_workspace_limit(const struct cudnn *c)
{
    return c->dev->options.workspace ? c->dev->options.workspace : CUDNN_WORKSPACE;
}

static const char *const numerical_name[] = {
    [CUDNN_NUMERICAL_NOTE_TENSOR_CORE] = "tensor-core",
    [CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS] = "down-convert",
    [CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION] = "reduced-precision",
    [CUDNN_NUMERICAL_NOTE_FFT] = "fft",
    [CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC] = "nondeterministic",
    [CUDNN_NUMERICAL_NOTE_WINOGRAD] = "winograd",
    [CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4] = "winograd-4x4",
    [CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6] = "winograd-6x6",
    [CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13] = "winograd-13x13",
    [CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP] = "strict-nan",
};

static void add_note(struct cudnn_candidate *k, const char *note)
{
    size_t n = strlen(k->notes);

    (void)snprintf(k->notes + n, sizeof(k->notes) - n, "%s%s", n ? " " : "", note);
}

/* Returns the engine's numerical notes as bits; writes its number and all notes as text
 * to k. */
static unsigned engine_notes(struct cudnn_pool *p, cudnnBackendDescriptor_t config,
                             struct cudnn_candidate *k)
{
    cudnnBackendDescriptor_t e = cudnn_new(p, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    cudnnBackendNumericalNote_t note[32];
    cudnnBackendBehaviorNote_t behavior[32];
    int64_t n = 0, number = -1;
    unsigned bits = 0;
    struct cudnn *c = p->c;

    (void)c->BackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_ENGINE,
                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &n, &e);
    (void)c->BackendGetAttribute(e, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1,
                                 &n, &number);
    k->engine = (int)number;
    n = 0;
    (void)c->BackendGetAttribute(e, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                 CUDNN_TYPE_NUMERICAL_NOTE, 32, &n, note);
    for (int64_t i = 0; i < n && i < 32; i++) {
        bits |= 1u << note[i];
        if ((unsigned)note[i] < CUDNN_NUMERICAL_NOTE_TYPE_COUNT)
            add_note(k, numerical_name[note[i]]);
    }
    n = 0;
    (void)c->BackendGetAttribute(e, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE,
                                 CUDNN_TYPE_BEHAVIOR_NOTE, 32, &n, behavior);
    for (int64_t i = 0; i < n && i < 32; i++)
        k->compiled |= behavior[i] == CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION;
    if (k->compiled)
        add_note(k, "runtime-compiled");
    return bits;
}

static bool has_note(unsigned bits, cudnnBackendNumericalNote_t note)
{
    return bits >> note & 1;
}

static bool refused(struct search *s, unsigned bits, bool compiled)
{
    const struct cuda_options *o = &s->p->c->dev->options;
    int *count = NULL;

    if (has_note(bits, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION) ||
        has_note(bits, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS))
        count = &s->tally.precision;
    else if (s->fp32 && !o->tf32 && has_note(bits, CUDNN_NUMERICAL_NOTE_TENSOR_CORE))
        count = &s->tally.tf32;
    else if (o->deterministic && has_note(bits, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC))
        count = &s->tally.nondeterministic;
    else if (has_note(bits, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6) ||
             has_note(bits, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13) ||
             (!s->fp32 && (has_note(bits, CUDNN_NUMERICAL_NOTE_WINOGRAD) ||
                           has_note(bits, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4))))
        count = &s->tally.winograd;
    else if (s->fused && compiled && !has_note(bits, CUDNN_NUMERICAL_NOTE_TENSOR_CORE))
        count = &s->tally.plain; /* separate kernels are faster than this engine */
    if (count)
        ++*count;
    return count != NULL;
}

/* Finalizes the plan of one configuration; errors are in the pool's message. */
static cudnnBackendDescriptor_t make_plan(struct cudnn_pool *p,
                                          cudnnBackendDescriptor_t config)
{
    cudnnBackendDescriptor_t d = cudnn_new(p, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);

    cudnn_set_desc(p, d, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
    if (p->c->handle)
        cudnn_set(p, d, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1,
                  &p->c->handle);
    else
        cudnn_set_desc(p, d, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, p->c->device);
    return cudnn_finalize(p, d, "plan") ? d : NULL;
}

/* Returns false if no plan can be made. Compiles only plans that will run. */
static bool make_candidate(struct search *s, cudnnBackendDescriptor_t config,
                           struct cudnn_candidate *k)
{
    struct cudnn *c = s->p->c;
    int64_t n, bytes = 0;

    if (k->compiled && (cudnn_hurries(c) || !c->handle) &&
        !c->BackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE,
                                CUDNN_TYPE_INT64, 1, &n, &bytes)) {
        k->workspace = (size_t)bytes;
        return true;
    }
    k->plan = make_plan(s->p, config);
    if (!k->plan) {
        s->tally.failed++;
        memcpy(s->tally.message, s->p->message, sizeof(s->tally.message));
        s->p->status = CUDNN_STATUS_SUCCESS; /* the next one may work */
        return false;
    }
    (void)c->BackendGetAttribute(k->plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                 CUDNN_TYPE_INT64, 1, &n, &bytes);
    k->workspace = (size_t)bytes;
    return true;
}

/* Only a real GPU can tell, and only plans that will run are tested. */
static bool loses_nan(const struct search *s, const struct cudnn_candidate *k)
{
    struct cudnn *c = s->p->c;

    if (!c->handle || cudnn_hurries(c) || !cudnn_may_lose_nan(s->g) ||
        cudnn_keeps_nan(c, s->g, k))
        return false;
    log_debug("cuDNN engine %d is passed over: it loses NaN, of %d operations", k->engine,
              s->g->nop);
    return true;
}

static void try_config(struct search *s, cudnnBackendDescriptor_t config)
{
    struct cudnn_candidate k = {0};
    unsigned bits = engine_notes(s->p, config, &k);

    s->tally.offered++;
    if (refused(s, bits, k.compiled) || (k.compiled && s->compiled == COMPILED) ||
        !make_candidate(s, config, &k))
        return;
    if (k.workspace > cudnn_workspace_limit(s->p->c)) {
        if (!s->tally.workspace++ || k.workspace < s->tally.smallest)
            s->tally.smallest = k.workspace;
        return;
    }
    s->compiled += k.compiled;
    if (loses_nan(s, &k))
        s->tally.nan++;
    else
        s->list[s->n++] = k;
}

/*
 * Results must be read into descriptors created beforehand: if only their number is
 * requested, cuDNN returns an upper bound.
 */
static void try_heuristic(struct search *s, cudnnBackendDescriptor_t graph,
                          cudnnBackendHeurMode_t mode)
{
    struct cudnn_pool *p = s->p;
    cudnnBackendDescriptor_t config[CONFIGS];
    cudnnBackendDescriptor_t h = cudnn_new(p, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    int64_t n = 0;

    cudnn_set_desc(p, h, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    cudnn_set(p, h, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    if (!p->c->handle)
        cudnn_set_desc(p, h, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, p->c->device);
    if (!cudnn_finalize(p, h, "heuristic")) {
        memcpy(s->tally.message, p->message, sizeof(s->tally.message));
        p->status = CUDNN_STATUS_SUCCESS;
        return;
    }
    for (int i = 0; i < CONFIGS; i++)
        config[i] = cudnn_new(p, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    if (p->c->BackendGetAttribute(h, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                  CUDNN_TYPE_BACKEND_DESCRIPTOR, CONFIGS, &n, config))
        n = 0;
    for (int i = 0; i < n && i < CONFIGS && s->n < s->limit; i++)
        try_config(s, config[i]);
}

static void add_count(struct strbuf *s, int n, const char *text)
{
    if (n)
        strbuf_addf(s, "; %d %s", n, text);
}

static void explain(const struct search *s, struct strbuf *why)
{
    const struct tally *t = &s->tally;

    if (!t->offered) {
        strbuf_addstr(why, "cuDNN has no engine for it");
        if (*t->message)
            strbuf_addf(why, " (%s)", t->message);
        return;
    }
    strbuf_addf(why, "none of cuDNN's %d engines will do", t->offered);
    add_count(why, t->tf32, "would use TF32");
    add_count(why, t->precision, "compute in less than fp32");
    add_count(why, t->nondeterministic, "are not deterministic");
    add_count(why, t->winograd, "use Winograd's transform");
    add_count(why, t->plain, "would be compiled, without tensor cores");
    add_count(why, t->workspace, "need too much workspace, ");
    if (t->workspace)
        strbuf_addf(why, "%.0f MiB at least", (double)t->smallest / 1048576);
    add_count(why, t->nan, "lose NaN");
    add_count(why, t->failed, "failed: ");
    if (t->failed)
        strbuf_addstr(why, t->message);
}

static bool all_fp32(const struct cudnn_graph *g)
{
    for (int i = 0; i < g->ntensor; i++)
        if (g->tensor[i].real && g->tensor[i].dtype != DTYPE_F32)
            return false;
    return true;
}

int cudnn_candidates(struct cudnn_pool *p, const struct cudnn_graph *g,
                     struct cudnn_candidate *list, int limit, struct strbuf *why)
{
    struct search s = {.p = p,
                       .g = g,
                       .list = list,
                       .limit = limit,
                       .fp32 = all_fp32(g),
                       .fused = g->nop > 1};
    cudnnBackendDescriptor_t graph = cudnn_build(p, g);

    if (!graph) {
        strbuf_addf(why, "cuDNN refuses the graph: %s", p->message);
        return 0;
    }
    try_heuristic(&s, graph, CUDNN_HEUR_MODE_A);
    if (s.n < limit)
        try_heuristic(&s, graph, CUDNN_HEUR_MODE_FALLBACK);
    if (!s.n)
        explain(&s, why);
    return s.n;
}
