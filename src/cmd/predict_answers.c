/* trainc predict for classifiers: prints lines, writes JSON and CSV, and sorts images. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/error.h"
#include "base/file.h"
#include "base/file_name.h"
#include "base/say.h"
#include "cmd/predict.h"
#include "cmd/submission.h"
#include "io/csv.h"
#include "io/written.h"
#include "train/multilabel.h"

/* The folder of --sort must be empty, so that results never mix with other files. */
void answers_check_outputs(const struct predict *p)
{
    int n = 0;
    char **name = p->sorted && file_exists(p->sorted) ? dir_list(p->sorted, &n) : NULL;

    if (n < 0)
        usage("--sort: cannot open '%s': %s", p->sorted, strerror(errno));
    if (n)
        usage("--sort: '%s' is not empty; choose another folder", p->sorted);
    dir_list_free(name, n);
}

static void add_column(struct strbuf *s, const char *text)
{
    strbuf_addch(s, ',');
    csv_add_name(s, text);
}

static void begin_table(struct predict *p)
{
    struct strbuf name = STRBUF_INIT;

    strbuf_addstr(&p->table, p->threshold ? "image,labels" : "image");
    for (int k = 1; k <= p->top; k++) {
        strbuf_reset(&name);
        strbuf_addf(&name, "class%d", k);
        add_column(&p->table, name.buf);
        strbuf_reset(&name);
        strbuf_addf(&name, "probability%d", k);
        add_column(&p->table, name.buf);
    }
    for (int c = 0; c < p->classes && p->probabilities; c++)
        add_column(&p->table, p->name[c]);
    strbuf_addch(&p->table, '\n');
    strbuf_release(&name);
}

void answers_begin(struct predict *p)
{
    if (!p->top || p->top > p->classes)
        p->top = p->classes;
    p->writer = json_writer(&p->text);
    written_begin(&p->writer);
    json_put_string(&p->writer, "model", p->cfg->model.name);
    json_begin_array(&p->writer, p->values ? "targets" : "classes");
    for (int c = 0; c < p->classes; c++)
        json_put_string(&p->writer, NULL, p->name[c]);
    json_end(&p->writer);
    if (p->threshold) {
        json_begin_array(&p->writer, "thresholds");
        for (int c = 0; c < p->classes; c++)
            json_put_double(&p->writer, NULL, p->threshold[c]);
        json_end(&p->writer);
    }
    json_begin_array(&p->writer, "images");
    (p->values ? values_begin_table : begin_table)(p);
    if (p->submission)
        p->answers = submission_open(p->sample, p->name, p->classes, p->values);
}

/* Softmax, or the sigmoid of each class with MODEL.TASK multilabel. */
static void probabilities_of(const struct predict *p, const float *logits,
                             double *probability)
{
    double sum = 0, max = -INFINITY;

    for (int c = 0; p->threshold && c < p->classes; c++)
        probability[c] = multilabel_sigmoid((double)logits[c]);
    if (p->threshold)
        return;
    for (int c = 0; c < p->classes; c++)
        max = fmax(max, (double)logits[c]);
    for (int c = 0; c < p->classes; c++)
        sum += probability[c] = exp((double)logits[c] - max);
    for (int c = 0; c < p->classes; c++)
        probability[c] /= sum;
}

struct ranked {
    float logit;
    int class;
};

/* Largest logit first; ties by class index; NaN last. */
static int by_logit(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    float u = isnan(x->logit) ? -INFINITY : x->logit,
          v = isnan(y->logit) ? -INFINITY : y->logit;

    if (u > v || u < v)
        return u > v ? -1 : 1;
    return x->class - y->class;
}

/* True if the image has the label: its probability reaches the threshold of the class. */
static bool has_label(const struct predict *p, int class, const double *probability)
{
    return probability[class] >= p->threshold[class];
}

/* "path: cat 0.9312, dog 0.7001", or "path: no labels". */
static void print_labels(const struct predict *p, const char *path,
                         const struct ranked *r, const double *probability)
{
    int n = 0;

    say("%s:", path);
    for (int k = 0; k < p->classes; k++)
        if (has_label(p, r[k].class, probability))
            say("%s%s %.4f", n++ ? ", " : " ", p->name[r[k].class],
                probability[r[k].class]);
    say(n ? "\n" : " no labels\n");
}

/* The number of classes to report: at most --topk, and those that reach --threshold. */
static int answers_of(const struct predict *p, const struct ranked *r,
                      const double *probability)
{
    int n = 0;

    while (n < p->top && (p->threshold || !(probability[r[n].class] < p->least)))
        n++;
    return n;
}

static void print_prediction(const struct predict *p, const char *path,
                             const struct ranked *r, const double *probability)
{
    int n = answers_of(p, r, probability);

    if (!n) {
        say("%s: no class reaches %g (%s %.4f)\n", path, p->least, p->name[r[0].class],
            probability[r[0].class]);
        return;
    }
    say("%s:", path);
    for (int k = 0; k < n; k++)
        say("%s%s %.4f", k ? ", " : " ", p->name[r[k].class], probability[r[k].class]);
    say("\n");
}

/* The labels of the image with | between them, as a column. */
static void add_label_column(struct predict *p, const struct ranked *r,
                             const double *probability)
{
    struct strbuf list = STRBUF_INIT;

    for (int k = 0; k < p->classes; k++)
        if (has_label(p, r[k].class, probability))
            strbuf_addf(&list, "%s%s", list.len ? "|" : "", p->name[r[k].class]);
    add_column(&p->table, list.len ? list.buf : "");
    strbuf_release(&list);
}

static void add_row(struct predict *p, const char *path, const struct ranked *r,
                    const double *probability)
{
    int n = answers_of(p, r, probability);

    csv_add_name(&p->table, path);
    if (p->threshold)
        add_label_column(p, r, probability);
    for (int k = 0; k < p->top; k++) {
        if (k >= n) {
            strbuf_addstr(&p->table, ",,");
            continue;
        }
        add_column(&p->table, p->name[r[k].class]);
        strbuf_addf(&p->table, ",%.6g", probability[r[k].class]);
    }
    for (int c = 0; c < p->classes && p->probabilities; c++)
        strbuf_addf(&p->table, ",%.6g", probability[c]);
    strbuf_addch(&p->table, '\n');
}

static void add_object(struct predict *p, int64_t i, const struct ranked *r,
                       const double *probability)
{
    struct json_writer *w = &p->writer;
    int n = answers_of(p, r, probability);

    json_begin_object(w, NULL);
    json_put_string(w, "image", p->images.path[i]);
    cam_put(p, i);
    if (p->threshold) {
        json_begin_array(w, "labels");
        for (int k = 0; k < p->classes; k++)
            if (has_label(p, r[k].class, probability))
                json_put_string(w, NULL, p->name[r[k].class]);
        json_end(w);
    }
    json_begin_array(w, "top");
    for (int k = 0; k < n; k++) {
        json_begin_object(w, NULL);
        json_put_int(w, "index", r[k].class);
        json_put_string(w, "class", p->name[r[k].class]);
        json_put_float(w, "probability", (float)probability[r[k].class]);
        json_end(w);
    }
    json_end(w);
    if (p->probabilities) {
        json_begin_array(w, "probabilities");
        for (int c = 0; c < p->classes; c++)
            json_put_float(w, NULL, (float)probability[c]);
        json_end(w);
    }
    json_end(w);
}

/* Returns the folder name of a class as a heap string. A name that had to be cleaned gets
 * the class index appended, so that no two classes share a folder. */
static char *folder_of(const char *class_name, int class)
{
    char *s = file_name_clean(class_name), *numbered;

    if (!strcmp(s, class_name))
        return s;
    numbered = xasprintf("%s_%d", s, class);
    free(s);
    return numbered;
}

/* Returns an unused path for NAME in dir as a heap string, with a number before the
 * extension if NAME is taken. */
static char *unused_path(const char *dir, const char *name)
{
    int stem = (int)(strlen(name) - strlen(path_extension(name)));
    char *path = path_join(dir, name);

    for (int k = 2; access(path, F_OK) == 0 || errno != ENOENT; k++) {
        if (errno != ENOENT && errno != EEXIST && access(dir, W_OK))
            die("cannot write to '%s': %s", dir, strerror(errno));
        free(path);
        path = xasprintf("%s/%.*s_%d%s", dir, stem, name, k, name + stem);
    }
    return path;
}

static void copy_file(const char *src, const char *dst)
{
    size_t len;
    char *data = file_read(src, &len);

    if (!data)
        die("cannot read '%s': %s", src, file_strerror(errno));
    if (atomic_write_file(dst, data, len))
        die("cannot write '%s': %s", dst, strerror(errno));
    free(data);
}

/* class -1: no class reaches --threshold. */
static void sort_image(const struct predict *p, int64_t i, int class)
{
    char *folder =
        class < 0 ? xstrdup("_below_threshold") : folder_of(p->name[class], class);
    char *dir = path_join(p->sorted, folder);
    char *name = file_name_clean(p->images.name[i]), *path, *real;

    if (dir_make_all(dir))
        die("cannot create the folder '%s': %s", dir, strerror(errno));
    path = unused_path(dir, name);
    if (p->copy) {
        copy_file(p->images.path[i], path);
    } else {
        real = realpath(p->images.path[i], NULL);
        if (!real || symlink(real, path))
            die("cannot link '%s' to '%s': %s; try --copy", path, p->images.path[i],
                strerror(errno));
        free(real);
    }
    free(path);
    free(name);
    free(dir);
    free(folder);
}

void answers_add(struct predict *p, int64_t i, const float *logits)
{
    const char *path = p->images.path[i];

    if (p->values) {
        values_add(p, i, logits);
        return;
    }

    double *probability = xcalloc((size_t)p->classes, sizeof(*probability));
    struct ranked *r = xcalloc((size_t)p->classes, sizeof(*r));

    probabilities_of(p, logits, probability);
    for (int c = 0; c < p->classes; c++)
        r[c] = (struct ranked){logits[c], c};
    qsort(r, (size_t)p->classes, sizeof(*r), by_logit);
    if (p->threshold)
        print_labels(p, path, r, probability);
    else
        print_prediction(p, path, r, probability);
    if (p->csv)
        add_row(p, path, r, probability);
    if (p->json)
        add_object(p, i, r, probability);
    if (p->answers)
        submission_add(p->answers, path, probability);
    if (p->sorted)
        sort_image(p, i, answers_of(p, r, probability) ? r[0].class : -1);
    if (p->ranking)
        ranking_add(p->ranking, i, probability);
    free(probability);
    free(r);
}

static void write_out(const char *path, const struct strbuf *s)
{
    if (path && atomic_write_out(path, s->buf, s->len))
        die("cannot write '%s': %s", path, strerror(errno));
}

void answers_end(struct predict *p)
{
    json_end(&p->writer);
    ranking_end(p);
    json_end(&p->writer);
    strbuf_addch(&p->text, '\n');
    write_out(p->json, &p->text);
    write_out(p->csv, &p->table);
    if (p->answers)
        submission_write(p->answers, p->submission);
    strbuf_release(&p->text);
    strbuf_release(&p->table);
}
