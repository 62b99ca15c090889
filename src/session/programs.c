/* The programs of a session and the memory they share. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/flat.h"
#include "models/layers.h"
#include "session/head.h"
#include "session/parts.h"

/* True if a parameter belongs to the layer of that name. */
static bool is_layer(const struct flat *f, const char *name)
{
    const char *const layers[] = {name, NULL};

    for (int i = 0; i < f->nsegment; i++)
        if (layers_contain(layers, f->segment[i].tensor->name))
            return true;
    return false;
}

/* Each pattern of TRAIN.FREEZE must match a parameter, and one parameter must stay
 * trained. */
static void check_freeze(const struct session *s, const struct build *t)
{
    for (int i = 0; i < s->plan.nfreeze; i++) {
        const char *p = s->plan.freeze[i];
        bool layer = is_layer(t->graph->flat, p);

        if (!t->graph->freeze_hits[i])
            config_refuse(s->cfg, KEYS("TRAIN.FREEZE"),
                          "TRAIN.FREEZE: no parameter of %s matches '%s'%s%s%s",
                          s->cfg->model.name, p, layer ? " (did you mean '" : "",
                          layer ? p : "", layer ? ".*'?)" : "");
    }
    if (!t->nsegment)
        config_refuse(s->cfg, KEYS("TRAIN.FREEZE"),
                      "TRAIN.FREEZE leaves nothing to train");
}

/* Each pattern of the head must match a parameter, the head must be trained, and
 * something else, too. */
static void check_head(const struct session *s, const struct build *t)
{
    const struct plan *p = &s->plan;

    for (int i = 0; i < p->nhead; i++)
        if (!t->graph->head_hits[i] && s->cfg->train.freeze_head.n)
            config_refuse(s->cfg, KEYS("TRAIN.FREEZE_HEAD"),
                          "TRAIN.FREEZE_HEAD: no trained parameter of %s matches '%s'%s",
                          s->cfg->model.name, p->head[i],
                          is_layer(t->graph->flat, p->head[i]) ? " (a layer: add '.*')"
                                                               : "");
    if (!t->nsegment)
        config_refuse(
            s->cfg, KEYS("TRAIN.FREEZE_EPOCHS", "TRAIN.FREEZE_HEAD"),
            "TRAIN.FREEZE_EPOCHS: %s has no classifier that is trained; name the "
            "parameters to train first with TRAIN.FREEZE_HEAD",
            s->cfg->model.name);
    if (t->nsegment == s->build[SESSION_TRAIN].nsegment)
        config_refuse(
            s->cfg, KEYS("TRAIN.FREEZE_EPOCHS", "TRAIN.FREEZE_HEAD"),
            "TRAIN.FREEZE_EPOCHS freezes nothing: all trained parameters belong "
            "to the head");
}

/* Each pattern of AMP.FP32 and AMP.HALF must match a layer. */
static void check_rules(const struct session *s, const char *key,
                        const struct str_list *list, const int *hits)
{
    for (int i = 0; i < list->n; i++)
        if (!hits[i])
            config_refuse(s->cfg, KEYS(key),
                          "%s: no layer of %s with selectable precision matches '%s' "
                          "('trainc summary' lists them)",
                          key, s->cfg->model.name, list->item[i]);
}

/* Also outputs the inputs of layers that could be int8. */
static void observe(struct session *s, struct build *t)
{
    struct quantized_layer *list;
    int n = quantized_layers(t->graph, t->logits, &s->plan.quantized, &list);

    for (int i = 0; i < n; i++) {
        struct tensor *x = t->graph->tensor[list[i].input->id];

        if (!x->root)
            graph_output(t->graph, x);
    }
    free(list);
}

bool session_holds(enum session_program index)
{
    return index == SESSION_HEAD || index == SESSION_HEAD_MICRO ||
           index == SESSION_HEAD_TAIL;
}

static void compile(struct session *s, enum session_program index)
{
    static const enum build_kind kind[] = {
        [SESSION_TRAIN] = BUILD_TRAIN,      [SESSION_MICRO] = BUILD_MICRO,
        [SESSION_TAIL] = BUILD_TRAIN,       [SESSION_HEAD] = BUILD_TRAIN,
        [SESSION_HEAD_MICRO] = BUILD_MICRO, [SESSION_HEAD_TAIL] = BUILD_TRAIN,
        [SESSION_EVAL] = BUILD_EVAL,        [SESSION_EVAL_EMA] = BUILD_EVAL,
        [SESSION_CAM] = BUILD_CAM,          [SESSION_STATS] = BUILD_STATS,
    };
    struct compile_options o = {.keep_declines = s->keep_declines,
                                .redzones = s->cfg->debug.redzones};
    struct plan plan = s->plan;
    bool learns = kind[index] == BUILD_TRAIN || kind[index] == BUILD_MICRO;

    if (index == SESSION_TRAIN)
        o.share = s->program[SESSION_MICRO]; /* shares its packed weights */
    if (index == SESSION_HEAD)
        o.share = s->program[SESSION_HEAD_MICRO];
    if (index == SESSION_TAIL || index == SESSION_HEAD_TAIL)
        plan.batch = plan.tail;
    if (index == SESSION_CAM)
        plan.level =
            AMP_O0; /* gradients are too small for 16 bits without a loss scale */
    plan.holds = session_holds(index);
    build_init(&s->build[index], &plan, kind[index], s->mixing);
    if (kind[index] == BUILD_STATS && !s->build[index].nstat) {
        build_release(&s->build[index]);
        return;
    }
    check_rules(s, "AMP.FP32", &s->cfg->amp.fp32, s->build[index].rules.f32_hits);
    check_rules(s, "AMP.HALF", &s->cfg->amp.half, s->build[index].rules.half_hits);
    if (s->observe)
        observe(s, &s->build[index]);
    if (plan.holds)
        check_head(s, &s->build[index]);
    else if (learns)
        check_freeze(s, &s->build[index]);
    if (learns && !plan.holds)
        optimizer_groups_check_matches(s->cfg, &s->plan.groups, s->build[index].graph);
    for (int i = 0; i < SESSION_PROGRAMS; i++)
        if (s->program[i] &&
            !flat_same(s->build[i].graph->flat, s->build[index].graph->flat))
            BUG("weights lie at other places in program %d than in %d", index, i);
    s->program[index] = program_compile(s->build[index].graph, s->backend, s->device, &o);
}

void session_compile_train(struct session *s)
{
    if (s->plan.accumulation.group > 1)
        compile(s, SESSION_MICRO);
    compile(s, SESSION_TRAIN);
    if (s->plan.tail)
        compile(s, SESSION_TAIL);
    if (!s->phases)
        return;
    if (s->plan.accumulation.group > 1)
        compile(s, SESSION_HEAD_MICRO);
    compile(s, SESSION_HEAD);
    if (s->plan.tail)
        compile(s, SESSION_HEAD_TAIL);
}

void session_compile(struct session *s, const struct session_options *o)
{
    plan_init(&s->plan, s->cfg, o->images, &o->factors, s->backend, s->device);
    s->plan.cam = o->cam_stage;
    s->mixing = s->plan.mix;
    if (s->plan.quantized.enable && (o->train || s->plan.nout))
        config_refuse(s->cfg, KEYS("QUANT.ENABLE"),
                      "QUANT.ENABLE: 8-bit models can only be evaluated: they support "
                      "neither training nor feature extraction");
    s->phases = o->train && o->phases && s->plan.frozen_updates;
    if (s->phases)
        head_choose(&s->plan, s->cfg);
    if (o->train)
        session_compile_train(s);
    if (o->stats || (o->train && s->plan.swa))
        compile(s, SESSION_STATS);
    if (o->eval)
        compile(s, SESSION_EVAL);
    if (o->eval && s->plan.ema)
        compile(s, SESSION_EVAL_EMA);
    if (o->cam)
        compile(s, SESSION_CAM);
}

void session_drop_program(struct session *s, enum session_program index)
{
    program_free(s->program[index]);
    s->program[index] = NULL;
    if (s->build[index].graph)
        build_release(&s->build[index]);
    if (s->derived[index])
        s->backend->free(s->device, s->derived[index]);
    s->derived[index] = NULL;
}

void session_drop(struct session *s)
{
    for (int i = 0; i < SESSION_PROGRAMS; i++)
        session_drop_program(s, (enum session_program)i);
    plan_release(&s->plan);
}

static const struct graph *graph_of(const struct session *s)
{
    return s->build[s->program[SESSION_TRAIN] ? SESSION_TRAIN : SESSION_EVAL].graph;
}

const struct flat *session_flat(const struct session *s)
{
    return graph_of(s)->whole;
}

const struct flat *session_device_flat(const struct session *s)
{
    return graph_of(s)->flat;
}

bool session_ema_on_host(const struct session *s)
{
    return s->plan.ema && (!s->plan.ema_on_device || !s->program[SESSION_TRAIN]);
}

/* An EMA in host memory is copied to the end of the arena before it is evaluated. */
static size_t ema_offset(const struct session *s)
{
    size_t need = program_need(s->program[SESSION_EVAL], MEMORY_ARENA);

    return (need + 63) / 64 * 64;
}

size_t session_bytes(const struct session *s, enum memory m)
{
    size_t largest = 0, sum = 0;

    for (int i = 0; i < SESSION_PROGRAMS; i++) {
        size_t need = s->program[i] ? program_need(s->program[i], m) : 0;

        largest = need > largest ? need : largest;
        sum += need;
    }
    if (m == MEMORY_ARENA && s->program[SESSION_EVAL_EMA] && session_ema_on_host(s)) {
        size_t need =
            ema_offset(s) + program_need(s->program[SESSION_EVAL_EMA], MEMORY_WEIGHTS);

        largest = need > largest ? need : largest;
    }
    return m == MEMORY_DERIVED ? sum : largest;
}

bool session_has_ema(const struct session *s)
{
    return (s->ema || s->base[MEMORY_EMA]) && (!s->plan.swa || s->averaged);
}

/* Grows memory `m` to what the programs need; its contents are lost. */
static void grow(struct session *s, enum memory m)
{
    size_t need = session_bytes(s, m);

    if (m == MEMORY_DERIVED || m == MEMORY_NONE || need <= s->size[m])
        return;
    if (s->base[m])
        s->backend->free(s->device, s->base[m]);
    s->base[m] = s->backend->alloc(s->device, need);
    s->size[m] = need;
}

void *session_ema(const struct session *s)
{
    return session_ema_on_host(s) ? (char *)s->base[MEMORY_ARENA] + ema_offset(s)
                                  : s->base[MEMORY_EMA];
}

static void bind(struct session *s, enum session_program index)
{
    struct program *p = s->program[index];
    void *base[MEMORY_COUNT];

    if (!p)
        return;
    memcpy(base, s->base, sizeof(base));
    if (!s->derived[index] && program_need(p, MEMORY_DERIVED))
        s->derived[index] = s->backend->alloc(s->device, program_need(p, MEMORY_DERIVED));
    base[MEMORY_DERIVED] = s->derived[index];
    if (index == SESSION_EVAL)
        base[MEMORY_METRICS] = s->eval_metrics[SESSION_RAW];
    if (index == SESSION_EVAL_EMA) {
        base[MEMORY_METRICS] = s->eval_metrics[SESSION_EMA];
        base[MEMORY_WEIGHTS] = session_ema(s);
    }
    program_bind(p, base);
}

void session_bind(struct session *s)
{
    for (int m = 0; m < MEMORY_COUNT; m++)
        grow(s, (enum memory)m);
    for (int i = 0; i < SESSION_PROGRAMS; i++)
        bind(s, (enum session_program)i);
}

const struct tensor *session_batch_array(const struct build *b, enum batch_array index)
{
    const struct tensor *const array[] = {
        [BATCH_PIXELS] = b->pixels, [BATCH_LABELS] = b->labels,
        [BATCH_KEYS] = b->keys,     [BATCH_JOBS] = b->jobs,
        [BATCH_SHARES] = b->shares, [BATCH_TARGETS] = b->targets,
        [BATCH_SEED] = b->seed,     [BATCH_VOTE] = b->vote,
    };

    return array[index];
}

static size_t slot_size(const struct build *b)
{
    size_t size[BATCH_ARRAYS] = {0};

    for (int i = 0; i < BATCH_ARRAYS; i++) {
        const struct tensor *t = session_batch_array(b, (enum batch_array)i);

        size[i] = t ? tensor_size(t) : 0;
    }
    return inflight_slot_size(size);
}

size_t session_slot_size(const struct session *s)
{
    size_t largest = 0;

    for (int i = 0; i < SESSION_PROGRAMS; i++) {
        size_t size = s->program[i] ? slot_size(&s->build[i]) : 0;

        largest = size > largest ? size : largest;
    }
    return largest;
}

size_t session_slot_bytes(const struct session *s)
{
    return inflight_bytes(s->backend, session_slot_size(s));
}
