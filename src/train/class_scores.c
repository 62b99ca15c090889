#include "train/class_scores.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "train/ranking.h"

void class_scores_init(struct image_rows *rows, int classes)
{
    image_rows_init(rows, classes + 1);
}

void class_scores_add(struct image_rows *rows, int64_t sample, int32_t label,
                      const float *logits)
{
    float *p = image_rows_add(rows, sample), top = logits[0];
    int classes = rows->width - 1;
    double sum = 0;

    *p++ = (float)label;
    for (int k = 1; k < classes; k++)
        top = logits[k] > top ? logits[k] : top;
    for (int k = 0; k < classes; k++)
        sum += exp((double)logits[k] - (double)top);
    for (int k = 0; k < classes; k++)
        p[k] = (float)(exp((double)logits[k] - (double)top) / sum);
}

static int classes_of(const struct image_rows *rows)
{
    return rows->width - 1;
}

static int label_of(const struct image_rows *rows, int64_t i)
{
    return (int)rows->value[i * rows->width];
}

/* Returns the probabilities of image i. */
static const float *probabilities(const struct image_rows *rows, int64_t i)
{
    return rows->value + i * rows->width + 1;
}

/* Per class: labels (TP + FN), predictions (TP + FP), and correct predictions (TP). */
struct counts {
    int64_t *label, *answer, *hit;
    int64_t hits;
};

static struct counts count(const struct image_rows *rows)
{
    int classes = classes_of(rows);
    struct counts c = {.label = xcalloc(3 * (size_t)classes, sizeof(*c.label))};

    c.answer = c.label + classes;
    c.hit = c.answer + classes;
    for (int64_t i = 0; i < rows->n; i++) {
        const float *p = probabilities(rows, i);
        int label = label_of(rows, i), best = 0;

        for (int k = 1; k < classes; k++)
            if (p[k] > p[best])
                best = k;
        c.label[label]++;
        c.answer[best]++;
        c.hit[best] += best == label;
        c.hits += best == label;
    }
    return c;
}

static double balanced_acc(const struct counts *c, int classes)
{
    double sum = 0;
    int present = 0;

    for (int k = 0; k < classes; k++) {
        sum += c->label[k] ? (double)c->hit[k] / (double)c->label[k] : 0;
        present += c->label[k] > 0;
    }
    return sum / present;
}

static double f1_macro(const struct counts *c, int classes)
{
    double sum = 0;
    int present = 0;

    for (int k = 0; k < classes; k++) {
        int64_t both = c->label[k] + c->answer[k];

        sum += both ? 2 * (double)c->hit[k] / (double)both : 0;
        present += both > 0;
    }
    return sum / present;
}

/* Gorodkin 2004, in scikit-learn's form: covariances of labels and predictions. */
static double mcc(const struct counts *c, int classes, int64_t images)
{
    double n = (double)images, both = 0, labels = 0, answers = 0;
    double covariance, spread;

    for (int k = 0; k < classes; k++) {
        both += (double)c->label[k] * (double)c->answer[k];
        labels += (double)c->label[k] * (double)c->label[k];
        answers += (double)c->answer[k] * (double)c->answer[k];
    }
    covariance = (double)c->hits * n - both;
    spread = (n * n - labels) * (n * n - answers);
    return spread > 0 ? covariance / sqrt(spread) : 0;
}

static double auroc(const struct image_rows *rows, int k, struct ranked *r)
{
    for (int64_t i = 0; i < rows->n; i++)
        r[i] = (struct ranked){probabilities(rows, i)[k], label_of(rows, i) == k};
    ranking_sort(r, rows->n);
    return ranking_auroc(r, rows->n);
}

static double mean_auroc(const struct image_rows *rows)
{
    struct ranked *r = xcalloc((size_t)rows->n, sizeof(*r));
    double sum = 0;
    int present = 0;

    for (int k = classes_of(rows) == 2; k < classes_of(rows); k++) {
        double area = auroc(rows, k, r);

        sum += isnan(area) ? 0 : area;
        present += !isnan(area);
    }
    free(r);
    return present ? sum / present : (double)NAN;
}

/* True if a probability is NaN, which makes all scores meaningless. */
static bool has_nan(const struct image_rows *rows)
{
    for (int64_t i = 0; i < rows->n * rows->width; i++)
        if (isnan(rows->value[i]))
            return true;
    return false;
}

struct class_scores class_scores_unknown(void)
{
    const double nan = (double)NAN;

    return (struct class_scores){nan, nan, nan, nan};
}

struct class_scores class_scores_of(const struct image_rows *rows)
{
    struct class_scores s = class_scores_unknown();
    int classes = classes_of(rows);
    struct counts c;

    if (!rows->n || has_nan(rows))
        return s;
    c = count(rows);
    s.balanced_acc = balanced_acc(&c, classes);
    s.f1_macro = f1_macro(&c, classes);
    s.mcc = mcc(&c, classes, rows->n);
    s.auroc = mean_auroc(rows);
    free(c.label);
    return s;
}
