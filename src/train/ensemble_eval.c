#include "train/ensemble_eval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "ops/metrics_formula.h"
#include "train/collector.h"
#include "train/evaluate.h"
#include "train/pretrained.h"
#include "train/probabilities.h"
#include "train/progress.h"
#include "train/result.h"
#include "train/signals.h"
#include "train/units.h"

/* Summed predictions for the samples of the validation set. */
struct pool {
    int64_t n;
    int classes;
    uint64_t digest;
    enum model_task task;
    size_t targets;  /* bytes of an image's targets, or 0 */
    int passes;      /* views of all members so far */
    double *sum;     /* [n, classes]: of probabilities */
    int32_t *label;  /* -1: not read */
    uint8_t *target; /* [n, targets], or NULL */
    int *seen;       /* passes that have read the image */
    float *std;      /* of a regression, of the member that ran last: [classes] */
};

static void pool_begin(struct pool *p, const struct dataset *d, const struct session *s)
{
    int classes = (int)session_classes(s);

    p->task = s->plan.task;
    p->targets = dataset_has_targets(d) ? dataset_target_size(d) : 0;
    if (p->targets)
        p->target = xcalloc((size_t)d->n, p->targets);
    p->n = d->n;
    p->classes = classes;
    p->digest = dataset_digest(d);
    p->sum = xcalloc((size_t)d->n * (size_t)classes, sizeof(*p->sum));
    p->label = xcalloc((size_t)d->n, sizeof(*p->label));
    p->seen = xcalloc((size_t)d->n, sizeof(*p->seen));
    p->std = xcalloc((size_t)classes, sizeof(*p->std));
}

static void pool_release(struct pool *p)
{
    free(p->sum);
    free(p->target);
    free(p->label);
    free(p->seen);
    free(p->std);
}

static void pool_add(struct pool *p, const struct collector *c, int i)
{
    int64_t k = p->classes, sample = c->sample[i];

    probabilities_add(p->sum + sample * k, c->logits + i * k, 1, p->classes, p->task);
    p->label[sample] = c->label[i];
    if (p->targets)
        memcpy(p->target + (size_t)sample * p->targets,
               c->target + (size_t)i * p->targets, p->targets);
    p->seen[sample]++;
}

/* Adds the validation images, as the loader shows them. Returns false if a signal came or
 * the feed failed. */
static bool run_pass(struct pool *p, struct session *s, struct feed *f, const char *title)
{
    double began = clock_now();
    struct collector c;
    const struct batch *b;
    int64_t done = 0;

    collector_init(&c, s, NULL);
    loader_start_epoch(f->val_loader, 0, 0);
    session_eval_begin(s, false);
    while (!signals_pending() && (b = loader_next(f->val_loader))) {
        struct lent_batch lent;

        collector_batch(&c, b);
        lent = feed_lend(f->val_loader, b);
        session_eval_lent(s, &lent);
        session_logits(s, c.logits);
        for (int i = 0; i < s->plan.val_batch; i++)
            if (c.sample[i] >= 0 && c.label[i] >= 0)
                pool_add(p, &c, i);
        progress_show(&(struct progress){.title = title,
                                         .done = ++done,
                                         .total = loader_batches(f->val_loader),
                                         .seconds = clock_now() - began,
                                         .postfix = ""});
    }
    progress_wipe();
    session_drain(s);
    collector_release(&c);
    p->passes++;
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

/* Adds an image with one label. */
static void judge_class(const struct pool *p, int64_t i, const float *logits,
                        struct evaluation *e)
{
    int64_t rank = metrics_rank(logits, p->classes, p->label[i]);

    metrics_count(&e->raw, 1, 1, -logits[p->label[i]]);
    e->raw.top1 += rank < 1;
    e->raw.top5 += rank < METRICS_TOP;
}

/* Adds an image with a set of labels: the binary cross entropy of those that are known. */
static void judge_set(const struct pool *p, int64_t i, const float *logits,
                      struct evaluation *e)
{
    const uint8_t *target = p->target + i * p->classes;
    double sum = 0;
    int known = 0;

    for (int c = 0; c < p->classes; c++) {
        double z = target[c] ? -(double)logits[c] : (double)logits[c];

        if (target[c] == TARGET_UNKNOWN)
            continue;
        sum += fmax(z, 0) + log1p(exp(-fabs(z)));
        known++;
    }
    metrics_count(&e->raw, 1, known, known ? (float)(sum / known) : 0);
}

/* Returns the values that an image should have. */
static const float *values_of(const struct pool *p, int64_t i)
{
    return (const float *)(const void *)(p->target + (size_t)i * p->targets);
}

/* Adds an image with values: their squared error, standardized by the first file's units. */
static void judge_values(const struct pool *p, int64_t i, const float *logits,
                         struct evaluation *e)
{
    const float *target = values_of(p, i);
    double sum = 0;

    for (int k = 0; k < p->classes; k++) {
        double z = ((double)logits[k] - (double)target[k]) / (double)p->std[k];

        sum += z * z;
    }
    metrics_count(&e->raw, 1, 1, (float)(sum / p->classes));
}

/* Adds an image to the rows from which scores are computed. */
static void add_row(const struct pool *p, int64_t i, const float *logits,
                    struct image_rows *rows)
{
    if (p->task == MODEL_MULTILABEL)
        multilabel_add(rows, i, p->target + i * p->classes, logits);
    else if (p->task == MODEL_REGRESSION)
        regression_add(rows, i, values_of(p, i), logits);
    else if (p->classes <= CLASS_SCORES_MAX)
        class_scores_add(rows, i, p->label[i], logits);
}

static void score_rows(const struct pool *p, const struct image_rows *rows,
                       struct evaluation *e)
{
    e->order = ordinal_scores_unknown();
    if (p->task == MODEL_MULTILABEL)
        e->sets = multilabel_scores_of(rows);
    else if (p->task == MODEL_REGRESSION)
        e->values = regression_scores_of(rows);
    else
        e->balance = class_scores_of(rows);
    if (p->task == MODEL_ORDINAL)
        e->order = ordinal_scores_of(rows);
}

/* The metrics, and the report if not NULL, of the images that all passes have read. */
static void judge(const struct pool *p, struct evaluation *e, struct report *r)
{
    bool classes = p->task == MODEL_CLASSIFY || p->task == MODEL_ORDINAL;
    float *logits = xcalloc((size_t)p->classes, sizeof(*logits));
    struct image_rows rows = {0};

    if (p->task == MODEL_MULTILABEL)
        multilabel_init(&rows, p->classes);
    else if (p->task == MODEL_REGRESSION)
        regression_init(&rows, p->classes);
    else
        class_scores_init(&rows, p->classes);
    for (int64_t i = 0; i < p->n; i++) {
        if (p->seen[i] != p->passes)
            continue;
        probabilities_to_logits(logits, p->sum + i * p->classes, p->classes, p->passes,
                                p->task);
        (classes                       ? judge_class
         : p->task == MODEL_MULTILABEL ? judge_set
                                       : judge_values)(p, i, logits, e);
        if (r && classes)
            report_add(r, i, p->label[i], logits);
        add_row(p, i, logits, &rows);
    }
    e->images = e->raw.count;
    e->classes = p->classes;
    e->scores_of = SESSION_RAW;
    score_rows(p, &rows, e);
    if (r)
        r->sets = e->sets, r->values = e->values;
    image_rows_release(&rows);
    free(logits);
}

/* "ensemble of 3, 2 views of each image: mean of probabilities" */
static void log_passes(const struct ensemble_eval *o, const struct pool *p)
{
    struct strbuf text = STRBUF_INIT;

    if (o->n > 1)
        strbuf_addf(&text, "ensemble of %d", o->n);
    if (p->passes > o->n)
        strbuf_addf(&text, "%s%d views of each image", o->n > 1 ? ", " : "", p->passes);
    if (text.len)
        log_info("%s: mean of %s", text.buf, probabilities_name(p->task));
    strbuf_release(&text);
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
    judge(p, &e, o->report ? &r : NULL);
    log_passes(o, p);
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

/* Runs the views of a member. */
static bool run_views(struct pool *p, const struct config *cfg, struct session *s,
                      struct feed *f, const char *title)
{
    struct view view[VIEWS_MAX];
    int n = views_of_config(cfg, view);
    bool whole = true;

    for (int v = 0; whole && v < n; v++) {
        if (n > 1)
            feed_restart_val(f, s, &view[v]);
        whole = run_pass(p, s, f, title);
    }
    return whole;
}

/* Runs member k; the first to run sets up the pool, and member 0, the last, answers. */
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
        pool_begin(p, f.val, &s);
    check_member(o, p, k, &f, &s);
    pretrained_load_all(&s, o->path[k], "the data set", &f.classes);
    if (p->task == MODEL_REGRESSION)
        units_std(&s, p->std);
    feed_start(&f, &s);
    signals_started();
    whole = run_views(p, o->cfg[k], &s, &f, title);
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
