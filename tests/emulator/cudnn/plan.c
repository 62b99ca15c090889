#include "tests/emulator/cudnn/plan.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/emulator/cudnn/error.h"

#define OK CUDNN_STATUS_SUCCESS
#define TC CUDNN_NUMERICAL_NOTE_TENSOR_CORE
#define ND CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC

/* The engines in the order offered. Traps come first (too large a workspace, cannot be
 * built, loses NaN), to catch callers that use the first without checking. */
static const struct engine engines[] = {
    {.index = 62, .note = {TC, -1}, .workspace = INT64_C(1) << 50, .for_what = PRODUCT},
    {.index = 90, .note = {TC, -1}, .workspace = 131, .broken = true},
    {.index = 25, .note = {TC, ND}, .workspace = 4096, .for_what = GRADIENT},
    {.index = 11, .note = {-1, -1}, .clips = true, .for_what = FUSED},
    {.index = 67, .note = {TC, -1}, .workspace = 1048771, .for_what = PRODUCT},
    {.index = 71, .note = {TC, -1}, .workspace = 131, .for_what = PRODUCT},
    {.index = 22, .note = {TC, -1}, .workspace = 0, .for_what = PRODUCT},
    {.index = 100, .note = {-1, -1}, .compiled = true, .for_what = FUSED},
    {.index = 101, .note = {TC, -1}, .compiled = true, .for_what = FUSED},
    {.index = 102, .note = {TC, -1}, .compiled = true, .for_what = FUSED},
    {.index = 103, .note = {TC, -1}, .compiled = true, .for_what = FUSED},
    {.index = 104, .note = {TC, -1}, .compiled = true, .for_what = FUSED},
    {.index = 3,
     .note = {TC, -1},
     .workspace = INT64_C(1) << 50,
     .compiled = true,
     .for_what = ATTEND},
    {.index = 4, .note = {TC, -1}, .broken = true, .compiled = true, .for_what = ATTEND},
    {.index = 9, .note = {TC, -1}, .clips = true, .compiled = true, .for_what = ATTEND},
    {.index = 2,
     .note = {TC, -1},
     .workspace = 131,
     .compiled = true,
     .for_what = ATTEND},
    {.index = 5,
     .note = {TC, -1},
     .clips = true,
     .compiled = true,
     .for_what = ATTEND_GRADIENT},
    {.index = 6,
     .note = {TC, -1},
     .workspace = 1048771,
     .compiled = true,
     .for_what = ATTEND_GRADIENT},
    {.index = 7, .note = {-1, -1}, .workspace = 4096, .for_what = NO_PRODUCT},
    {.index = 8, .note = {-1, -1}, .workspace = 0, .for_what = NO_PRODUCT},
    {.index = 91, .fallback = true, .note = {-1, -1}, .broken = true},
    {.index = 20, .fallback = true, .note = {ND, -1}, .for_what = GRADIENT},
    {.index = 1, .fallback = true, .note = {-1, -1}, .workspace = 12994},
    {.index = 28, .fallback = true, .note = {-1, -1}, .workspace = 0},
    {.index = 92, .fallback = true, .note = {-1, -1}, .waits = true},
};

enum { NENGINE = sizeof(engines) / sizeof(engines[0]) };

/* Threads with different devices create plans concurrently. */
static atomic_uchar alive[PLANS_MAX];
static atomic_int serials;

void plan_free(struct plan *p)
{
    if (p)
        alive[p->serial] = 0;
    free(p);
}

bool plan_alive(int serial)
{
    return alive[serial];
}

/* EMULATOR_CLIPS=1: every engine with more than one operation loses NaN. */
bool engine_clips(const struct engine *e)
{
    const char *all = getenv("EMULATOR_CLIPS");

    return e->clips || (all && !strcmp(all, "1"));
}

int library_version(void)
{
    const char *version = getenv("EMULATOR_CUDNN");

    return version && *version ? (int)strtol(version, NULL, 10) : 91900;
}

bool engine_notes(const struct engine *e, int note)
{
    return e->note[0] == note || e->note[1] == note;
}

static bool has_kind(const struct graph *g, int kind)
{
    for (int i = 0; i < g->nop; i++)
        if (g->op[i].kind == kind)
            return true;
    return false;
}

/* EMULATOR_PLAIN=1: no engine supports more than one operation. */
static bool plain(void)
{
    const char *value = getenv("EMULATOR_PLAIN");

    return value && !strcmp(value, "1");
}

/* EMULATOR_COMPILED=FILE: only run-time compiled engines support more than one operation,
 * and each compilation appends a line to FILE. */
static const char *compiled(void)
{
    return getenv("EMULATOR_COMPILED");
}

static void note_compiled(const struct engine *e)
{
    FILE *f = compiled() ? fopen(compiled(), "a") : NULL;

    if (f)
        (void)fprintf(f, "engine %d\n", e->index);
    if (f)
        (void)fclose(f);
}

/* EMULATOR_ATTENTION=forward, or gradient: only that one has engines. */
static bool attends(const struct engine *e, const struct graph *g)
{
    const char *only = getenv("EMULATOR_ATTENTION");
    bool gradient = attention_is_gradient(g);

    if (plain() || (only && strcmp(only, gradient ? "gradient" : "forward") != 0))
        return false;
    return e->for_what == (gradient ? ATTEND_GRADIENT : ATTEND);
}

static bool suits(const struct engine *e, const struct graph *g)
{
    bool gradient =
        has_kind(g, CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR) ||
        has_kind(g, CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR);
    bool product = gradient ||
                   has_kind(g, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR) ||
                   has_kind(g, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);

    if (graph_is_attention(g))
        return attends(e, g);
    if (g->nop > 1 && (plain() || (compiled() && !e->compiled)))
        return false;
    if (e->for_what == FUSED)
        return product && g->nop > 1;
    if (e->for_what == GRADIENT)
        return gradient;
    return e->for_what == ANY || (e->for_what == PRODUCT) == product;
}

static void link_to(struct descriptor *d, cudnnBackendAttributeName_t name,
                    struct descriptor *dst)
{
    if (descriptor_set(d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &dst))
        abort();
}

/* Creates an ENGINECFG for engine e. */
static struct descriptor *make_config(const struct descriptor *heuristic,
                                      const struct engine *e)
{
    struct descriptor *engine = descriptor_new(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    struct descriptor *config = descriptor_new(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    int64_t index = e->index;

    link_to(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH,
            descriptor_of(heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH));
    if (descriptor_set(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1,
                       &index))
        abort();
    engine->engine = config->engine = e;
    engine->finalized = true;
    link_to(config, CUDNN_ATTR_ENGINECFG_ENGINE, engine);
    config->finalized = true;
    descriptor_drop(engine);
    return config;
}

/* Fills configurations created by the caller; stops at one that is finalized. */
static cudnnStatus_t get_results(const struct descriptor *d, int64_t asked,
                                 int64_t *count, void *values)
{
    const struct graph *g =
        descriptor_of(d, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH)->graph;
    bool fallback =
        descriptor_int(d, CUDNN_ATTR_ENGINEHEUR_MODE, 0) == CUDNN_HEUR_MODE_FALLBACK;
    const char *why = graph_unsupported(g);
    struct descriptor **descriptors = values;

    *count = 0;
    if (asked == 0 || !descriptors) {
        *count = 40; /* an upper bound */
        return OK;
    }
    if (why) {
        (void)refuse(CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN, "no engine: %s", why);
        return OK;
    }
    for (int i = 0; i < NENGINE && *count < asked; i++) {
        struct descriptor *made, *descriptor = descriptors[*count];

        if (engines[i].fallback != fallback || !suits(&engines[i], g))
            continue;
        if (!descriptor_alive(descriptor) ||
            descriptor->type != CUDNN_BACKEND_ENGINECFG_DESCRIPTOR ||
            descriptor->finalized)
            return OK;
        made = make_config(d, &engines[i]);
        descriptor_assign(descriptor, made);
        descriptor_drop(made);
        ++*count;
    }
    return OK;
}

static cudnnStatus_t get_notes(const struct engine *e, int64_t asked, int64_t *count,
                               void *values)
{
    *count = 0;
    for (int i = 0; i < 2; i++)
        if (e->note[i] >= 0) {
            if (*count < asked && values)
                ((int32_t *)values)[*count] = e->note[i];
            ++*count;
        }
    return OK;
}

static cudnnStatus_t get_int(int64_t v, int64_t asked, int64_t *count, void *values)
{
    *count = 1;
    if (asked > 0 && values)
        *(int64_t *)values = v;
    return OK;
}

static char *text_of(const struct descriptor *d, cudnnBackendAttributeName_t name)
{
    const struct attribute *a = descriptor_get(d, name);

    return a ? strndup(a->data, (size_t)a->count) : NULL;
}

/* Copies text and frees it. Writes no terminating zero, and nothing unless all fits. */
static cudnnStatus_t get_text(char *text, int64_t asked, int64_t *count, void *values)
{
    *count = (int64_t)strlen(text);
    if (asked >= *count && values)
        memcpy(values, text, (size_t)*count);
    free(text);
    return OK;
}

cudnnStatus_t plan_get(struct descriptor *d, cudnnBackendAttributeName_t name,
                       int64_t asked, int64_t *count, void *values, bool *handled)
{
    *handled = true;
    switch ((int)name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS:
        return get_results(d, asked, count, values);
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
        return get_notes(d->engine, asked, count, values);
    case CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE:
        *count = d->engine->compiled;
        if (*count <= asked && *count && values)
            *(int32_t *)values = CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION;
        return OK;
    case CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE:
        return get_int(d->engine->workspace, asked, count, values);
    case CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT:
        return get_int(100, asked, count, values);
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
        return get_int(d->plan->engine->workspace, asked, count, values);
    case CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION:
        return get_text(plan_to_json(d->plan), asked, count, values);
    case CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION: {
        char *name_text = text_of(d, name);

        return get_text(name_text ? name_text : strdup(device_json), asked, count,
                        values);
    }
    default:
        break;
    }
    *handled = false;
    return OK;
}

static cudnnStatus_t finalize_device(const struct descriptor *d)
{
    char *json = text_of(d, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION);
    const struct attribute *id = descriptor_get(d, CUDNN_ATTR_DEVICEPROP_DEVICE_ID);
    int capability;
    cudnnStatus_t bad = json ? device_check_json(json, &capability) : OK;

    free(json);
    if (id && (*(const int32_t *)id->data < 0 || *(const int32_t *)id->data >= 16))
        return BAD("there is no device %d", *(const int32_t *)id->data);
    return bad;
}

static cudnnStatus_t finalize_engine(struct descriptor *d)
{
    int64_t index = descriptor_int(d, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, -1);
    const struct graph *g = descriptor_of(d, CUDNN_ATTR_ENGINE_OPERATION_GRAPH)->graph;

    for (int i = 0; i < NENGINE; i++)
        if (engines[i].index == index && suits(&engines[i], g) && !graph_unsupported(g))
            d->engine = &engines[i];
    if (!d->engine)
        return refuse(CUDNN_STATUS_NOT_SUPPORTED, "engine %lld does not take the graph",
                      (long long)index);
    return OK;
}

static int device_capability(const struct descriptor *plan)
{
    const struct descriptor *d =
        descriptor_of(plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP);
    char *json = d ? text_of(d, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION) : NULL;
    int capability = COMPUTE_CAPABILITY;

    if (json)
        (void)device_check_json(json, &capability);
    free(json);
    return capability;
}

static cudnnStatus_t finalize_plan(struct descriptor *d)
{
    const struct descriptor *c =
        descriptor_of(d, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
    char *json = text_of(d, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
    cudnnStatus_t bad = OK;

    if (!c == !json) {
        free(json);
        return refuse(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED,
                      "a plan wants an engine configuration or its text");
    }
    d->plan = calloc(1, sizeof(*d->plan));
    if (!d->plan)
        abort();
    d->plan->serial = atomic_fetch_add(&serials, 1) + 1;
    if (d->plan->serial >= PLANS_MAX)
        abort();
    d->plan->capability = device_capability(d);
    if (json) {
        bad = plan_from_json(json, engines, NENGINE, d->plan);
    } else {
        const struct descriptor *e = descriptor_of(c, CUDNN_ATTR_ENGINECFG_ENGINE);

        d->plan->engine = c->engine;
        d->plan->graph = *descriptor_of(e, CUDNN_ATTR_ENGINE_OPERATION_GRAPH)->graph;
    }
    free(json);
    if (!bad && d->plan->engine->broken)
        bad = refuse(CUDNN_STATUS_NOT_SUPPORTED, "engine %d cannot be built",
                     d->plan->engine->index);
    alive[d->plan->serial] = !bad;
    if (c && c->engine->compiled)
        note_compiled(c->engine);
    if (bad) {
        plan_free(d->plan);
        d->plan = NULL;
    }
    return bad;
}

static cudnnStatus_t finalize_pack(const struct descriptor *d)
{
    const struct attribute *ids = descriptor_get(d, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    const struct attribute *p = descriptor_get(d, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    const int64_t *id = ids->data;

    if (ids->count != p->count)
        return BAD("variant pack: %lld ids, %lld pointers", (long long)ids->count,
                   (long long)p->count);
    for (int64_t i = 0; i < ids->count; i++)
        for (int64_t j = 0; j < i; j++)
            if (id[i] == id[j])
                return BAD("variant pack: tensor %lld twice", (long long)id[i]);
    return OK;
}

cudnnStatus_t plan_finalize(struct descriptor *d)
{
    switch ((int)d->type) {
    case CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR:
        return finalize_device(d);
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
        return finalize_engine(d);
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
        d->engine = descriptor_of(d, CUDNN_ATTR_ENGINECFG_ENGINE)->engine;
        return OK;
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
        return finalize_plan(d);
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
        return finalize_pack(d);
    default:
        return OK;
    }
}
