/* Reports the progress of training: log lines and the progress line. */
#include <math.h>

#include "base/clock.h"
#include "base/cores.h"
#include "base/error.h"
#include "base/log.h"
#include "dist/group.h"
#include "train/data_config.h"
#include "train/data_wait.h"
#include "train/evaluate.h"
#include "train/hooks.h"
#include "train/progress.h"
#include "train/trainer_run.h"

/* Appends "TITLE 65536", or with several losses "TITLE 65536 1024". */
static void add_scales(struct strbuf *s, const char *title, const double *scale, int n)
{
    strbuf_addstr(s, title);
    for (int k = 0; k < n; k++)
        strbuf_addf(s, " %g", scale[k]);
}

/* Fills `scale`; returns the number of loss scales. */
static int scales_of(const struct trainer *t, const struct control *c,
                     double scale[CONTROL_LOSSES])
{
    int n = t->session.plan.scaler.losses;

    scale[0] = c->loss_scale;
    for (int k = 0; n > 1 && k < n; k++)
        scale[k] = c->scalers[k].scale;
    return n > 1 ? n : 1;
}

static double smallest(const double *scale, int n)
{
    double x = scale[0];

    for (int k = 1; k < n; k++)
        x = scale[k] < x ? scale[k] : x;
    return x;
}

/* True if losses are scaled, as usual in fp16. */
static bool scales_loss(const struct trainer *t, const struct train_line *l)
{
    bool scaled = t->session.plan.scaler.dynamic;

    for (int k = 0; k < l->nscale; k++)
        scaled = scaled || l->scale[k] != 1;
    return scaled;
}

/* Records steps skipped since the last line. */
static void note_skip(struct trainer *t, const struct control *c)
{
    if (c->skipped == t->skipped)
        return;
    if (!t->nskipped)
        t->first_skipped = c->step;
    t->last_skipped = c->step;
    t->nskipped += c->skipped - t->skipped;
    t->skipped = c->skipped;
}

/* Warns about steps skipped since the last line. */
static void report_skips(struct trainer *t)
{
    bool scaled = scales_loss(t, &t->line);
    long long first = t->first_skipped, last = t->last_skipped, n = t->nskipped;
    struct strbuf s = STRBUF_INIT;

    if (!n)
        return;
    if (n == 1)
        strbuf_addf(&s, "step %lld", last);
    else if (n == last - first + 1)
        strbuf_addf(&s, "steps %lld to %lld", first, last);
    else
        strbuf_addf(&s, "%lld of the steps %lld to %lld", n, first, last);
    strbuf_addf(&s, " skipped: gradients %s",
                scaled ? "overflowed" : "are infinite or not a number");
    if (scaled)
        add_scales(&s, t->line.nscale > 1 ? "; loss scales" : "; loss scale",
                   t->line.scale, t->line.nscale);
    log_warning("%s", s.buf);
    strbuf_release(&s);
    if (t->session.plan.scaler.dynamic)
        log_once("a few skipped steps are normal while the loss scale adapts");
    t->nskipped = 0;
}

/* Dies after AMP.MAX_SKIPS skipped steps in a row. */
static void check_skips(struct trainer *t, const struct control *c)
{
    double scale[CONTROL_LOSSES], lowest = smallest(scale, scales_of(t, c, scale));

    if (c->skipped_row < t->cfg->amp.max_skips)
        return;
    trainer_collect(t); /* a checkpoint being written is older, and sound */
    dist_barrier();
    die("non-finite gradients in each of the last %lld steps (step %lld, loss scale %g): "
        "%s",
        (long long)c->skipped_row, (long long)c->step, lowest,
        t->session.plan.scaler.dynamic && lowest > t->session.plan.scaler.min
            ? "AMP.INIT_SCALE may be too large"
        : !t->session.plan.scaler.dynamic && lowest > 1
            ? "AMP.LOSS_SCALE may be too large"
            : "the run has diverged; try a lower TRAIN.BASE_LR, a longer warm-up, "
              "TRAIN.CLIP_GRAD, or AMP.DTYPE bf16");
}

/* Logs the line. If there is a progress line on the terminal, only the last line of an
 * epoch goes there, the others only to log.txt. */
static void log_train(struct trainer *t)
{
    const struct train_line *l = &t->line;
    const struct plan *p = &t->session.plan;
    int64_t in_epoch = l->step - t->state.epoch * p->updates_per_epoch;
    bool last = in_epoch == p->updates_per_epoch || trainer_out_of_steps(t, l->step);
    int64_t batches = t->cfg->train.epochs * p->accumulation.batches - t->session.micro;
    double left = (double)(batches * p->batch * p->world) / (l->images_per_second + 1e-9);
    struct strbuf s = STRBUF_INIT, eta = STRBUF_INIT, scales = STRBUF_INIT;

    strbuf_add_duration(&eta, left);
    if (scales_loss(t, l))
        add_scales(&scales, "  loss_scale", l->scale, l->nscale);
    strbuf_addf(&s,
                "Train: [%lld/%lld][%lld/%lld]  eta %s  lr %.6g  loss %.4f (%.4f)  "
                "grad_norm %.4f%s  %.*f img/s  data %.0f %%",
                epoch_shown(t->state.epoch), (long long)t->cfg->train.epochs,
                (long long)in_epoch, (long long)p->updates_per_epoch, eta.buf, l->lr,
                l->loss, l->epoch_loss, l->grad_norm, scales.buf ? scales.buf : "",
                l->images_per_second < 10 ? 2 : 0, l->images_per_second,
                100 * l->data_share);
    if (progress_is_enough() && !last)
        log_quiet("%s", s.buf);
    else
        log_info("%s", s.buf);
    strbuf_release(&s);
    strbuf_release(&eta);
    strbuf_release(&scales);
}

double trainer_lr(const struct trainer *t, int64_t step)
{
    return control_lr(&t->session.plan.schedule, step, t->state.plateau.lr);
}

static double *waited(struct trainer *t, int64_t step)
{
    return &t->waited[(size_t)step % (sizeof(t->waited) / sizeof(*t->waited))];
}

static void begin_window(struct trainer *t, int64_t step)
{
    t->window_runs = t->state.train.runs;
    t->window_seconds = 0;
    t->window_waited = *waited(t, step);
}

void trainer_window_clock(struct trainer *t)
{
    *waited(t, t->step) = loader_stats(t->feed.train_loader).wait_seconds;
    session_mark(&t->session);
    begin_window(t, t->step);
}

double trainer_right(const struct trainer *t, const struct metrics *m)
{
    if (t->session.plan.model->family->task == MODEL_SEGMENT)
        return m->count ? (double)m->top1 / (double)m->count : (double)NAN;
    if (t->session.plan.task == MODEL_MULTILABEL ||
        t->session.plan.task == MODEL_REGRESSION ||
        t->session.plan.task == MODEL_SIMMIM) /* top1 is not defined */
        return (double)NAN;
    return metrics_percent(m, m->top1);
}

static void end_window(struct trainer *t, const struct control *c)
{
    double seconds = t->window_seconds + 1e-9;
    double share = (*waited(t, c->step) - t->window_waited) / seconds;
    struct train_line *l = &t->line;
    struct metrics all = metrics_of_all(&t->state.train);
    struct metrics m = metrics_since(&t->state.train, &t->state.window);
    int64_t runs = (t->state.train.runs - t->window_runs) * t->session.plan.world;

    *l = (struct train_line){
        .step = c->step,
        .epoch = t->state.epoch,
        .lr = c->lr,
        .grad_norm = fabs(c->grad_norm), /* a NaN has a sign, and x86 sets it */
        .skipped = c->skipped,
        .data_share = share < 1 ? share : 1,
    };

    l->nscale = scales_of(t, c, l->scale);
    l->loss_scale = smallest(l->scale, l->nscale);
    m = metrics_of_all(&m);
    l->loss = metrics_loss(&m);
    l->epoch_loss = metrics_loss(&all);
    l->right = trainer_right(t, &m);
    l->images_per_second = (double)(runs * t->session.plan.batch) / seconds;
    t->last_loss = l->loss;
    t->last_rate = l->images_per_second;
    t->last_share = l->data_share;
    hooks_call(t, HOOK_LINE);
    report_skips(t);
    t->state.window = t->state.train;
    begin_window(t, c->step);
}

bool trainer_out_of_steps(const struct trainer *t, int64_t step)
{
    return t->cfg->train.max_steps && step >= t->cfg->train.max_steps;
}

/*
 * Reads the snapshots of steps in order: writes a line at the end of a window, and dies
 * after too many skipped steps. On a GPU, the latest snapshots may not be ready; lines
 * are then written later with the same contents, because a snapshot has the duration of
 * its step.
 */
static void observe(struct trainer *t)
{
    struct snapshot n;

    *waited(t, t->step) = loader_stats(t->feed.train_loader).wait_seconds;
    while (session_next_snapshot(&t->session, &n)) {
        int64_t step = n.control.step;

        t->state.train = n.metrics;
        t->window_seconds += n.seconds;
        note_skip(t, &n.control);
        if (step % t->cfg->print_freq == 0 || step == t->epoch_end ||
            trainer_out_of_steps(t, step))
            end_window(t, &n.control);
        check_skips(t, &n.control);
    }
}

void trainer_settle(struct trainer *t)
{
    session_drain(&t->session);
    observe(t);
}

static void show(struct trainer *t)
{
    const struct plan *p = &t->session.plan;
    struct strbuf title = STRBUF_INIT, post = STRBUF_INIT;
    int64_t in_epoch = t->step - t->state.epoch * p->updates_per_epoch;
    double seconds = clock_now() - t->epoch_began;
    double images = (double)((in_epoch - t->epoch_from) * p->accumulation.group *
                             p->batch * p->world);

    if (!progress_active())
        return;
    strbuf_addf(&title, "Train %lld/%lld", epoch_shown(t->state.epoch),
                (long long)t->cfg->train.epochs);
    if (!isnan(t->last_loss))
        strbuf_addf(&post, "loss %.3f, ", t->last_loss);
    strbuf_addf(&post, "lr %.2e, data %.0f %%", trainer_lr(t, t->step ? t->step - 1 : 0),
                100 * t->last_share);
    progress_show(&(struct progress){
        .title = title.buf,
        .done = in_epoch,
        .total = p->updates_per_epoch,
        .seconds = seconds,
        .images_per_second = t->last_rate > 0 ? t->last_rate : images / (seconds + 1e-9),
        .postfix = post.buf,
        .initial = t->epoch_from,
    });
    strbuf_release(&title);
    strbuf_release(&post);
}

void trainer_say_waits(struct trainer *t, double seconds)
{
    const struct loader_stats *before = &t->epoch_loader;
    struct loader_stats now = loader_stats(t->feed.train_loader);
    bool images = t->cfg->data.cache > CACHE_ENCODED;
    struct data_wait w = {.seconds = seconds,
                          .waited = now.wait_seconds - before->wait_seconds,
                          .stages = now.stages,
                          .workers = data_workers(t->cfg),
                          .holds_images = images,
                          .holds_files = images || t->feed.train->hold,
                          .cores = usable_cores()};
    struct strbuf s = STRBUF_INIT;

    stage_times_add(&w.stages, &before->stages, -1);
    data_wait_add(&s, &w);
    if (s.len)
        log_info("epoch %lld %s", epoch_shown(t->state.epoch), s.buf);
    strbuf_release(&s);
}

void trainer_say_cache(struct trainer *t)
{
    const struct loader_stats stats = loader_stats(t->feed.train_loader);
    struct strbuf size = STRBUF_INIT;
    bool shared = t->cfg->data.cache == CACHE_MMAP;
    bool decoded = shared || t->cfg->data.cache == CACHE_DECODED;

    if ((!decoded && !t->feed.train->hold) || t->cache_said || t->epoch_from)
        return;
    t->cache_said = true;
    strbuf_add_bytes(&size, (double)stats.cached_bytes);
    log_info("DATA.CACHE %s: %lld of %lld images, %s%s",
             shared    ? "mmap"
             : decoded ? "decoded"
                       : "encoded",
             (long long)stats.cached, (long long)t->feed.train->n, size.buf,
             stats.cached >= stats.samples - stats.bad_files ? ""
             : shared
                 ? "; the others are decoded each time (half of the free space of the "
                   "disk is for images, and those much larger than the input are "
                   "not kept)"
             : decoded ? "; the others are decoded each time (half of the memory is for "
                         "images, and those much larger than the input are not kept)"
                       : "; the others are read each time (half of the memory is for "
                         "images)");
    strbuf_release(&size);
}

const struct hook hook_lines = {.name = "lines", .run = {[HOOK_STEP] = observe}};
const struct hook hook_log = {.name = "log", .run = {[HOOK_LINE] = log_train}};
const struct hook hook_progress = {.name = "progress", .run = {[HOOK_STEP] = show}};
