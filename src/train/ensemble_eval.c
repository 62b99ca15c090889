#include "train/ensemble_eval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "ops/metrics_formula.h"
#include "train/evaluate.h"
#include "train/pretrained.h"
#include "train/progress.h"
#include "train/result.h"
#include "train/signals.h"

/* Summed predictions for the samples of the validation set. */
struct pool {
    int64_t n;
    int classes;
    uint64_t digest;
    double *sum;    /* [n, classes]: sum of the members' probabilities */
    int32_t *label; /* valid if `seen` is above 0 */
    int *seen;      /* number of members that have read the sample */
};

static void pool_begin(struct pool *p, const struct dataset *d, int classes)
{
    p->n = d->n;
    p->classes = classes;
    p->digest = dataset_digest(d);
    p->sum = xcalloc((size_t)d->n * (size_t)classes, sizeof(*p->sum));
    p->label = xcalloc((size_t)d->n, sizeof(*p->label));
    p->seen = xcalloc((size_t)d->n, sizeof(*p->seen));
}

static void pool_release(struct pool *p)
{
    free(p->sum);
    free(p->label);
    free(p->seen);
}

static void pool_add(struct pool *p, int64_t sample, int32_t label, const float *logits)
{
    double most = -INFINITY, total = 0, *sum = p->sum + sample * p->classes;

    for (int c = 0; c < p->classes; c++)
        most = fmax(most, (double)logits[c]);
    for (int c = 0; c < p->classes; c++)
        total += exp((double)logits[c] - most);
    for (int c = 0; c < p->classes; c++)
        sum[c] += exp((double)logits[c] - most) / total;
    p->label[sample] = label;
    p->seen[sample]++;
}

/* Adds a member's predictions. Returns false if a signal arrived or the feed failed. */
static bool run_member(struct pool *p, struct session *s, struct feed *f,
                       const char *title)
{
    size_t n = (size_t)s->plan.val_batch;
    int64_t *sample = xcalloc(n, sizeof(*sample)), done = 0;
    int32_t *label = xcalloc(n, sizeof(*label));
    float *logits = xcalloc(n * (size_t)p->classes, sizeof(*logits));
    double began = clock_now();
    const struct batch *b;

    loader_start_epoch(f->val_loader, 0, 0);
    session_eval_begin(s, false);
    while (!signals_pending() && (b = loader_next(f->val_loader))) {
        struct lent_batch lent = feed_lend(f->val_loader, b);
        int size = b->size;

        memcpy(sample, b->sample, (size_t)size * sizeof(*sample));
        memcpy(label, b->label, (size_t)size * sizeof(*label));
        session_eval_lent(s, &lent);
        session_logits(s, logits);
        for (int i = 0; i < size; i++)
            if (sample[i] >= 0 && label[i] >= 0)
                pool_add(p, sample[i], label[i], logits + (int64_t)i * p->classes);
        done++;
        progress_show(&(struct progress){.title = title,
                                         .done = done,
                                         .total = loader_batches(f->val_loader),
                                         .seconds = clock_now() - began,
                                         .postfix = ""});
    }
    progress_wipe();
    session_drain(s);
    free(sample);
    free(label);
    free(logits);
    return !signals_pending() && !feed_failure(f);
}

static void check_member(const struct ensemble_eval *o, const struct pool *p, int k,
                         const struct feed *f, const struct session *s)
{
    if (session_classes(s) != p->classes)
        die("--weights: '%s' has %lld classes, and '%s' has %d: members of an ensemble "
            "have the same classes",
            o->path[k], (long long)session_classes(s), o->path[o->n - 1], p->classes);
    if (f->val->n != p->n || dataset_digest(f->val) != p->digest)
        die("--weights: '%s' is validated on other images than '%s': set the data with "
            "--data-path",
            o->path[k], o->path[o->n - 1]);
}

/* Computes metrics and report over the images that all members have read. */
static void judge(const struct ensemble_eval *o, const struct pool *p,
                  struct evaluation *e, struct report *r)
{
    float *logits = xcalloc((size_t)p->classes, sizeof(*logits));
    bool tallies = p->classes <= CLASS_SCORES_MOST;
    struct image_rows rows;

    class_scores_init(&rows, p->classes);
    for (int64_t i = 0; i < p->n; i++) {
        int64_t rank;

        if (p->seen[i] != o->n)
            continue;
        for (int c = 0; c < p->classes; c++)
            logits[c] = (float)log(p->sum[i * p->classes + c] / o->n);
        rank = metrics_rank(logits, p->classes, p->label[i]);
        metrics_count(&e->raw, 1, 1, -logits[p->label[i]]);
        e->raw.top1 += rank < 1;
        e->raw.top5 += rank < METRICS_TOP;
        if (r)
            report_add(r, i, p->label[i], logits);
        if (tallies)
            class_scores_add(&rows, i, p->label[i], logits);
    }
    e->images = e->raw.count;
    e->classes = p->classes;
    e->balance = class_scores_of(&rows);
    e->scores_of = SESSION_RAW;
    image_rows_release(&rows);
    free(logits);
}

static void write_answer(const struct ensemble_eval *o, const struct pool *p,
                         const struct feed *f, double seconds, struct result *out)
{
    struct evaluation e = {.seconds = seconds};
    struct report r;

    if (o->report) {
        report_init(&r, f->val, &f->classes);
        r.model = o->n > 1 ? "ensemble" : o->cfg[0]->model.name;
        r.weights = "as they are";
    }
    judge(o, p, &e, o->report ? &r : NULL);
    log_info("ensemble of %d: mean of probabilities", o->n);
    evaluate_log(&e, &f->classes);
    if (o->report) {
        report_write(&r, o->report);
        log_info("report: %s (scores of each class, in CSV files)", o->report);
        report_release(&r);
    }
    out->val = evaluate_scores(&e, SESSION_RAW);
    out->ema = evaluate_scores(&e, SESSION_EMA);
    out->classes = &f->classes;
    out->images_per_second = evaluate_rate(&e);
    evaluate_release(&e);
}

/* Runs member k. The first to run (n - 1) sets up the pool; the last (0) writes the
 * results. */
static bool member(const struct ensemble_eval *o, struct pool *p, int k, double began,
                   struct result *out)
{
    char *title = xasprintf("Val %d/%d", o->n - k, o->n);
    struct session s;
    struct feed f;
    bool whole;

    feed_open(&f, o->cfg[k], false);
    session_init(&s, o->cfg[k],
                 &(struct session_options){.eval = true, .factors = feed_factors(&f)});
    session_alloc(&s);
    if (!p->sum)
        pool_begin(p, f.val, (int)session_classes(&s));
    check_member(o, p, k, &f, &s);
    pretrained_load_all(&s, o->path[k], "the data set", &f.classes);
    feed_start(&f, &s);
    signals_started();
    whole = run_member(p, &s, &f, title);
    if (feed_failure(&f))
        die("%s", feed_failure(&f));
    if (whole && !k)
        write_answer(o, p, &f, clock_now() - began, out);
    out->damaged_val = loader_stats(f.val_loader).bad_files;
    out->warned_val = loader_stats(f.val_loader).warned_files;
    feed_close(&f);
    session_release(&s);
    free(title);
    return whole;
}

int ensemble_eval(const struct ensemble_eval *o)
{
    double began = clock_now();
    struct pool p = {0};
    struct result r;
    bool whole = true;

    result_begin(&r, o->result, 0);
    signals_install(0);
    progress_init(o->cfg[0]->log.progress);
    for (int k = o->n; whole && k-- > 0;)
        whole = member(o, &p, k, began, &r);
    if (!whole)
        log_info("%s: leaving before the end", signals_name(signals_pending()));
    pool_release(&p);
    r.classes = NULL;
    return result_end(&r, whole ? EXIT_OK : 128 + signals_pending());
}
