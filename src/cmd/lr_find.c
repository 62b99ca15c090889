#include "cmd/lr_find.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/say.h"
#include "cmd/run.h"
#include "dist/launch.h"
#include "session/devices.h"
#include "session/session.h"
#include "train/data_config.h"
#include "train/evaluate.h"
#include "train/feed.h"
#include "train/pretrained.h"
#include "train/units.h"

enum { STEPS = 100, MIN_STEPS = 20, MAX_STEPS = 100000, LINES = 25, WIDTH = 48 };

static const double smoothing = 0.9, diverged = 4;

bool lr_find_requested(const struct cmdline *line)
{
    return cmdline_has(line, "--lr-find");
}

void lr_find_check(const struct config *cfg, const struct cmdline *line,
                   struct problems *p)
{
    if (!lr_find_requested(line)) {
        if (cmdline_value(line, "--lr-find-steps"))
            problems_warn(p, "--lr-find-steps", "has no effect without --lr-find");
        return;
    }
    if (dist_launched().world > 1 || device_count(cfg) > 1)
        problems_error(p, "--lr-find",
                       "runs on one device only; set DEVICE to one device");
    if (cfg->eval_mode || cfg->throughput_mode)
        problems_error(
            p, "--lr-find",
            "cannot be combined with EVAL_MODE or THROUGHPUT_MODE, which do not "
            "train");
    if (*cfg->model.resume)
        problems_error(p, "--lr-find",
                       "cannot be combined with --resume: the test starts from initial "
                       "weights or MODEL.PRETRAINED");
}

int lr_find_smooth(struct lr_find_point *p, int n)
{
    double mean = 0, least = INFINITY;

    for (int i = 0; i < n; i++) {
        mean = smoothing * mean + (1 - smoothing) * p[i].loss;
        p[i].smooth = mean / (1 - pow(smoothing, i + 1));
        if (!(p[i].smooth <= diverged * least) && i)
            return i;
        least = fmin(least, p[i].smooth);
    }
    return n;
}

int lr_find_steepest(const struct lr_find_point *p, int n)
{
    int least = 0, best = -1, half = n < 40 ? 1 : n / 20;
    double steepest = 0;

    for (int i = 1; i < n; i++)
        least = p[i].smooth < p[least].smooth ? i : least;
    for (int i = n / 10 + half; i + half <= least; i++) {
        const struct lr_find_point *a = &p[i - half], *b = &p[i + half];
        double slope = (a->smooth - b->smooth) / log(b->lr / a->lr);

        if (slope > steepest) {
            steepest = slope;
            best = i;
        }
    }
    return best;
}

/* Replaces the learning-rate schedule; the rest of the program stays as configured. */
static void set_range_schedule(struct config *cfg, int64_t steps)
{
    char text[32];

    (void)snprintf(text, sizeof(text), "%" PRId64, steps);
    config_set_for(cfg, "TRAIN.LR_SCHEDULER.NAME", "range", "--lr-find");
    config_set_for(cfg, "TRAIN.MAX_STEPS", text, "--lr-find");
    config_set_for(cfg, "TRAIN.BASE_LR", "10", "--lr-find");
    config_set_for(cfg, "TRAIN.SCALE_LR", "False", "--lr-find");
    config_set_for(cfg, "TRAIN.WARMUP_EPOCHS", "0", "--lr-find");
    config_set_for(cfg, "TRAIN.FREEZE_EPOCHS", "0", "--lr-find"); /* all of the net */
    config_set_for(cfg, "TRAIN.EMA.ENABLE", "False", "--lr-find");
    config_set_for(cfg, "TRAIN.SWA.ENABLE", "False", "--lr-find");
}

struct test {
    struct feed feed;
    struct session session;
    struct lr_find_point *point;
    int n, max_updates;
    struct metrics before; /* of the last snapshot */
};

static void collect_losses(struct test *t)
{
    struct snapshot s;

    while (session_next_snapshot(&t->session, &s)) {
        struct metrics m = metrics_since(&s.metrics, &t->before);

        t->before = s.metrics;
        if (t->n == t->max_updates)
            continue;
        t->point[t->n] =
            (struct lr_find_point){.lr = schedule_lr(&t->session.plan.schedule, t->n),
                                   .loss = m.nonfinite ? (double)NAN : metrics_loss(&m)};
        t->n++;
    }
}

/* Runs a whole number of optimizer steps; stops early when the loss exceeds four times its
 * minimum. */
static void run_steps(struct test *t)
{
    uint64_t epoch = 0;
    int updates = 0;

    loader_start_epoch(t->feed.train_loader, epoch, 0);
    while (updates < t->max_updates &&
           (t->n < 2 || lr_find_smooth(t->point, t->n) == t->n)) {
        struct lent_batch lent;
        bool taken = feed_next(&t->feed, &t->session, &lent);

        if (!taken && !feed_failure(&t->feed)) {
            session_drain(&t->session);
            loader_start_epoch(t->feed.train_loader, ++epoch, 0);
            taken = feed_next(&t->feed, &t->session, &lent);
        }
        if (!taken)
            die("%s", feed_failure(&t->feed) ? feed_failure(&t->feed)
                                             : "too few images for one batch");
        updates += session_step_lent(&t->session, &lent);
        collect_losses(t);
    }
    feed_drop(&t->feed);
    session_drain(&t->session);
    collect_losses(t);
}

/* Prints at most LINES lines: rate, smoothed loss, and a bar. */
static void print_curve(const struct lr_find_point *p, int n, int steepest)
{
    double least = INFINITY, greatest = -INFINITY;
    int lines = n < LINES ? n : LINES, marked = -1;

    for (int i = 0; i < n; i++) {
        least = fmin(least, p[i].smooth);
        greatest = fmax(greatest, p[i].smooth);
    }
    say("learning rate      loss\n");
    for (int k = 0; k < lines; k++) {
        int i = k * n / lines, next = (k + 1) * n / lines;
        double share = greatest > least ? (p[i].smooth - least) / (greatest - least) : 0;
        bool here = steepest >= i && steepest < next;

        marked = here ? k : marked;
        say("%13.2e %9.4f |%.*s%s\n", p[i].lr, p[i].smooth, (int)rint(WIDTH * share),
            "################################################",
            here ? "  <- falls fastest" : "");
    }
}

static void print_suggestion(const struct config *cfg, const struct test *t, double base)
{
    int n = lr_find_smooth(t->point, t->n), i = lr_find_steepest(t->point, n), least = 0;

    for (int k = 1; k < n; k++)
        least = t->point[k].smooth < t->point[least].smooth ? k : least;
    print_curve(t->point, n, i);
    if (i < 0) {
        say("no suggestion: the loss did not fall in %d steps\n", t->n);
        return;
    }
    say("suggestion: --lr %.2g (a tenth of the rate with the smallest loss, %.2g; the "
        "loss falls fastest at %.2g)\n",
        t->point[least].lr / 10, t->point[least].lr, t->point[i].lr);
    say("this rate is for %" PRId64
        " images per step and without TRAIN.SCALE_LR: if your "
        "recipe sets it,\nadd --no-scale-lr; this run's rate is %.3g\n",
        t->session.plan.batch * cfg->train.accumulation_steps, base);
}

int lr_find_run(struct config *cfg, const struct cmdline *line)
{
    const struct config_train *c = &cfg->train;
    int steps =
        (int)run_flag_number(line, "--lr-find-steps", STEPS, MIN_STEPS, MAX_STEPS);
    double scale = c->scale_lr ? (double)(cfg->data.batch_size * c->accumulation_steps) /
                                     (double)c->scale_lr_base
                               : 1;
    double base = c->base_lr * scale;
    struct test t = {.max_updates = steps};
    struct session *s = &t.session;

    set_range_schedule(cfg, steps);
    t.point = xcalloc((size_t)steps, sizeof(*t.point));
    feed_open(&t.feed, cfg, true);
    session_init(
        s, cfg,
        &(struct session_options){.train = true,
                                  .eval = true, /* for the feed */
                                  .images = data_epoch_images(cfg, t.feed.train->n),
                                  .factors = feed_factors(&t.feed)});
    if (!s->plan.updates_per_epoch)
        die("too few images for one step");
    session_alloc(s);
    pretrained_load_start(s);
    units_learn(s, t.feed.train);
    session_mix(s, s->plan.mix_off_epoch > 0);
    feed_start(&t.feed, s);
    run_steps(&t);
    print_suggestion(cfg, &t, base);
    feed_close(&t.feed);
    session_release(s);
    free(t.point);
    return EXIT_OK;
}
