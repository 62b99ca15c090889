#include "train/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "dist/group.h"

void report_init(struct report *r, const struct dataset *d,
                 const struct class_list *classes)
{
    size_t k = (size_t)classes->n;

    *r = (struct report){.data = d, .classes = classes};
    r->class_counts = xcalloc(k, sizeof(*r->class_counts));
    if (classes->n <= REPORT_CLASSES)
        r->matrix = xcalloc(k * k, sizeof(*r->matrix));
}

void report_release(struct report *r)
{
    free(r->matrix);
    free(r->class_counts);
    free(r->item);
    *r = (struct report){0};
}

static void count(struct report *r, int label, int answer, int64_t n)
{
    r->class_counts[label].n += n;
    r->class_counts[answer].taken += n;
    r->class_counts[label].right += label == answer ? n : 0;
    if (r->matrix)
        r->matrix[(int64_t)label * r->classes->n + answer] += n;
}

void report_add(struct report *r, int64_t sample, int32_t label, const float *logits)
{
    int k = r->classes->n, best = 0;
    double sum = 0;
    struct report_item *it;

    for (int c = 1; c < k; c++)
        if (logits[c] > logits[best])
            best = c;
    for (int c = 0; c < k; c++)
        sum += exp((double)logits[c] - (double)logits[best]);
    GROW(r->item, r->n, r->cap);
    it = &r->item[r->n++];
    *it = (struct report_item){.sample = sample, .label = label, .answer = best};
    it->loss = log(sum) + (double)logits[best] - (double)logits[label];
    it->confidence = (float)(1 / sum);
    it->of_label = (float)exp(-it->loss);
    count(r, label, best, 1);
}

void report_take_matrix(struct report *r, const int64_t *matrix)
{
    int k = r->classes->n;

    for (int y = 0; y < k; y++)
        for (int p = 0; p < k; p++)
            count(r, y, p, matrix[(int64_t)y * k + p]);
}

/* The numbers of an item in a message; ITEM_LABEL is the label + 1, and 0 if no rank has
 * the image. */
enum { ITEM_LABEL, ITEM_ANSWER, ITEM_CONFIDENCE, ITEM_OF_LABEL, ITEM_LOSS, ITEM_NUMBERS };

static void put_items(const struct report *r, double *x)
{
    for (int64_t i = 0; i < r->n; i++) {
        const struct report_item *it = &r->item[i];
        double *numbers = x + it->sample * ITEM_NUMBERS;

        numbers[ITEM_LABEL] = it->label + 1;
        numbers[ITEM_ANSWER] = it->answer;
        numbers[ITEM_CONFIDENCE] = (double)it->confidence;
        numbers[ITEM_OF_LABEL] = (double)it->of_label;
        numbers[ITEM_LOSS] = it->loss;
    }
}

static void take_items(struct report *r, const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++, x += ITEM_NUMBERS) {
        struct report_item it = {.sample = i,
                                 .label = (int32_t)x[ITEM_LABEL] - 1,
                                 .answer = (int32_t)x[ITEM_ANSWER],
                                 .confidence = (float)x[ITEM_CONFIDENCE],
                                 .of_label = (float)x[ITEM_OF_LABEL],
                                 .loss = x[ITEM_LOSS]};

        if (it.label < 0)
            continue;
        GROW(r->item, r->n, r->cap);
        r->item[r->n++] = it;
        count(r, it.label, it.answer, 1);
    }
}

void report_gather(struct report *r)
{
    enum { PIECE = 1 << 20 };
    int64_t k = r->classes->n, n = r->data->n, len = n * ITEM_NUMBERS;
    double *x;

    if (dist_world() == 1)
        return;
    x = xcalloc((size_t)len + 1, sizeof(*x));
    put_items(r, x);
    for (int64_t begin = 0; begin < len; begin += PIECE)
        dist_sum_doubles(x + begin, (int)(len - begin < PIECE ? len - begin : PIECE));
    memset(r->class_counts, 0, (size_t)k * sizeof(*r->class_counts));
    if (r->matrix)
        memset(r->matrix, 0, (size_t)(k * k) * sizeof(*r->matrix));
    r->n = 0;
    take_items(r, x, n);
    free(x);
}

double report_calibration(const struct report *r, struct report_bin bin[REPORT_BINS])
{
    double error = 0;

    memset(bin, 0, REPORT_BINS * sizeof(*bin));
    for (int64_t i = 0; i < r->n; i++) {
        const struct report_item *it = &r->item[i];
        int m = (int)ceil((double)it->confidence * REPORT_BINS) - 1;
        struct report_bin *b = &bin[m < 0 || m >= REPORT_BINS ? 0 : m];

        b->n++;
        b->right += it->label == it->answer;
        b->confidence += (double)it->confidence;
    }
    for (int m = 0; m < REPORT_BINS; m++) {
        error += fabs((double)bin[m].right - bin[m].confidence);
        bin[m].confidence /= bin[m].n ? (double)bin[m].n : 1;
    }
    return r->n ? error / (double)r->n : (double)NAN;
}
