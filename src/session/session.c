/* Start and end of sessions: the device, programs that fit it, and initial weights. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "dist/group.h"
#include "graph/flat.h"
#include "models/init.h"
#include "session/devices.h"
#include "session/fit.h"
#include "session/parts.h"
#include "session/state.h"

/*
 * Compiles with the batch size of DATA.BATCH_SIZE auto. While kernels are timed,
 * libraries load code into device memory; if that exceeds the reserve, the batch size is
 * chosen again.
 */
static void compile_fitting(struct session *s, const struct session_options *o)
{
    const struct config *cfg = s->cfg;
    struct config fitted = *cfg;
    struct strbuf why = STRBUF_INIT;

    for (int left = 1; left >= 0; left--) {
        fitted.data.batch_size = fit_batch(s, o);
        s->cfg = &fitted;
        session_compile(s, o);
        if (!left || fit_check(s, &why))
            break;
        session_drop(s);
        s->cfg = cfg;
        log_info("%s", why.buf);
    }
    s->cfg = cfg;
    strbuf_release(&why);
}

/*
 * If claims time their candidates, first compiles without timing to see whether the run
 * fits. If not, its programs stay, so that session_alloc or a summary can report them.
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
    bool turns; /* the first process times kernels; the others read its plans */

    *s = (struct session){
        .cfg = cfg, .keep_declines = o->keep_declines, .observe = o->observe};
    s->backend = device_options(cfg, &d);
    d.kernels = o->kernels;
    turns = dist_world() > 1 && s->backend->hurry;
    began = clock_now();
    s->device = s->backend->open(&d);
    s->open_seconds = clock_now() - began;
    plan_meet(cfg);
    if (o->train)
        plan_check_pairs(cfg);
    if (turns && !dist_is_first())
        dist_barrier();
    if (cfg->data.batch_size == BATCH_SIZE_AUTO)
        compile_fitting(s, o);
    else if (fits_in_a_hurry(s, o))
        session_compile(s, o);
    if (turns && dist_is_first())
        dist_barrier();
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
    };

    plan_set_scales(&s->plan, &c);
    check_memory(s);
    for (int i = 0; i < SESSION_WEIGHTS; i++)
        s->eval_metrics[i] =
            s->backend->alloc(s->device, session_bytes(s, MEMORY_METRICS));
    session_bind(s);
    inflight_init(&s->inflight, s->backend, s->device, session_slot_size(s));
    s->inflight.lockstep = s->plan.world > 1;
    s->host = xcalloc((size_t)f->weights_len, sizeof(float));
    init_weights(f, (uint64_t)s->cfg->seed, s->host);
    if (session_ema_on_host(s))
        s->ema = xcalloc((size_t)f->weights_len, sizeof(float));
    session_set(s, MEMORY_WEIGHTS, s->host);
    if (s->base[MEMORY_CONTROL])
        session_set_control(s, &c);
    session_refresh(s);
    if (session_has_ema(s)) {
        session_get(s, MEMORY_WEIGHTS, s->host);
        session_set(s, MEMORY_EMA, s->host);
    }
}

void session_release(struct session *s)
{
    if (s->inflight.backend) {
        inflight_drain(&s->inflight);
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
    free(s->ema);
    free(s->unknown);
    free(s->thresholds);
    free(s->host);
    *s = (struct session){0};
}

void session_mix(struct session *s, bool mix)
{
    mix = mix && s->plan.mix;
    if (mix == s->mixing)
        return;
    s->mixing = mix;
    inflight_drain(&s->inflight);
    for (int i = SESSION_TRAIN; i <= SESSION_HEAD_TAIL; i++)
        session_drop_program(s, (enum session_program)i);
    session_compile_train(s);
    session_bind(s);
    session_refresh(s);
}

void session_hold(struct session *s, bool hold)
{
    s->holds = hold && s->phases;
    if (hold || !s->phases)
        return;
    s->phases = false;
    inflight_drain(&s->inflight);
    for (int i = SESSION_HEAD; i <= SESSION_HEAD_TAIL; i++)
        session_drop_program(s, (enum session_program)i);
    session_refresh(s); /* the weights have changed since program TRAIN packed them */
}
