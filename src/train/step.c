#include "train/step.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/half.h"
#include "base/log.h"
#include "graph/flat.h"
#include "models/init.h"
#include "ops/ema_formula.h"
#include "ops/update.h"
#include "train/devices.h"
#include "train/fit.h"

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

static void *average_on_device(const struct session *s)
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
        base[MEMORY_WEIGHTS] = average_on_device(s);
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

static void take_batch(struct session *s, enum session_program which,
                       const struct lent_batch *batch)
{
    const struct build *b = &s->build[which];
    const struct program *p = s->program[which];
    struct inflight_place to = {program_data(p, b->pixels), program_data(p, b->labels),
                                tensor_size(b->pixels), tensor_size(b->labels)};

    inflight_room(&s->inflight);
    inflight_input(&s->inflight, &to, batch);
}

static void run(struct session *s, enum session_program which)
{
    static const char *const name[] = {
        [SESSION_TRAIN] = "training step",
        [SESSION_MICRO] = "accumulation step",
        [SESSION_EVAL] = "evaluation step",
        [SESSION_EVAL_EMA] = "evaluation step of the average",
    };

    if (s->backend->range)
        s->backend->range(s->device, name[which]);
    program_run(s->program[which]);
    if (s->backend->range)
        s->backend->range(s->device, NULL);
}

/* The device's rule, with the device's own decision to skip. */
static void step_average(struct session *s)
{
    struct control c = session_control(s);
    float rate = (float)(1 - c.ema_decay), *e = s->average;
    int64_t len = session_flat(s)->weights_len;

    if (c.overflow)
        return;
    session_get(s, MEMORY_WEIGHTS, s->host);
    for (int64_t i = 0; i < len; i++)
        e[i] = ema_element(e[i], s->host[i], rate);
}

bool session_step_lent(struct session *s, const struct lent_batch *b)
{
    bool last = accumulation_ends(&s->plan.accumulation, s->micro++);
    enum session_program which = last ? SESSION_TRAIN : SESSION_MICRO;

    take_batch(s, which, b);
    run(s, which);
    inflight_ran(&s->inflight, last ? s->base[MEMORY_CONTROL] : NULL,
                 s->base[MEMORY_METRICS]);
    if (last && s->average)
        step_average(s);
    return last;
}

bool session_step(struct session *s, const void *pixels, const void *labels)
{
    return session_step_lent(s, &(struct lent_batch){.pixels = pixels, .labels = labels});
}

bool session_next_snapshot(struct session *s, struct snapshot *to)
{
    return inflight_next(&s->inflight, to);
}

void session_drain(struct session *s)
{
    inflight_drain(&s->inflight);
}

void *session_host_alloc(struct session *s, size_t size)
{
    return s->backend->async ? s->backend->async->host_alloc(s->device, size)
                             : xalloc_aligned(size);
}

void session_host_free(struct session *s, void *p)
{
    if (s->backend->async)
        s->backend->async->host_free(s->device, p);
    else
        free(p);
}

struct control session_control(const struct session *s)
{
    struct control c;

    s->backend->copy_out(s->device, &c, s->base[MEMORY_CONTROL], sizeof(c));
    return c;
}

void session_set_control(struct session *s, const struct control *c)
{
    s->backend->copy_in(s->device, s->base[MEMORY_CONTROL], c, sizeof(*c));
    s->micro = c->micro;
}

static struct metrics get_metrics(const struct session *s, const void *from)
{
    struct metrics m;

    s->backend->copy_out(s->device, &m, from, sizeof(m));
    return m;
}

struct metrics session_metrics(const struct session *s)
{
    return get_metrics(s, s->base[MEMORY_METRICS]);
}

void session_set_metrics(struct session *s, const struct metrics *m)
{
    s->backend->copy_in(s->device, s->base[MEMORY_METRICS], m, sizeof(*m));
}

static size_t flat_bytes(const struct session *s, enum memory m)
{
    const struct flat *f = session_flat(s);
    bool all = m == MEMORY_WEIGHTS || m == MEMORY_EMA;

    return (size_t)(all ? f->weights_len : f->param_len) * sizeof(float);
}

void session_get(const struct session *s, enum memory m, float *dst)
{
    if (m == MEMORY_EMA && s->average)
        memcpy(dst, s->average, flat_bytes(s, m));
    else
        s->backend->copy_out(s->device, dst, s->base[m], flat_bytes(s, m));
}

void session_set(struct session *s, enum memory m, const float *src)
{
    if (m == MEMORY_EMA && s->average)
        memcpy(s->average, src, flat_bytes(s, m));
    else
        s->backend->copy_in(s->device, s->base[m], src, flat_bytes(s, m));
}

static void round_weights(struct session *s)
{
    const struct build *b = &s->build[SESSION_TRAIN];
    int round = s->plan.half == DTYPE_F16 ? UPDATE_ROUND_F16 : UPDATE_ROUND_BF16;

    session_get(s, MEMORY_WEIGHTS, s->host);
    for (int i = 0; i < b->nsegment; i++) {
        const struct update_segment *g = &b->segment[i];

        for (int64_t k = g->offset; g->round && k < g->offset + g->len; k++)
            s->host[k] = update_rounded(s->host[k], round);
    }
    session_set(s, MEMORY_WEIGHTS, s->host);
}

void session_refresh(struct session *s)
{
    if (s->program[SESSION_TRAIN] && s->plan.level == AMP_O3)
        round_weights(s);
    if (s->program[SESSION_TRAIN])
        program_refresh(s->program[SESSION_TRAIN]); /* and that of micro-batches */
}

void session_eval_begin(struct session *s, bool average)
{
    size_t size = session_bytes(s, MEMORY_METRICS);
    void *zero = xcalloc(1, size);

    s->eval_ema = average && session_has_ema(s);
    for (int i = 0; i < SESSION_WEIGHTS; i++)
        s->backend->copy_in(s->device, s->eval_metrics[i], zero, size);
    free(zero);
    program_refresh(s->program[SESSION_EVAL]);
    if (!s->eval_ema)
        return;
    if (s->average)
        s->backend->copy_in(s->device, average_on_device(s), s->average,
                            flat_bytes(s, MEMORY_EMA));
    program_refresh(s->program[SESSION_EVAL_EMA]);
}

void session_eval_lent(struct session *s, const struct lent_batch *b)
{
    take_batch(s, SESSION_EVAL, b); /* which is there for both */
    run(s, SESSION_EVAL);
    if (s->eval_ema)
        run(s, SESSION_EVAL_EMA);
    inflight_ran(&s->inflight, NULL, NULL);
}

void session_eval(struct session *s, const void *pixels, const void *labels)
{
    session_eval_lent(s, &(struct lent_batch){.pixels = pixels, .labels = labels});
}

void session_eval_matrix(const struct session *s, enum session_weights which,
                         int64_t *matrix)
{
    int64_t k = session_classes(s);
    size_t size = sizeof(struct metrics) + (size_t)(k * k) * sizeof(*matrix);
    char *all = xmalloc(size);

    s->backend->copy_out(s->device, all, s->eval_metrics[which], size);
    memcpy(matrix, all + sizeof(struct metrics), size - sizeof(struct metrics));
    free(all);
}

void session_logits(struct session *s, float *dst)
{
    const struct tensor *z = s->build[SESSION_EVAL].logits;
    int64_t n = tensor_len(z);
    uint16_t *half;

    session_drain(s);
    if (z->dtype == DTYPE_F32) {
        s->backend->copy_out(s->device, dst, program_data(s->program[SESSION_EVAL], z),
                             tensor_size(z));
        return;
    }
    half = xmalloc(tensor_size(z));
    s->backend->copy_out(s->device, half, program_data(s->program[SESSION_EVAL], z),
                         tensor_size(z));
    for (int64_t i = 0; i < n; i++)
        dst[i] = z->dtype == DTYPE_F16 ? fp16_to_float(half[i]) : bf16_to_float(half[i]);
    free(half);
}

int64_t session_classes(const struct session *s)
{
    return s->cfg->model.num_classes;
}

struct metrics session_eval_metrics(const struct session *s, enum session_weights which)
{
    return get_metrics(s, s->eval_metrics[which]);
}
