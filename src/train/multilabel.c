#include "train/multilabel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "dataset/dataset.h"
#include "io/csv.h"
#include "train/ranking.h"

void multilabel_init(struct image_rows *rows, int classes)
{
    image_rows_init(rows, 2 * classes);
}

void multilabel_add(struct image_rows *rows, int64_t sample, const uint8_t *target,
                    const float *logit)
{
    float *row = image_rows_add(rows, sample);
    int classes = rows->width / 2;

    for (int k = 0; k < classes; k++) {
        row[k] = logit[k];
        row[classes + k] = target[k];
    }
}

double multilabel_sigmoid(double z)
{
    return z >= 0 ? 1 / (1 + exp(-z)) : exp(z) / (1 + exp(z));
}

static double f1_of(double tp, double fp, double fn)
{
    return tp + fp + fn > 0 ? 2 * tp / (2 * tp + fp + fn) : 0;
}

/* Walks down the distinct logits of a sorted ranking, using each as the threshold. */
static void score_ranks(struct multilabel_class *c, const struct ranked *r, int64_t n)
{
    double positives = (double)c->positive, tp = 0, fp = 0, ap = 0;

    c->threshold = 0.5;
    for (int64_t i = 0, end; i < n; i = end) {
        double new_tp, new_fp, f1;

        end = ranking_ties(r, n, i, &new_tp, &new_fp);
        tp += new_tp;
        fp += new_fp;
        ap += new_tp / positives * (tp / (tp + fp));
        f1 = f1_of(tp, fp, positives - tp);
        if (f1 > c->f1_tuned) {
            double low = end < n ? (double)r[end].score : (double)r[i].score;

            c->f1_tuned = f1;
            c->threshold = multilabel_sigmoid(((double)r[i].score + low) / 2);
        }
    }
    c->ap = positives > 0 ? ap : (double)NAN;
    c->auroc = ranking_auroc(r, n);
}

static void score_class(struct multilabel_class *c, const struct image_rows *rows, int k,
                        struct ranked *r)
{
    *c = (struct multilabel_class){0};
    for (int64_t i = 0; i < rows->n; i++) {
        const float *row = rows->value + i * rows->width;
        int y = (int)row[rows->width / 2 + k];
        float z = row[k];

        if (y == TARGET_UNKNOWN)
            continue;
        r[c->known++] = (struct ranked){z, y == 1};
        c->positive += y == 1;
        c->tp += y == 1 && z > 0;
        c->fp += y != 1 && z > 0;
        c->fn += y == 1 && !(z > 0);
    }
    c->f1 = f1_of((double)c->tp, (double)c->fp, (double)c->fn);
    ranking_sort(r, c->known);
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
        add_mean(s->score[k].ap, &ap, &naps);
        add_mean(s->score[k].auroc, &auroc, &naurocs);
        add_mean(s->score[k].f1, &f1, &nf1);
        tp += (double)s->score[k].tp;
        fp += (double)s->score[k].fp;
        fn += (double)s->score[k].fn;
    }
    s->map = naps ? ap / naps : (double)NAN;
    s->auroc = naurocs ? auroc / naurocs : (double)NAN;
    s->f1_macro = f1 / nf1;
    s->f1_micro = f1_of(tp, fp, fn);
}

static bool has_nan(const struct image_rows *rows)
{
    for (int64_t i = 0; i < rows->n * rows->width; i++)
        if (isnan(rows->value[i]))
            return true;
    return false;
}

struct multilabel_scores *multilabel_scores_of(const struct image_rows *rows)
{
    int classes = rows->width / 2;
    size_t size = (size_t)classes * sizeof(struct multilabel_class);
    struct multilabel_scores *s = xcalloc(1, sizeof(*s) + size);
    struct ranked *r = xcalloc((size_t)rows->n + 1, sizeof(*r));
    bool none = has_nan(rows);
    int64_t known = 0;

    s->classes = classes;
    for (int k = 0; k < classes; k++) {
        s->score[k].ap = s->score[k].auroc = s->score[k].f1 = (double)NAN;
        s->score[k].threshold = 0.5;
        if (!none)
            score_class(&s->score[k], rows, k, r);
        known += s->score[k].known;
    }
    free(r);
    s->map = s->auroc = s->f1_macro = s->f1_micro = (double)NAN;
    if (known)
        score_means(s);
    return s;
}

/* ---- files ---- */

void multilabel_add_csv(struct strbuf *out, const struct multilabel_scores *s,
                        const char *const *name)
{
    strbuf_addstr(out, "class,images,positive,ap,auroc,f1,threshold,f1_at_threshold\n");
    for (int k = 0; k < s->classes; k++) {
        const struct multilabel_class *c = &s->score[k];

        csv_add_name(out, name[k]);
        strbuf_addf(out, ",%lld,%lld", (long long)c->known, (long long)c->positive);
        csv_add_score(out, c->ap);
        csv_add_score(out, c->auroc);
        csv_add_score(out, c->f1);
        csv_add_score(out, c->threshold);
        csv_add_score(out, c->f1_tuned);
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
