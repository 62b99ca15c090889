/* The files of a report. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "io/csv.h"
#include "io/json.h"
#include "io/written.h"
#include "train/paint.h"
#include "train/report.h"

#include "train/multilabel.h"
#include "train/regression.h"
#include "train/segmentation.h"

static const char summary[] = "report.json";

const char *report_refuse(const char *dir)
{
    char *path = path_join(dir, summary);
    int n = 0;
    char **name;
    bool ours = written_is(path, WRITTEN_JSON);

    free(path);
    if (!file_exists(dir) || ours)
        return NULL;
    if (!file_is_dir(dir))
        return "it is not a folder";
    name = dir_list(dir, &n);
    dir_list_free(name, n);
    return n ? "it is not empty and has no trainc report" : NULL;
}

static void put_file(const char *dir, const char *name, struct strbuf *s)
{
    char *path = path_join(dir, name);

    if (atomic_write_file(path, s->buf ? s->buf : "", s->len))
        die("cannot write '%s': %s", path, strerror(errno));
    free(path);
    strbuf_release(s);
}

static double share(int64_t part, int64_t all)
{
    return all ? (double)part / (double)all : (double)NAN;
}

static void add_share(struct strbuf *s, int64_t part, int64_t all)
{
    strbuf_addch(s, ',');
    if (all) /* else the cell is empty */
        strbuf_addf(s, "%.6f", share(part, all));
}

/* Adds a column; empty if there is none. */
static void add_boundary(struct strbuf *s, double iou)
{
    if (isnan(iou))
        strbuf_addch(s, ',');
    else
        strbuf_addf(s, ",%.6g", iou);
}

static void write_classes(const struct report *r, const char *dir)
{
    bool borders = r->pixels && !isnan(r->pixels->boundary);
    struct strbuf s = STRBUF_INIT;

    strbuf_addf(&s, "class,%s,right,recall,precision,f1,iou%s\n",
                r->n ? "images" : "pixels", borders ? ",boundary_iou" : "");
    for (int c = 0; c < r->classes->n; c++) {
        const struct report_class *k = &r->class_counts[c];

        csv_add_name(&s, r->classes->name[c]);
        strbuf_addf(&s, ",%lld,%lld", (long long)k->n, (long long)k->right);
        add_share(&s, k->right, k->n);
        add_share(&s, k->right, k->taken);
        add_share(&s, 2 * k->right, k->n + k->taken);
        add_share(&s, k->right, k->n + k->taken - k->right);
        if (borders)
            add_boundary(&s, r->pixels->class_result[c].boundary);
        strbuf_addch(&s, '\n');
    }
    put_file(dir, "classes.csv", &s);
}

static void write_matrix(const struct report *r, const char *dir)
{
    struct strbuf s = STRBUF_INIT;
    int k = r->classes->n;

    strbuf_addstr(&s, "label");
    for (int p = 0; p < k; p++) {
        strbuf_addch(&s, ',');
        csv_add_name(&s, r->classes->name[p]);
    }
    for (int y = 0; y < k; y++) {
        strbuf_addch(&s, '\n');
        csv_add_name(&s, r->classes->name[y]);
        for (int p = 0; p < k; p++)
            strbuf_addf(&s, ",%lld", (long long)r->matrix[(int64_t)y * k + p]);
    }
    strbuf_addch(&s, '\n');
    put_file(dir, "confusion.csv", &s);
}

/* White to dark blue; the square root makes small fractions visible. */
static void color(double part, uint8_t rgb[3])
{
    static const double dark[3] = {8, 48, 107};
    double t = part > 0 ? sqrt(part) : 0;

    for (int c = 0; c < 3; c++)
        rgb[c] = (uint8_t)lrint(255 + t * (dark[c] - 255));
}

static void paint_matrix(const struct report *r, const char *dir)
{
    int k = r->classes->n, cell = k >= 720 ? 1 : 720 / k, side = k * cell;
    int line = cell >= 8; /* width of the grid lines between cells */
    uint8_t *image = xmalloc((size_t)side * (size_t)side * 3);
    char *path = path_join(dir, "confusion.png");

    memset(image, 208, (size_t)side * (size_t)side * 3);
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++) {
            int label = y / cell, answer = x / cell;
            int64_t n = r->matrix[(int64_t)label * k + answer],
                    all = r->class_counts[label].n;

            if (y % cell < cell - line && x % cell < cell - line)
                color(all ? share(n, all) : 0, image + 3 * ((int64_t)y * side + x));
        }
    paint_write(path, image, side, side, NULL);
    free(path);
    free(image);
}

struct pair {
    int label, answer;
    int64_t n;
};

static int by_count(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;

    if (x->n != y->n)
        return x->n > y->n ? -1 : 1;
    return x->label != y->label ? x->label - y->label : x->answer - y->answer;
}

static void write_pairs(const struct report *r, const char *dir)
{
    struct strbuf s = STRBUF_INIT;
    int64_t n = 0, cap = 0, k = r->classes->n;
    struct pair *pair = NULL;

    for (int64_t i = 0; i < k * k; i++) {
        if (!r->matrix[i] || i / k == i % k)
            continue;
        GROW(pair, n, cap);
        pair[n++] = (struct pair){(int)(i / k), (int)(i % k), r->matrix[i]};
    }
    if (n)
        qsort(pair, (size_t)n, sizeof(*pair), by_count);
    strbuf_addf(&s, "label,answer,%s,share_of_label\n", r->n ? "images" : "pixels");
    for (int64_t i = 0; i < n && i < REPORT_PAIRS; i++) {
        csv_add_name(&s, r->classes->name[pair[i].label]);
        strbuf_addch(&s, ',');
        csv_add_name(&s, r->classes->name[pair[i].answer]);
        strbuf_addf(&s, ",%lld", (long long)pair[i].n);
        add_share(&s, pair[i].n, r->class_counts[pair[i].label].n);
        strbuf_addch(&s, '\n');
    }
    put_file(dir, "pairs.csv", &s);
    free(pair);
}

/* Largest loss first; NaN counts as infinite. */
static int by_loss(const void *a, const void *b)
{
    const struct report_item *x = a, *y = b;
    double u = isnan(x->loss) ? INFINITY : x->loss;
    double v = isnan(y->loss) ? INFINITY : y->loss;

    if (u > v || u < v)
        return u > v ? -1 : 1;
    return (x->sample > y->sample) - (x->sample < y->sample);
}

static void write_worst(struct report *r, const char *dir)
{
    struct strbuf s = STRBUF_INIT, name = STRBUF_INIT;

    if (r->n)
        qsort(r->item, (size_t)r->n, sizeof(*r->item), by_loss);
    strbuf_addstr(&s, "image,label,answer,loss,probability_of_label,"
                      "probability_of_answer\n");
    for (int64_t i = 0; i < r->n && i < REPORT_WORST; i++) {
        const struct report_item *it = &r->item[i];

        strbuf_reset(&name);
        dataset_describe(r->data, it->sample, &name);
        csv_add_name(&s, name.buf);
        strbuf_addch(&s, ',');
        csv_add_name(&s, r->classes->name[it->label]);
        strbuf_addch(&s, ',');
        csv_add_name(&s, r->classes->name[it->answer]);
        strbuf_addf(&s, ",%.6g,%.6g,%.6g\n", it->loss, (double)it->of_label,
                    (double)it->confidence);
    }
    put_file(dir, "worst.csv", &s);
    strbuf_release(&name);
}

static void put_bins(struct json_writer *w, const struct report *r)
{
    struct report_bin bin[REPORT_BINS];

    json_put_double(w, "expected_calibration_error", report_calibration(r, bin));
    json_begin_array(w, "bins");
    for (int m = 0; m < REPORT_BINS; m++) {
        json_begin_object(w, NULL);
        json_put_int(w, "images", bin[m].n);
        json_put_double(w, "confidence", bin[m].confidence);
        json_put_double(w, "accuracy", share(bin[m].right, bin[m].n));
        json_end(w);
    }
    json_end(w);
}

static void write_summary(const struct report *r, const char *dir)
{
    struct strbuf s = STRBUF_INIT;
    struct json_writer w = json_writer(&s);
    int64_t n = 0, right = 0, present = 0;
    double recall = 0;

    for (int c = 0; c < r->classes->n; c++) {
        n += r->class_counts[c].n;
        right += r->class_counts[c].right;
        present += r->class_counts[c].n > 0;
        recall += r->class_counts[c].n
                      ? share(r->class_counts[c].right, r->class_counts[c].n)
                      : 0;
    }
    w.pretty = true;
    written_begin(&w);
    json_put_string(&w, "model", r->model);
    json_put_string(&w, "weights", r->weights);
    json_put_int(&w, r->n ? "images" : "pixels", n);
    json_put_double(&w, "accuracy", share(right, n));
    json_put_double(&w, "mean_recall", present ? recall / (double)present : (double)NAN);
    if (r->n)
        put_bins(&w, r);
    json_end(&w);
    strbuf_addch(&s, '\n');
    put_file(dir, summary, &s);
}

/* Writes report.json and labels.csv of MODEL_MULTILABEL. */
static void write_sets(const struct report *r, const char *dir)
{
    struct strbuf s = STRBUF_INIT;
    struct json_writer w = json_writer(&s);

    w.pretty = true;
    written_begin(&w);
    json_put_string(&w, "model", r->model);
    json_put_string(&w, "weights", r->weights);
    json_put_double(&w, "map", r->sets->map);
    json_put_double(&w, "f1_micro", r->sets->f1_micro);
    json_put_double(&w, "f1_macro", r->sets->f1_macro);
    json_put_double(&w, "auroc", r->sets->auroc);
    json_end(&w);
    strbuf_addch(&s, '\n');
    put_file(dir, summary, &s);
    multilabel_add_csv(&s, r->sets, r->classes->name);
    put_file(dir, "labels.csv", &s);
}

/* Writes report.json and targets.csv of MODEL_REGRESSION. */
static void write_values(const struct report *r, const char *dir)
{
    struct strbuf s = STRBUF_INIT;
    struct json_writer w = json_writer(&s);

    w.pretty = true;
    written_begin(&w);
    json_put_string(&w, "model", r->model);
    json_put_string(&w, "weights", r->weights);
    json_put_int(&w, "images", r->values->images);
    json_put_double(&w, "mae", r->values->mean.mae);
    json_put_double(&w, "rmse", r->values->mean.rmse);
    json_put_double(&w, "r2", r->values->mean.r2);
    json_end(&w);
    strbuf_addch(&s, '\n');
    put_file(dir, summary, &s);
    regression_add_csv(&s, r->values, r->classes->name);
    put_file(dir, "targets.csv", &s);
}

void report_write(struct report *r, const char *dir)
{
    if (dir_make_all(dir))
        die("cannot make the folder '%s': %s", dir, strerror(errno));
    if (r->sets) {
        write_sets(r, dir);
        return;
    }
    if (r->values) {
        write_values(r, dir);
        return;
    }
    write_summary(r, dir); /* first, because it marks the folder as trainc's */
    write_classes(r, dir);
    if (r->matrix) {
        write_matrix(r, dir);
        paint_matrix(r, dir);
        write_pairs(r, dir);
    } else {
        log_info("skipping the confusion matrix: %d classes, but at most %d fit",
                 r->classes->n, REPORT_CLASSES);
    }
    if (r->n)
        write_worst(r, dir);
}
