/* What a session is made of: its device, its programs and their memory. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "graph/flat.h"
#include "models/init.h"
#include "train/devices.h"
#include "train/fit.h"
#include "train/session_parts.h"

static void compile(struct session *s, enum session_program which)
{
    static const enum build_kind kind[] = {
        [SESSION_TRAIN] = BUILD_TRAIN,
        [SESSION_MICRO] = BUILD_MICRO,
        [SESSION_EVAL] = BUILD_EVAL,
        [SESSION_EVAL_EMA] = BUILD_EVAL,
    };
    struct compile_options o = {.keep_declines = s->keep_declines};

    if (which == SESSION_TRAIN)
        o.share = s->program[SESSION_MICRO]; /* whose packed weights it refreshes */
    build_init(&s->build[which], s->cfg, &s->plan, kind[which], s->mixing);
    s->program[which] = program_compile(s->build[which].graph, s->backend, s->device, &o);
}

static void compile_train(struct session *s)
{
    if (s->plan.accumulation.group > 1)
        compile(s, SESSION_MICRO);
    compile(s, SESSION_TRAIN);
}

void session_compile(struct session *s, const struct session_options *o)
{
    plan_init(&s->plan, s->cfg, o->images, o->class_weight, s->backend, s->device);
    s->mixing = s->plan.mix;
    if (o->train)
        compile_train(s);
    if (o->eval)
        compile(s, SESSION_EVAL);
    if (o->eval && s->cfg->train.ema.enable)
        compile(s, SESSION_EVAL_EMA);
}

/* With the batch that DATA.BATCH_SIZE auto means. */
static void compile_fitting(struct session *s, const struct session_options *o)
{
    const struct config *cfg = s->cfg;
    struct config with = *cfg;

    with.data.batch_size = fit_batch(s, o);
    s->cfg = &with;
    session_compile(s, o);
    s->cfg = cfg;
}

/*
 * Where claims time their candidates, what does not fit is found before that: then the
 * programs that say so stay, for session_alloc or a summary to tell.
 */
static bool fits_in_a_hurry(struct session *s, const struct session_options *o)
{
    struct strbuf why = STRBUF_INIT;
    bool fits;

    if (!s->backend->hurry || !s->backend->hurry(s->device, true))
        return true;
    session_compile(s, o);
    fits = fit_check(s, &why);
    if (fits)
        session_drop(s);
    (void)s->backend->hurry(s->device, false);
    strbuf_release(&why);
    return fits;
}

void session_init(struct session *s, const struct config *cfg,
                  const struct session_options *o)
{
    struct device_options d;
    double began;

    *s = (struct session){.cfg = cfg, .keep_declines = o->keep_declines};
    s->backend = device_options(cfg, &d);
    began = clock_now();
    s->device = s->backend->open(&d);
    s->open_seconds = clock_now() - began;
    if (cfg->data.batch_size == BATCH_SIZE_AUTO)
        compile_fitting(s, o);
    else if (fits_in_a_hurry(s, o))
        session_compile(s, o);
}

const struct flat *session_flat(const struct session *s)
{
    int which = s->program[SESSION_TRAIN] ? SESSION_TRAIN : SESSION_EVAL;

    return s->build[which].graph->flat;
}

/* The average is in host memory if that is wanted, or if no program averages. */
static bool host_average(const struct session *s)
{
    return s->cfg->train.ema.enable &&
           (s->cfg->train.ema.device == EMA_DEVICE_CPU || !s->program[SESSION_TRAIN]);
}

/* Where an average in host memory is copied to be evaluated: the end of the arena. */
static size_t average_offset(const struct session *s)
{
    size_t need = program_need(s->program[SESSION_EVAL], MEMORY_ARENA);

    return (need + 63) / 64 * 64;
}

size_t session_bytes(const struct session *s, enum memory m)
{
    size_t most = 0, sum = 0;

    for (int i = 0; i < SESSION_PROGRAMS; i++) {
        size_t need = s->program[i] ? program_need(s->program[i], m) : 0;

        most = need > most ? need : most;
        sum += need;
    }
    if (m == MEMORY_ARENA && s->program[SESSION_EVAL_EMA] && host_average(s)) {
        size_t need = average_offset(s) +
                      program_need(s->program[SESSION_EVAL_EMA], MEMORY_WEIGHTS);

        most = need > most ? need : most;
    }
    return m == MEMORY_DERIVED ? sum : most;
}

/* Grows memory `m` to what the programs need; what was in it is lost. */
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

void *session_average(const struct session *s)
{
    return host_average(s) ? (char *)s->base[MEMORY_ARENA] + average_offset(s)
                           : s->base[MEMORY_EMA];
}

static void bind(struct session *s, enum session_program which)
{
    struct program *p = s->program[which];
    void *base[MEMORY_COUNT];

    if (!p)
        return;
    memcpy(base, s->base, sizeof(base));
    if (!s->derived[which] && program_need(p, MEMORY_DERIVED))
        s->derived[which] = s->backend->alloc(s->device, program_need(p, MEMORY_DERIVED));
    base[MEMORY_DERIVED] = s->derived[which];
    if (which == SESSION_EVAL)
        base[MEMORY_METRICS] = s->eval_metrics[SESSION_RAW];
    if (which == SESSION_EVAL_EMA) {
        base[MEMORY_METRICS] = s->eval_metrics[SESSION_EMA];
        base[MEMORY_WEIGHTS] = session_average(s);
    }
    program_bind(p, base);
}

static void bind_all(struct session *s)
{
    for (int m = 0; m < MEMORY_COUNT; m++)
        grow(s, (enum memory)m);
    for (int i = 0; i < SESSION_PROGRAMS; i++)
        bind(s, (enum session_program)i);
}

/* A batch of any of the programs, pixels and labels. */
static size_t slot_size(const struct session *s)
{
    size_t most = 0;

    for (int i = 0; i < SESSION_PROGRAMS; i++) {
        const struct build *b = &s->build[i];
        size_t need = s->program[i] ? inflight_slot_size(tensor_size(b->pixels),
                                                         tensor_size(b->labels))
                                    : 0;

        most = need > most ? need : most;
    }
    return most;
}

size_t session_slot_bytes(const struct session *s)
{
    return inflight_bytes(s->backend, slot_size(s));
}

bool session_has_ema(const struct session *s)
{
    return s->average || s->base[MEMORY_EMA];
}

static void check_memory(const struct session *s)
{
    struct strbuf why = STRBUF_INIT;

    if (!fit_check(s, &why))
        die("%s", why.buf);
}

void session_alloc(struct session *s)
{
    const struct flat *f = session_flat(s);
    struct control c = {
        .seed = (uint64_t)s->cfg->seed,
        .loss_scale = s->plan.first_scale,
    };

    check_memory(s);
    for (int i = 0; i < SESSION_WEIGHTS; i++)
        s->eval_metrics[i] =
            s->backend->alloc(s->device, session_bytes(s, MEMORY_METRICS));
    bind_all(s);
    inflight_init(&s->inflight, s->backend, s->device, slot_size(s));
    s->host = xcalloc((size_t)f->weights_len, sizeof(float));
    init_weights(f, (uint64_t)s->cfg->seed, s->host);
    if (host_average(s))
        s->average = xcalloc((size_t)f->weights_len, sizeof(float));
    session_set(s, MEMORY_WEIGHTS, s->host);
    if (s->program[SESSION_TRAIN])
        session_set_control(s, &c);
    session_refresh(s);
    if (session_has_ema(s)) {
        session_get(s, MEMORY_WEIGHTS, s->host);
        session_set(s, MEMORY_EMA, s->host);
    }
}

static void drop(struct session *s, enum session_program which)
{
    program_free(s->program[which]);
    s->program[which] = NULL;
    if (s->build[which].graph)
        build_release(&s->build[which]);
    if (s->derived[which])
        s->backend->free(s->device, s->derived[which]);
    s->derived[which] = NULL;
}

void session_drop(struct session *s)
{
    for (int i = 0; i < SESSION_PROGRAMS; i++)
        drop(s, (enum session_program)i);
}

void session_release(struct session *s)
{
    if (s->inflight.backend) {
        session_drain(s);
        inflight_release(&s->inflight);
    }
    session_drop(s);
    for (int m = 0; m < MEMORY_COUNT; m++)
        if (s->base[m])
            s->backend->free(s->device, s->base[m]);
    for (int i = 0; i < SESSION_WEIGHTS; i++)
        if (s->eval_metrics[i])
            s->backend->free(s->device, s->eval_metrics[i]);
    if (s->device)
        s->backend->close(s->device);
    free(s->average);
    free(s->host);
    *s = (struct session){0};
}

void session_mix(struct session *s, bool mix)
{
    mix = mix && s->plan.mix;
    if (mix == s->mixing)
        return;
    s->mixing = mix;
    session_drain(s);
    drop(s, SESSION_TRAIN);
    drop(s, SESSION_MICRO);
    compile_train(s);
    bind_all(s);
    session_refresh(s);
}
