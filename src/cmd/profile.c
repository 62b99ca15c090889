/* trainc profile: see cmd/profile.h. */
#include "cmd/profile.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/median.h"
#include "cmd/cmd.h"
#include "cmd/run.h"
#include "session/busy.h"
#include "train/data_config.h"
#include "train/pretrained.h"
#include "train/units.h"

enum {
    WARM_UPDATES = 2,
    MIN_UPDATES = 3,
    DEFAULT_STEPS = 20, /* of --steps */
    WORST = 10
};
static const double max_seconds = 30;

static void add_span(struct profile *p, enum profile_kind kind, double begin, double end)
{
    if (!p->traced)
        return;
    GROW(p->span, p->nspan, p->span_cap);
    p->span[p->nspan++] = (struct profile_span){
        .kind = kind, .update = p->updates, .begin = begin, .end = end};
}

/* Records a sample; runs in a loader thread. */
static void note_sample(const struct loader_event *s, void *arg)
{
    struct profile *p = arg;

    pthread_mutex_lock(&p->lock);
    GROW(p->sample, p->nsample, p->sample_cap);
    p->sample[p->nsample++] = (struct profile_sample){
        .worker = s->worker,
        .index = s->index,
        .epoch = s->epoch,
        .batch = s->batch,
        .sample = s->sample,
        .begin = s->begin,
        .end = s->end,
        .stages = *s->stages,
    };
    pthread_mutex_unlock(&p->lock);
}

/* Returns the next batch; starts the next epoch if necessary. */
static const struct batch *next_batch(struct profile *p, uint64_t *epoch)
{
    const struct batch *b = loader_next(p->feed.train_loader);

    if (!b && !feed_failure(&p->feed)) {
        session_drain(&p->session); /* releases the last batches */
        loader_start_epoch(p->feed.train_loader, ++*epoch, 0);
        b = loader_next(p->feed.train_loader);
    }
    if (!b)
        die("%s", feed_failure(&p->feed) ? feed_failure(&p->feed)
                                         : "too few images for one batch");
    return b;
}

/* Trains on one batch. Returns true if it completes an optimizer step. */
static bool one_batch(struct profile *p, uint64_t *epoch)
{
    double began = clock_now(), got, done;
    const struct batch *b = next_batch(p, epoch);
    struct lent_batch lent = feed_lend(p->feed.train_loader, b);
    bool last;

    got = clock_now();
    add_span(p, PROFILE_WAIT, began, got);
    last = session_step_lent(&p->session, &lent);
    done = clock_now();
    add_span(p, PROFILE_RUN, got, done);
    p->waited += got - began;
    p->ran += done - got;
    return last;
}

static bool is_enough(const struct profile *p, double began)
{
    if (p->updates >= p->max_steps)
        return true;
    return p->seconds > 0 && p->updates >= MIN_UPDATES &&
           clock_now() - began > p->seconds;
}

static struct device_waits waits_of(const struct session *s)
{
    return s->backend->waits ? s->backend->waits(s->device) : (struct device_waits){0};
}

/* Runs optimizer steps as training does, from the start of an epoch. */
static void run_updates(struct profile *p)
{
    struct loader_stats src;
    struct device_waits waits;
    uint64_t epoch = 0;
    double last;

    loader_start_epoch(p->feed.train_loader, epoch, 0);
    for (int i = 0; i < WARM_UPDATES;)
        i += one_batch(p, &epoch);
    session_drain(&p->session);
    p->waited = p->ran = 0;
    p->nspan = 0;
    src = loader_stats(p->feed.train_loader);
    waits = waits_of(&p->session);
    profile_steps_watch(p, true);
    last = p->began = clock_now();
    while (!is_enough(p, p->began)) {
        double now;

        while (!one_batch(p, &epoch))
            ;
        now = clock_now();
        GROW(p->update, p->updates, p->update_cap);
        p->update[p->updates++] = now - last;
        last = now;
    }
    session_drain(&p->session);
    p->ended = clock_now();
    profile_steps_watch(p, false);
    p->loader = loader_stats(p->feed.train_loader);
    p->loader.samples -= src.samples;
    stage_times_add(&p->loader.stages, &src.stages, -1);
    p->waits = waits_of(&p->session);
    p->waits.sync -= waits.sync;
    p->waits.await -= waits.await;
}

double profile_update_median(const struct profile *p)
{
    double *copy = xmemdup(p->update, (size_t)p->updates * sizeof(*copy));
    double m = median(copy, (int)p->updates);

    free(copy);
    return m;
}

double profile_images(const struct profile *p)
{
    return (double)(p->session.plan.batch * p->session.plan.accumulation.group);
}

static void profile_open(struct profile *p, struct config *cfg)
{
    struct session *s = &p->session;

    pthread_mutex_init(&p->lock, NULL);
    feed_open(&p->feed, cfg, true);
    session_init(
        s, cfg,
        &(struct session_options){.train = true,
                                  .eval = true,
                                  .images = data_epoch_images(cfg, p->feed.train->n),
                                  .factors = feed_factors(&p->feed)});
    if (!s->plan.updates_per_epoch)
        die("too few images for one step");
    busy_note(s);
    session_alloc(s);
    pretrained_load_start(s);
    units_learn(s, p->feed.train);
    session_mix(s, s->plan.mix_off_epoch > 0);
    if (p->traced) {
        p->feed.observe = note_sample;
        p->feed.observe_arg = p;
    }
    feed_start(&p->feed, s);
}

static void profile_close(struct profile *p)
{
    profile_steps_release(p);
    feed_close(&p->feed);
    session_release(&p->session);
    free(p->update);
    free(p->span);
    free(p->sample);
    pthread_mutex_destroy(&p->lock);
}

static int profile_run(struct config *cfg, const struct cmdline *line)
{
    const char *trace = cmdline_value(line, "--trace");
    int worst = (int)run_flag_number(line, "--worst", WORST, 0, 100000);
    struct profile p = {.cfg = cfg, .traced = trace != NULL};

    p.max_steps = run_flag_number(line, "--steps", DEFAULT_STEPS, 1, 1000000);
    p.seconds = cmdline_value(line, "--steps") ? 0 : max_seconds;
    run_reserve_stdout(line);
    profile_open(&p, cfg);
    profile_steps_init(&p);
    run_updates(&p);
    profile_steps_finish(&p);
    profile_print(&p, worst, cmdline_has(line, "--brief"));
    if (trace)
        profile_trace(&p, trace);
    if (cmdline_value(line, "--json"))
        profile_json(&p, worst, cmdline_value(line, "--json"));
    profile_close(&p);
    return EXIT_OK;
}

static void profile_check(const struct config *cfg, const struct cmdline *line,
                          struct problems *p)
{
    run_check(cfg, true, p);
    if (cfg->eval_mode || cfg->throughput_mode)
        problems_warn(p, "profile",
                      "EVAL_MODE and THROUGHPUT_MODE have no effect: trainc profile "
                      "profiles training");
    if (*cfg->model.resume)
        config_warn_unread(cfg, p, "MODEL.RESUME",
                           "trainc profile starts from initial weights");
    run_check_writable(line, "--json", WRITTEN_JSON, p);
    run_check_writable(line, "--trace", WRITTEN_JSON, p);
}

static const struct cmd_flag profile_flags[] = {
    {"--trace", "FILE",
     "also write a trace for chrome://tracing or ui.perfetto.dev: training steps, kernel "
     "calls, and each sample in the loader's threads"},
    {"--json", "FILE",
     "also write all figures to FILE as JSON (-: standard output, without other text)"},
    {"--steps", "N",
     "number of training steps to time (20, or fewer that fit into 30 seconds)"},
    {"--worst", "N", "number of kernel calls in the list of the worst (10)"},
    {"--brief", NULL, "leave out the table of all kernel calls"},
    {0},
};

const struct verb cmd_profile = {
    .name = "profile",
    .examples =
        (const char *const[]){"trainc profile --cfg my.yaml",
                              "trainc profile --cfg my.yaml --trace trace.json", NULL},
    .help =
        "show where training spends its time, including data loading, and what to change",
    .about =
        "Trains some steps on the configured data and prints their time: by layer and "
        "kernel call, with GFLOP/s, GB/s, and the distance from the device's limits; by "
        "stage of the loader, with the time that training waits for it; and advice on "
        "what to change. Saves nothing.",
    .flags = profile_flags,
    .check = profile_check,
    .run = profile_run,
};
