/* Advice of trainc profile: one function per rule, which appends its figures. */
#include <string.h>

#include "base/cores.h"
#include "cmd/profile.h"
#include "ops/reference.h"
#include "train/data_config.h"
#include "train/data_wait.h"

static const double much_wait = 0.05, much_loader = 0.2, much_between = 0.1,
                    much_update = 0.2, much_reference = 0.02, much_short = 0.3,
                    short_cpu = 30e-6, short_gpu = 5e-6, far_from_floor = 4,
                    much_step = 0.04;

/* Appends a sentence without final period if the rule applies. */
typedef void rule(const struct profile *p, struct strbuf *s);

static double wall(const struct profile *p)
{
    return p->ended - p->began;
}

static bool on_cpu(const struct profile *p)
{
    return !p->session.backend->async;
}

/* Returns the fraction of the kernel time that is spent in steps for which `is` is true. */
static double time_share(const struct profile *p,
                         bool (*is)(const struct profile *p,
                                    const struct profile_step *s))
{
    const struct profile_step *s;
    double part = 0;

    for (int k = 0; (s = profile_step_at(p, k)); k++)
        part += is(p, s) ? profile_step_total(s) : 0;
    return part / profile_steps_sum(p);
}

static void wait_for_data(const struct profile *p, struct strbuf *s)
{
    bool images = p->cfg->data.cache > CACHE_ENCODED;
    struct data_wait w = {.seconds = wall(p),
                          .waited = p->waited,
                          .stages = p->loader.stages,
                          .workers = data_workers(p->cfg),
                          .holds_images = images,
                          .holds_files = images || p->feed.train->hold,
                          .cores = usable_cores()};

    if (p->waited < much_wait * wall(p))
        return;
    strbuf_addf(s, "training spends %.0f %% of the time waiting for data: ",
                100 * p->waited / wall(p));
    data_wait_advice(s, &w);
}

static void loader_takes_cores(const struct profile *p, struct strbuf *s)
{
    struct stage_times work = p->loader.stages;
    double cores;

    work.seconds[STAGE_READ] = 0; /* waits for a disk */
    work.seconds[STAGE_COPY] = 0; /* does not run in the loader */
    cores = stage_times_sum(&work) / wall(p);
    if (!on_cpu(p) || cores < much_loader * usable_cores())
        return;
    strbuf_addf(
        s,
        "the loader uses %.1f of %d cores, which training needs, mostly for %s: use "
        "DATA.CACHE decoded or trainc pack --size N",
        cores, usable_cores(), stage_name(stage_slowest(&work)));
}

static void slow_type(const struct profile *p, struct strbuf *s)
{
    const struct session *n = &p->session;

    if (n->plan.amp_slow)
        strbuf_addf(s, "this device emulates %s: AMP_ENABLE False is faster",
                    n->plan.compute);
    else if (n->plan.level == AMP_O0 &&
             n->backend->has_dtype(n->device, n->backend->preferred_half))
        strbuf_addf(s,
                    "training runs in fp32, but this device supports %s: set AMP_ENABLE "
                    "True",
                    dtype_name(n->backend->preferred_half));
}

static bool is_reference(const struct profile *p, const struct profile_step *s)
{
    (void)p;
    return s->region->kernel == &kernel_reference;
}

static void reference(const struct profile *p, struct strbuf *s)
{
    double part = time_share(p, is_reference);

    if (part >= much_reference)
        strbuf_addf(s,
                    "%.0f %% of the kernel time is spent in plain-C reference kernels%s",
                    100 * part,
                    strcmp(p->session.backend->name, "ref") != 0
                        ? ": these ops have no fast kernel on this device"
                        : ": DEVICE cpu has fast kernels");
}

static bool is_short(const struct profile *p, const struct profile_step *s)
{
    return s->seconds < (on_cpu(p) ? short_cpu : short_gpu);
}

static void short_steps(const struct profile *p, struct strbuf *s)
{
    double part = time_share(p, is_short);

    if (part >= much_short)
        strbuf_addf(
            s,
            "%.0f %% of the kernel time is spent in calls shorter than %.0f us, "
            "where launch overhead dominates: increase DATA.BATCH_SIZE (now %lld)",
            100 * part, 1e6 * (on_cpu(p) ? short_cpu : short_gpu),
            (long long)p->session.plan.batch);
}

static bool is_update(const struct profile *p, const struct profile_step *s)
{
    (void)p;
    return s->region->anchor->phase == PHASE_UPDATE;
}

static void update_phase(const struct profile *p, struct strbuf *s)
{
    double part = time_share(p, is_update);

    if (part >= much_update)
        strbuf_addf(s,
                    "the optimizer takes %.0f %% of the kernel time, independent of the "
                    "batch size: increase DATA.BATCH_SIZE or TRAIN.ACCUMULATION_STEPS",
                    100 * part);
}

static void between_steps(const struct profile *p, struct strbuf *s)
{
    double part = p->refreshed / wall(p);

    if (part >= much_between)
        strbuf_addf(s,
                    "%.0f %% of the time is spent packing weights and input, once per "
                    "step: increase DATA.BATCH_SIZE",
                    100 * part);
}

static void few_threads(const struct profile *p, struct strbuf *s)
{
    if (on_cpu(p) && p->cfg->threads && p->cfg->threads < usable_cores())
        strbuf_addf(s,
                    "THREADS is %lld, but %d cores are usable: increase it or unset it",
                    (long long)p->cfg->threads, usable_cores());
}

static void recompute(const struct profile *p, struct strbuf *s)
{
    if (p->session.plan.recompute)
        strbuf_addstr(s, "TRAIN.USE_CHECKPOINT computes activations twice: disable it if "
                         "memory suffices (see trainc summary)");
}

static void host_ema(const struct profile *p, struct strbuf *s)
{
    if (p->session.ema)
        strbuf_addstr(s,
                      "the host computes the EMA and waits for the device in each step: "
                      "change TRAIN.EMA.DEVICE");
}

static void gpu_keys(const struct profile *p, struct strbuf *s)
{
    const struct config *c = p->cfg;

    if (on_cpu(p))
        return;
    if (!c->cuda.graph)
        strbuf_addstr(s,
                      "CUDA.GRAPH is False, so each kernel is launched separately: set "
                      "it to True");
    else if (!c->cudnn.benchmark && !c->cudnn.deterministic)
        strbuf_addstr(s, "set CUDNN.BENCHMARK True to time cuDNN's engines once and use "
                         "the fastest");
    else if (!c->data.pin_memory)
        strbuf_addstr(s, "DATA.PIN_MEMORY is False, so copies of batches block the host: "
                         "set it to True");
}

static void redzones(const struct profile *p, struct strbuf *s)
{
    if (p->cfg->debug.redzones)
        strbuf_addstr(s, "DEBUG.REDZONES writes around each tensor in each step: disable "
                         "it");
}

/* Names the worst step if it is far above its floor. */
static void worst_step(const struct profile *p, struct strbuf *s)
{
    const struct profile_step *w;

    if (!p->has_limits || !profile_worst(p, &w, 1) ||
        w->seconds < far_from_floor * w->floor ||
        profile_step_total(w) < much_step * profile_steps_sum(p))
        return;
    strbuf_addf(
        s,
        "the worst kernel call is %s in %s: %.3f ms, %.3f ms possible, %.0f %% of "
        "the kernel time",
        w->region->kernel->name, w->region->anchor->layer, 1e3 * w->seconds,
        1e3 * w->floor, 100 * profile_step_total(w) / profile_steps_sum(p));
}

/* In order of output: the most often useful first. */
static rule *const rules[] = {
    wait_for_data, slow_type,     reference,    few_threads, loader_takes_cores,
    short_steps,   between_steps, update_phase, recompute,   host_ema,
    gpu_keys,      redzones,      worst_step,
};

int profile_advice(const struct profile *p, struct strbuf *out)
{
    int n = 0;

    for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
        struct strbuf s = STRBUF_INIT;

        rules[i](p, &s);
        n += s.len > 0;
        if (s.len)
            strbuf_addf(out, "  %d. %s\n", n, s.buf);
        strbuf_release(&s);
    }
    if (!n)
        strbuf_addstr(out, "  nothing stands out\n");
    return n;
}
