#include "train/class_scores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "dist/group.h"

void class_tally_init(struct class_tally *t, int classes)
{
    *t = (struct class_tally){.classes = classes};
}

void class_tally_release(struct class_tally *t)
{
    free(t->sample);
    free(t->label);
    free(t->probability);
    *t = (struct class_tally){0};
}

static float *add_row(struct class_tally *t, int64_t sample, int32_t label)
{
    if (t->n == t->cap) {
        t->cap = t->cap ? 2 * t->cap : 256;
        t->sample = xrealloc(t->sample, (size_t)t->cap * sizeof(*t->sample));
        t->label = xrealloc(t->label, (size_t)t->cap * sizeof(*t->label));
        t->probability = xrealloc(t->probability, (size_t)t->cap * (size_t)t->classes *
                                                      sizeof(*t->probability));
    }
    t->sample[t->n] = sample;
    t->label[t->n] = label;
    return t->probability + t->n++ * t->classes;
}

void class_tally_add(struct class_tally *t, int64_t sample, int32_t label,
                     const float *logits)
{
    float *p = add_row(t, sample, label), top = logits[0];
    double sum = 0;

    for (int k = 1; k < t->classes; k++)
        top = logits[k] > top ? logits[k] : top;
    for (int k = 0; k < t->classes; k++)
        sum += exp((double)logits[k] - (double)top);
    for (int k = 0; k < t->classes; k++)
        p[k] = (float)(exp((double)logits[k] - (double)top) / sum);
}

void class_tally_gather(struct class_tally *t, int64_t total)
{
    enum { PIECE = 1 << 16 }; /* doubles per message */
    int64_t row = t->classes + 1, images = PIECE / row ? PIECE / row : 1;
    struct class_tally all;
    double *x;

    if (dist_world() == 1)
        return;
    class_tally_init(&all, t->classes);
    x = xcalloc((size_t)(images * row), sizeof(*x));
    for (int64_t first = 0; first < total; first += images) {
        int64_t n = total - first < images ? total - first : images;

        memset(x, 0, (size_t)(n * row) * sizeof(*x));
        for (int64_t i = 0; i < t->n; i++) {
            double *to = x + (t->sample[i] - first) * row;

            if (t->sample[i] < first || t->sample[i] >= first + n)
                continue;
            to[0] = t->label[i] + 1; /* 0: no rank has the image */
            for (int k = 0; k < t->classes; k++)
                to[1 + k] = (double)t->probability[i * t->classes + k];
        }
        dist_sum_doubles(x, (int)(n * row));
        for (int64_t i = 0; i < n; i++) {
            const double *from = x + i * row;
            float *p;

            if (from[0] < 1)
                continue;
            p = add_row(&all, first + i, (int32_t)from[0] - 1);
            for (int k = 0; k < t->classes; k++)
                p[k] = (float)from[1 + k];
        }
    }
    free(x);
    class_tally_release(t);
    *t = all;
}

/* Images of each class (TP + FN), answers of each class (TP + FP), and hits (TP). */
struct counts {
    int64_t *label, *answer, *hit;
    int64_t hits;
};

static struct counts count(const struct class_tally *t)
{
    size_t k = (size_t)t->classes;
    struct counts c = {.label = xcalloc(3 * k, sizeof(*c.label))};

    c.answer = c.label + k;
    c.hit = c.answer + k;
    for (int64_t i = 0; i < t->n; i++) {
        const float *p = t->probability + i * t->classes;
        int best = 0;

        for (int j = 1; j < t->classes; j++)
            if (p[j] > p[best])
                best = j;
        c.label[t->label[i]]++;
        c.answer[best]++;
        c.hit[best] += best == t->label[i];
        c.hits += best == t->label[i];
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

/* Gorodkin 2004, as scikit-learn writes it: covariances of labels and answers. */
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

struct ranked {
    float score;
    bool positive;
};

static int compare(const void *a, const void *b)
{
    float x = ((const struct ranked *)a)->score, y = ((const struct ranked *)b)->score;

    return (x > y) - (x < y);
}

/* The Mann-Whitney statistic of class k: the share of pairs of an image of the class and
 * another one in which the former has the larger probability. NaN if one kind is missing. */
static double auroc(const struct class_tally *t, int k, struct ranked *r)
{
    double wins = 0, positives = 0, negatives = 0;

    for (int64_t i = 0; i < t->n; i++)
        r[i] = (struct ranked){t->probability[i * t->classes + k], t->label[i] == k};
    qsort(r, (size_t)t->n, sizeof(*r), compare);
    for (int64_t i = 0, end; i < t->n; i = end) {
        double tied_positives = 0, tied_negatives = 0;

        for (end = i; end < t->n && r[end].score == r[i].score; end++)
            *(r[end].positive ? &tied_positives : &tied_negatives) += 1;
        wins += tied_positives * (negatives + tied_negatives / 2);
        positives += tied_positives;
        negatives += tied_negatives;
    }
    return positives > 0 && negatives > 0 ? wins / (positives * negatives) : (double)NAN;
}

static double mean_auroc(const struct class_tally *t)
{
    struct ranked *r = xcalloc((size_t)t->n, sizeof(*r));
    double sum = 0;
    int present = 0;

    for (int k = t->classes == 2; k < t->classes; k++) {
        double area = auroc(t, k, r);

        sum += isnan(area) ? 0 : area;
        present += !isnan(area);
    }
    free(r);
    return present ? sum / present : (double)NAN;
}

/* True if a probability is NaN: then no score means anything. */
static bool has_nan(const struct class_tally *t)
{
    for (int64_t i = 0; i < t->n * t->classes; i++)
        if (isnan(t->probability[i]))
            return true;
    return false;
}

struct class_scores class_tally_scores(const struct class_tally *t)
{
    const double nan = (double)NAN;
    struct class_scores s = {nan, nan, nan, nan};
    struct counts c;

    if (!t->n || has_nan(t))
        return s;
    c = count(t);
    s.balanced_acc = balanced_acc(&c, t->classes);
    s.f1_macro = f1_macro(&c, t->classes);
    s.mcc = mcc(&c, t->classes, t->n);
    s.auroc = mean_auroc(t);
    free(c.label);
    return s;
}
