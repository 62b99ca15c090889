#include "train/multilabel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "dataset/dataset.h"
#include "dist/group.h"
#include "io/csv.h"

void multilabel_tally_init(struct multilabel_tally *t, int classes)
{
    *t = (struct multilabel_tally){.classes = classes};
}

void multilabel_tally_release(struct multilabel_tally *t)
{
    free(t->sample);
    free(t->logit);
    free(t->target);
    *t = (struct multilabel_tally){0};
}

void multilabel_tally_add(struct multilabel_tally *t, int64_t sample,
                          const uint8_t *target, const float *logit)
{
    size_t k = (size_t)t->classes;

    if (t->n == t->cap) {
        t->cap = t->cap ? 2 * t->cap : 256;
        t->sample = xrealloc(t->sample, (size_t)t->cap * sizeof(*t->sample));
        t->logit = xrealloc(t->logit, (size_t)t->cap * k * sizeof(*t->logit));
        t->target = xrealloc(t->target, (size_t)t->cap * k);
    }
    t->sample[t->n] = sample;
    memcpy(t->logit + t->n * t->classes, logit, k * sizeof(*logit));
    memcpy(t->target + t->n * t->classes, target, k);
    t->n++;
}

/* ---- several ranks ---- */

/* A row of a message: 1 if a rank has the image, logits, targets. */
static void put_rows(const struct multilabel_tally *t, double *x, int64_t first,
                     int64_t n)
{
    int64_t k = t->classes, row = 2 * k + 1;

    for (int64_t i = 0; i < t->n; i++) {
        double *to = x + (t->sample[i] - first) * row;

        if (t->sample[i] < first || t->sample[i] >= first + n)
            continue;
        to[0] = 1;
        for (int64_t c = 0; c < k; c++) {
            to[1 + c] = (double)t->logit[i * k + c];
            to[1 + k + c] = t->target[i * k + c];
        }
    }
}

static void take_rows(struct multilabel_tally *t, const double *x, int64_t first,
                      int64_t n)
{
    int64_t k = t->classes, row = 2 * k + 1;
    float *logit = xcalloc((size_t)k + 1, sizeof(*logit));
    uint8_t *target = xcalloc((size_t)k + 1, 1);

    for (int64_t i = 0; i < n; i++) {
        const double *from = x + i * row;

        for (int64_t c = 0; c < k; c++) {
            logit[c] = (float)from[1 + c];
            target[c] = (uint8_t)from[1 + k + c];
        }
        if (from[0] > 0)
            multilabel_tally_add(t, first + i, target, logit);
    }
    free(logit);
    free(target);
}

void multilabel_tally_gather(struct multilabel_tally *t, int64_t total)
{
    enum { PIECE = 1 << 16 }; /* doubles per message */
    int64_t row = 2 * (int64_t)t->classes + 1, images = PIECE / row ? PIECE / row : 1;
    struct multilabel_tally all;
    double *x;

    if (dist_world() == 1)
        return;
    multilabel_tally_init(&all, t->classes);
    x = xcalloc((size_t)(images * row), sizeof(*x));
    for (int64_t first = 0; first < total; first += images) {
        int64_t n = total - first < images ? total - first : images;

        memset(x, 0, (size_t)(n * row) * sizeof(*x));
        put_rows(t, x, first, n);
        dist_sum_doubles(x, (int)(n * row));
        take_rows(&all, x, first, n);
    }
    free(x);
    multilabel_tally_release(t);
    *t = all;
}

/* ---- scores ---- */

double multilabel_sigmoid(double z)
{
    return z >= 0 ? 1 / (1 + exp(-z)) : exp(z) / (1 + exp(z));
}

struct ranked {
    float logit;
    bool positive;
};

static int compare(const void *a, const void *b)
{
    float x = ((const struct ranked *)a)->logit, y = ((const struct ranked *)b)->logit;

    return (x < y) - (x > y); /* the largest first */
}

static double f1_of(double tp, double fp, double fn)
{
    return tp + fp + fn > 0 ? 2 * tp / (2 * tp + fp + fn) : 0;
}

/* Walks down the distinct logits r[0 .. n - 1], with all that are larger taken for
 * positive. */
static void score_ranks(struct multilabel_class *c, const struct ranked *r, int64_t n)
{
    double positives = (double)c->positive, negatives = (double)(n - c->positive);
    double tp = 0, fp = 0, ap = 0, wins = 0;

    c->threshold = 0.5;
    for (int64_t i = 0, end; i < n; i = end) {
        double new_tp = 0, new_fp = 0, f1;

        for (end = i; end < n && r[end].logit == r[i].logit; end++)
            *(r[end].positive ? &new_tp : &new_fp) += 1;
        tp += new_tp;
        fp += new_fp;
        wins += new_tp * (negatives - fp + new_fp / 2);
        ap += new_tp / positives * (tp / (tp + fp));
        f1 = f1_of(tp, fp, positives - tp);
        if (f1 > c->f1_tuned) {
            double low = end < n ? (double)r[end].logit : (double)r[i].logit;

            c->f1_tuned = f1;
            c->threshold = multilabel_sigmoid(((double)r[i].logit + low) / 2);
        }
    }
    c->ap = positives > 0 ? ap : (double)NAN;
    c->auroc =
        positives > 0 && negatives > 0 ? wins / (positives * negatives) : (double)NAN;
}

static void score_class(struct multilabel_class *c, const struct multilabel_tally *t,
                        int k, struct ranked *r)
{
    *c = (struct multilabel_class){0};
    for (int64_t i = 0; i < t->n; i++) {
        uint8_t y = t->target[i * t->classes + k];
        float z = t->logit[i * t->classes + k];

        if (y == TARGET_UNKNOWN)
            continue;
        r[c->known++] = (struct ranked){z, y == 1};
        c->positive += y == 1;
        c->tp += y == 1 && z > 0;
        c->fp += y != 1 && z > 0;
        c->fn += y == 1 && !(z > 0);
    }
    c->f1 = f1_of((double)c->tp, (double)c->fp, (double)c->fn);
    qsort(r, (size_t)c->known, sizeof(*r), compare);
    score_ranks(c, r, c->known);
}

static void add_mean(double x, double *sum, int *n)
{
    *sum += isnan(x) ? 0 : x;
    *n += !isnan(x);
}

static void score_means(struct multilabel_scores *s)
{
    double ap = 0, auroc = 0, f1 = 0, tp = 0, fp = 0, fn = 0;
    int naps = 0, naurocs = 0, nf1 = 0;

    for (int k = 0; k < s->classes; k++) {
        add_mean(s->of[k].ap, &ap, &naps);
        add_mean(s->of[k].auroc, &auroc, &naurocs);
        add_mean(s->of[k].f1, &f1, &nf1);
        tp += (double)s->of[k].tp;
        fp += (double)s->of[k].fp;
        fn += (double)s->of[k].fn;
    }
    s->map = naps ? ap / naps : (double)NAN;
    s->auroc = naurocs ? auroc / naurocs : (double)NAN;
    s->f1_macro = f1 / nf1;
    s->f1_micro = f1_of(tp, fp, fn);
}

static bool has_nan(const struct multilabel_tally *t)
{
    for (int64_t i = 0; i < t->n * t->classes; i++)
        if (isnan(t->logit[i]))
            return true;
    return false;
}

struct multilabel_scores *multilabel_scores_of(const struct multilabel_tally *t)
{
    size_t size = (size_t)t->classes * sizeof(struct multilabel_class);
    struct multilabel_scores *s = xcalloc(1, sizeof(*s) + size);
    struct ranked *r = xcalloc((size_t)t->n + 1, sizeof(*r));
    bool none = has_nan(t);
    int64_t known = 0;

    s->classes = t->classes;
    for (int k = 0; k < t->classes; k++) {
        s->of[k].ap = s->of[k].auroc = s->of[k].f1 = (double)NAN;
        s->of[k].threshold = 0.5;
        if (!none)
            score_class(&s->of[k], t, k, r);
        known += s->of[k].known;
    }
    free(r);
    s->map = s->auroc = s->f1_macro = s->f1_micro = (double)NAN;
    if (known)
        score_means(s);
    return s;
}

/* ---- files ---- */

static void add_number(struct strbuf *out, double x)
{
    if (isnan(x))
        strbuf_addch(out, ',');
    else
        strbuf_addf(out, ",%.6g", x);
}

void multilabel_add_csv(struct strbuf *out, const struct multilabel_scores *s,
                        const char *const *name)
{
    strbuf_addstr(out, "class,images,positive,ap,auroc,f1,threshold,f1_at_threshold\n");
    for (int k = 0; k < s->classes; k++) {
        const struct multilabel_class *c = &s->of[k];

        csv_add_name(out, name[k]);
        strbuf_addf(out, ",%lld,%lld", (long long)c->known, (long long)c->positive);
        add_number(out, c->ap);
        add_number(out, c->auroc);
        add_number(out, c->f1);
        add_number(out, c->threshold);
        add_number(out, c->f1_tuned);
        strbuf_addch(out, '\n');
    }
}

double *multilabel_thresholds_parse(const char *text, int classes)
{
    struct strbuf why = STRBUF_INIT;
    json_t *list = text ? json_parse(text, strlen(text), &why) : NULL;
    double *p = NULL;

    if (json_is_array(list) && json_array_size(list) == (size_t)classes)
        p = xcalloc((size_t)classes, sizeof(*p));
    for (int k = 0; p && k < classes; k++) {
        const json_t *v = json_array_get(list, (size_t)k);

        p[k] = json_is_number(v) ? json_number_value(v) : 0.5;
    }
    json_decref(list);
    strbuf_release(&why);
    return p;
}
