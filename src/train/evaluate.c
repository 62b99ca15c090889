#include "train/evaluate.h"

#include <math.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "train/progress.h"
#include "train/signals.h"

double metrics_loss(const struct metrics *m)
{
    return m->count ? m->loss_sum / (double)m->count : (double)NAN;
}

double metrics_percent(const struct metrics *m, int64_t right)
{
    return m->count ? 100.0 * (double)right / (double)m->count : (double)NAN;
}

struct metrics metrics_since(const struct metrics *now, const struct metrics *then)
{
    return (struct metrics){
        .loss_sum = now->loss_sum - then->loss_sum,
        .count = now->count - then->count,
        .top1 = now->top1 - then->top1,
        .top5 = now->top5 - then->top5,
        .nonfinite = now->nonfinite - then->nonfinite,
        .runs = now->runs - then->runs,
    };
}

bool evaluate(struct session *s, const struct feed *f, const char *title,
              struct evaluation *e)
{
    int64_t total = loader_batches(f->val_loader), done = 0;
    double began = clock_now();
    struct lent_batch lent;
    const struct batch *b;

    loader_start_epoch(f->val_loader, 0, 0);
    session_eval_begin(s, true);
    while (!signals_pending() && (b = loader_next(f->val_loader))) {
        double seconds = clock_now() - began;

        lent = feed_lend(f->val_loader, b);
        session_eval_lent(s, &lent);
        done++;
        progress_show(&(struct progress){
            .title = title,
            .done = done,
            .total = total,
            .seconds = seconds,
            .images_per_second = (double)(done * s->plan.val_batch) / (seconds + 1e-9),
            .postfix = "",
        });
    }
    progress_wipe();
    session_drain(s);
    *e = (struct evaluation){
        .raw = session_eval_metrics(s, SESSION_RAW),
        .ema = session_eval_metrics(s, SESSION_EMA),
        .seconds = clock_now() - began,
    };
    return done == total;
}

/* A loss that is not finite anywhere must not look like a good mean of the rest. */
static double honest_loss(const struct metrics *m)
{
    return m->nonfinite ? (double)NAN : metrics_loss(m);
}

struct val_line evaluate_line(const struct evaluation *e)
{
    return (struct val_line){
        .val_loss = honest_loss(&e->raw),
        .val_top1 = metrics_percent(&e->raw, e->raw.top1),
        .val_top5 = metrics_percent(&e->raw, e->raw.top5),
        .ema_loss = honest_loss(&e->ema),
        .ema_top1 = metrics_percent(&e->ema, e->ema.top1),
        .ema_top5 = metrics_percent(&e->ema, e->ema.top5),
    };
}

double evaluate_rate(const struct evaluation *e)
{
    return (double)e->raw.count / (e->seconds + 1e-9);
}

void evaluate_log(const struct evaluation *e)
{
    struct val_line l = evaluate_line(e);

    log_info(" * Acc@1 %.3f Acc@5 %.3f loss %.5f (%lld images, %.0f img/s)", l.val_top1,
             l.val_top5, l.val_loss, (long long)e->raw.count, evaluate_rate(e));
    if (e->ema.count)
        log_info(" * Acc@1 %.3f Acc@5 %.3f loss %.5f with the average of the weights",
                 l.ema_top1, l.ema_top5, l.ema_loss);
}

static void keep(void *owner, const void *token)
{
    (void)owner, (void)token;
}

double evaluate_throughput(struct session *s, const struct feed *f)
{
    enum { WARMUP = 50, TIMED = 30 };
    struct lent_batch lent = {.release = keep};
    const struct batch *b;
    double began = 0;

    loader_start_epoch(f->val_loader, 0, 0);
    b = loader_next(f->val_loader);
    if (!b)
        die("'%s' has no images", f->val->name);
    session_eval_begin(s, false);
    lent.pixels = b->pixel;
    lent.labels = b->label;
    for (int i = 0; i < WARMUP + TIMED && !signals_pending(); i++) {
        if (i == WARMUP) {
            session_drain(s);
            began = clock_now();
        }
        session_eval_lent(s, &lent);
    }
    session_drain(s);
    loader_release_batch(f->val_loader, b);
    return (double)(TIMED * s->plan.val_batch) / (clock_now() - began);
}
