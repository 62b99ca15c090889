#include "train/evaluate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "dist/group.h"
#include "ops/metrics_formula.h"
#include "train/collector.h"
#include "train/progress.h"
#include "train/signals.h"

double metrics_loss(const struct metrics *m)
{
    return m->measured > 0 ? m->loss_sum / m->measured : (double)NAN;
}

double metrics_percent(const struct metrics *m, int64_t right)
{
    return m->count ? 100.0 * (double)right / (double)m->count : (double)NAN;
}

struct metrics metrics_since(const struct metrics *now, const struct metrics *then)
{
    return (struct metrics){
        .loss_sum = now->loss_sum - then->loss_sum,
        .measured = now->measured - then->measured,
        .count = now->count - then->count,
        .top1 = now->top1 - then->top1,
        .top5 = now->top5 - then->top5,
        .nonfinite = now->nonfinite - then->nonfinite,
        .runs = now->runs - then->runs,
    };
}

struct metrics metrics_of_all(const struct metrics *local)
{
    double sums[] = {local->loss_sum, local->measured};
    int64_t counts[] = {local->count, local->top1, local->top5, local->nonfinite,
                        local->runs};

    dist_sum_doubles(sums, 2);
    dist_sum_counts(counts, 5);
    return (struct metrics){
        .loss_sum = sums[0],
        .measured = sums[1],
        .count = counts[0],
        .top1 = counts[1],
        .top5 = counts[2],
        .nonfinite = counts[3],
        .runs = counts[4],
    };
}

static struct segmentation *segmentation_of(const struct session *s,
                                            enum session_weights index)
{
    int classes = (int)session_classes(s);
    int64_t *matrix = xcalloc((size_t)classes * (size_t)classes, sizeof(*matrix));
    struct segmentation *g = xmalloc(sizeof(*g));

    session_eval_matrix(s, index, matrix);
    dist_sum_counts(matrix, classes * classes);
    segmentation_init(g, matrix, classes);
    free(matrix);
    return g;
}

/* The metrics of all processes. */
static void finish(const struct session *s, const struct feed *f, struct evaluation *e)
{
    bool segments = s->plan.model->family->task == MODEL_SEGMENT;
    int64_t bad = loader_stats(f->val_loader).bad_files;

    dist_sum_counts(&bad, 1);
    e->swa = s->plan.swa;
    e->only_loss = s->plan.task == MODEL_SIMMIM;
    e->raw = session_eval_metrics(s, SESSION_RAW);
    e->ema = session_eval_metrics(s, SESSION_EMA);
    e->raw = metrics_of_all(&e->raw);
    e->ema = metrics_of_all(&e->ema);
    e->classes = (int)session_classes(s);
    e->images = segments ? f->val->n - bad : e->raw.count;
    if (segments)
        e->pixels[SESSION_RAW] = segmentation_of(s, SESSION_RAW);
    if (segments && e->ema.runs)
        e->pixels[SESSION_EMA] = segmentation_of(s, SESSION_EMA);
}

void evaluate_release(struct evaluation *e)
{
    free(e->pixels[SESSION_RAW]);
    free(e->pixels[SESSION_EMA]);
    free(e->sets);
    free(e->values);
    *e = (struct evaluation){0};
}

bool evaluate(struct session *s, struct feed *f, const char *title, struct evaluation *e)
{
    return evaluate_report(s, f, title, e, NULL);
}

static void report_matrix(struct session *s, struct report *r, enum session_weights index)
{
    size_t k = (size_t)session_classes(s);
    int64_t *matrix = xcalloc(k * k, sizeof(*matrix));

    session_eval_matrix(s, index, matrix);
    dist_sum_counts(matrix, (int)(k * k));
    report_take_matrix(r, matrix);
    free(matrix);
}

static void show_progress(const struct session *s, const char *title, int64_t done,
                          int64_t total, double seconds)
{
    progress_show(&(struct progress){
        .title = title,
        .done = done,
        .total = total,
        .seconds = seconds,
        .images_per_second = (double)(done * s->plan.val_batch) / (seconds + 1e-9),
        .postfix = "",
    });
}

/* Returns the next batch, or NULL at the end and after a signal. If batches exchange rows of
 * experts (DIST.SHARD_EXPERTS), all processes stop together. */
static const struct batch *next_batch(const struct session *s, struct feed *f)
{
    const struct graph *g = s->build[SESSION_EVAL].graph;
    const struct batch *b = signals_pending() ? NULL : loader_next(f->val_loader);

    if (g->flat == g->whole || !dist_max(!b))
        return b;
    if (b)
        loader_release_batch(f->val_loader, b);
    return NULL;
}

/* Runs the batches of the split. Returns false after a signal or a failure of any rank. */
static bool run_batches(struct session *s, struct feed *f, const char *title,
                        struct collector *c)
{
    int64_t total = loader_batches(f->val_loader), done = 0;
    double began = clock_now();
    const struct batch *b;

    loader_start_epoch(f->val_loader, 0, 0);
    session_eval_begin(s, true);
    while ((b = next_batch(s, f))) {
        double seconds = clock_now() - began;
        struct lent_batch lent;

        collector_batch(c, b);
        lent = feed_lend(f->val_loader, b);
        session_eval_lent(s, &lent);
        collector_add(c);
        show_progress(s, title, ++done, total, seconds);
    }
    progress_wipe();
    session_drain(s);
    return !(feed_agree(f, NULL) && dist_max(done < total));
}

bool evaluate_report(struct session *s, struct feed *f, const char *title,
                     struct evaluation *e, struct report *r)
{
    double began = clock_now();
    struct collector c;
    bool whole;

    collector_init(&c, s, r);
    whole = run_batches(s, f, title, &c);
    if (r)
        r->weights = c.which != SESSION_EMA ? "as they are"
                     : s->plan.swa          ? "averaged"
                                            : "EMA";
    if (whole) {
        evaluate_release(e);
        e->seconds = clock_now() - began;
        finish(s, f, e);
        collector_finish(&c, f->val->n, e);
        if (r && s->plan.task == MODEL_SEGMENT)
            report_matrix(s, r, c.which);
        if (r)
            r->sets = e->sets, r->values = e->values, r->pixels = e->pixels[c.which];
    }
    collector_release(&c);
    return whole;
}

/* NaN if the loss of any sample is not finite: the mean of the others would look good. */
static double honest_loss(const struct metrics *m)
{
    return m->nonfinite ? (double)NAN : metrics_loss(m);
}

struct scores evaluate_scores(const struct evaluation *e, enum session_weights index)
{
    const struct metrics *m = index == SESSION_EMA ? &e->ema : &e->raw;
    const struct segmentation *g = e->pixels[index];
    struct scores s = scores_unknown();

    s.value[SCORE_LOSS] = honest_loss(m);
    if (g) {
        s.value[SCORE_ACC] = g->acc;
        s.value[SCORE_CLASS_ACC] = g->class_acc;
        s.value[SCORE_MIOU] = g->miou;
        s.value[SCORE_MDICE] = g->mdice;
        s.value[SCORE_FWIOU] = g->fwiou;
        s.value[SCORE_BOUNDARY_IOU] = g->boundary;
    } else if (!e->pixels[SESSION_RAW] && !e->sets && !e->values && !e->only_loss) {
        s.value[SCORE_TOP1] = metrics_percent(m, m->top1);
        if (e->classes > METRICS_TOP) /* else all are among the first five */
            s.value[SCORE_TOP5] = metrics_percent(m, m->top5);
    }
    if (e->sets && index == e->scores_of) {
        s.value[SCORE_MAP] = e->sets->map;
        s.value[SCORE_F1_MICRO] = e->sets->f1_micro;
        s.value[SCORE_F1_MACRO] = e->sets->f1_macro;
        s.value[SCORE_AUROC] = e->sets->auroc;
    } else if (e->values && index == e->scores_of) {
        s.value[SCORE_MAE] = e->values->mean.mae;
        s.value[SCORE_RMSE] = e->values->mean.rmse;
        s.value[SCORE_R2] = e->values->mean.r2;
    } else if (index == e->scores_of && e->images > 0) {
        s.value[SCORE_BALANCED_ACC] = e->balance.balanced_acc;
        s.value[SCORE_F1_MACRO] = e->balance.f1_macro;
        s.value[SCORE_MCC] = e->balance.mcc;
        s.value[SCORE_AUROC] = e->balance.auroc;
        s.value[SCORE_MAE] = e->order.mae;
        s.value[SCORE_KAPPA] = e->order.kappa;
    }
    return s;
}

double evaluate_rate(const struct evaluation *e)
{
    return (double)e->images / (e->seconds + 1e-9);
}

static void log_table(const struct segmentation *g, const struct class_list *classes)
{
    struct strbuf text = STRBUF_INIT;

    segmentation_add_table(&text, g, classes->name);
    for (char *line = text.buf, *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        log_info("   %s", line);
    }
    strbuf_reset(&text);
    segmentation_add_absent(&text, g, classes->name);
    if (g->absent)
        log_info("   the means are over %d of %d classes: no pixel is %s",
                 g->classes - g->absent, g->classes, text.buf);
    strbuf_release(&text);
}

static void log_scores(const struct evaluation *e, enum session_weights index,
                       const char *more)
{
    struct scores s = evaluate_scores(e, index);
    const double *v = s.value;
    struct strbuf lead = STRBUF_INIT;

    scores_add_top(&lead, &s);
    if (lead.len)
        strbuf_addch(&lead, ' ');
    if (e->pixels[index] && isnan(v[SCORE_MIOU]))
        log_warning("validation: all pixels of the label maps are ignored");
    else if (e->pixels[index])
        log_info(" * mIoU %.4f mDice %.4f acc %.4f class_acc %.4f fwIoU %.4f loss %.5f%s",
                 v[SCORE_MIOU], v[SCORE_MDICE], v[SCORE_ACC], v[SCORE_CLASS_ACC],
                 v[SCORE_FWIOU], v[SCORE_LOSS], more);
    else
        log_info(" * %sloss %.5f%s", lead.buf, v[SCORE_LOSS], more);
    if (!isnan(v[SCORE_BOUNDARY_IOU]))
        log_info("   boundary IoU %.4f", v[SCORE_BOUNDARY_IOU]);
    if (!isnan(v[SCORE_BALANCED_ACC]))
        log_info("   balanced accuracy %.4f, macro F1 %.4f, MCC %.4f, AUROC %.4f",
                 v[SCORE_BALANCED_ACC], v[SCORE_F1_MACRO], v[SCORE_MCC], v[SCORE_AUROC]);
    strbuf_release(&lead);
}

void evaluate_log(const struct evaluation *e, const struct class_list *classes)
{
    struct strbuf more = STRBUF_INIT;

    strbuf_addf(&more, " (%lld images, %.*f img/s)", (long long)e->images,
                evaluate_rate(e) < 10 ? 2 : 0, evaluate_rate(e));
    if (e->pixels[SESSION_RAW])
        log_table(e->pixels[SESSION_RAW], classes);
    for (int k = 0; e->values && e->values->targets > 1 && k < e->values->targets; k++)
        log_info("   %s: R2 %.4f RMSE %.5g MAE %.5g", classes->name[k],
                 e->values->score[k].r2, e->values->score[k].rmse,
                 e->values->score[k].mae);
    log_scores(e, SESSION_RAW, more.buf);
    if (e->ema.count)
        log_scores(e, SESSION_EMA,
                   e->swa ? " with the SWA weights" : " with the EMA weights");
    strbuf_release(&more);
}

/* lent_batch.release: the batch is lent again and again. */
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
    int done = 0;

    loader_start_epoch(f->val_loader, 0, 0);
    b = loader_next(f->val_loader);
    if (feed_failure(f))
        return (double)NAN;
    if (!b)
        die("'%s' has no images", f->val->name);
    session_eval_begin(s, false);
    lent.pixels = b->pixel;
    lent.labels = feed_labels(b);
    lent.targets = b->target;
    for (; done < WARMUP + TIMED && !signals_pending(); done++) {
        if (done == WARMUP) {
            session_drain(s);
            began = clock_now();
        }
        session_eval_lent(s, &lent);
    }
    session_drain(s);
    loader_release_batch(f->val_loader, b);
    if (done <= WARMUP)
        return (double)NAN;
    return (double)((done - WARMUP) * s->plan.val_batch) / (clock_now() - began);
}
