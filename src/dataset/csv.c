/*
 * DATA.DATASET csv: a table with a column of images and a column of classes, as Kaggle's
 * train.csv, Hugging Face's metadata.csv and metadata.jsonl, and pandas write it.
 *
 * The table is, for the split "train" below DATA_PATH, the first that is there:
 *   train.csv, train.tsv, train.jsonl
 *   train/metadata.csv, train/metadata.jsonl, with paths below train/
 *   a table with a split column: DATA_PATH itself, or labels, metadata, data, index, or all
 *   of .csv, .tsv, or .jsonl in the folder DATA_PATH
 * Without a split column, a single table is the training split, and DATA.VAL_FRACTION or
 * DATA.FOLD takes the validation images from it.
 *
 * Columns are those that DATA.IMAGE_COLUMN, LABEL_COLUMN, and SPLIT_COLUMN name, or else the
 * first with a usual name. Images are paths or names without an extension, below
 * DATA.IMAGE_FOLDER or a folder next to the table (csv_images.h); the first rows decide
 * where they lie. Classes are the texts of the label column: those of classes.txt, or all that there are, by
 * number if all are whole numbers, else in byte order.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/strmap.h"
#include "dataset/class_files.h"
#include "dataset/class_names.h"
#include "dataset/csv_table.h"

/* ---- classes ---- */

static int compare_numbers(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    long p = strtol(x, NULL, 10), q = strtol(y, NULL, 10);

    return p != q ? (p > q) - (p < q) : strcmp(x, y);
}

static bool is_whole_number(const char *text)
{
    uint64_t number;

    text += *text == '-';
    return checked_number(&text, INT32_MAX, &number) && !*text;
}

/* By number where all classes are whole numbers: 2 before 10. */
static void sort_numbers(struct dataset *d)
{
    for (int i = 0; i < d->nclass; i++)
        if (!is_whole_number(d->class_name[i]))
            return;
    qsort(d->class_name, (size_t)d->nclass, sizeof(*d->class_name), compare_numbers);
}

/* Of all rows, those of other splits too, so that splits have the same classes. */
static void name_classes(struct dataset *d, const struct csv *c, const char *dir)
{
    const char **name;

    if (class_names_read(d, dir))
        return;
    name = xcalloc((size_t)c->t.rows, sizeof(*name));
    for (int64_t i = 0; i < c->t.rows; i++) {
        name[i] = text_table_cell(&c->t, i, c->label);
        if (!*name[i])
            die("%s:%d: the class is empty", c->path, c->t.line[i]);
    }
    class_names_add_sorted(d, name, c->t.rows);
    sort_numbers(d);
    free(name);
}

static float weight_of(const struct csv *c, int64_t row)
{
    const char *text = text_table_cell(&c->t, row, c->weight);
    char *end;
    double w = strtod(text, &end);

    if (end == text || *end || !(w >= 0) || !isfinite(w))
        die("%s:%d: invalid weight '%s': expected a number of at least 0", c->path,
            c->t.line[row], text);
    return (float)w;
}

/* Adds an image with its set of labels or its numbers. */
static void add_targets(struct class_files *f, const struct csv *c, int64_t row,
                        const char *path)
{
    size_t n = (size_t)f->base.nclass;
    uint8_t *target;
    float *value;

    if (c->values.columns.n) {
        value = arena_new(&f->mem, n * sizeof(*value));
        csv_values_targets(&c->values, row, value);
        class_files_add_values(f, path, value);
        return;
    }
    target = arena_new(&f->mem, n);
    csv_labels_targets(&c->labels, row, (int)n, target);
    class_files_add_set(f, path, target);
}

static void add_images(struct class_files *f, const struct csv *c,
                       const struct dataset_source *s, const char *ending)
{
    struct strmap label = {0};
    bool classes = !s->multilabel && !s->values;

    for (int k = 0; k < f->base.nclass && classes; k++)
        strmap_put(&label, f->base.class_name[k], (void *)(uintptr_t)(k + 1));
    for (int64_t i = 0; i < c->t.rows; i++) {
        const char *name = !classes ? "" : text_table_cell(&c->t, i, c->label);
        const char *image = text_table_cell(&c->t, i, c->image);
        uintptr_t k = (uintptr_t)strmap_get(&label, name);

        if (!csv_has_row(c, s, i))
            continue;
        if (!*image)
            die("%s:%d: the image's name is empty", c->path, c->t.line[i]);
        if (!k && classes)
            die("%s:%d: class '%s' is not in classes.txt", c->path, c->t.line[i], name);
        image = arena_printf(&f->mem, "%s%s", image, ending);
        if (classes)
            class_files_add(f, image, (int32_t)k - 1);
        else
            add_targets(f, c, i, image);
        if (c->weight >= 0)
            f->file[f->base.n - 1].weight = weight_of(c, i);
    }
    strmap_release(&label);
}

/* ---- the storage ---- */

static bool csv_check(const struct dataset_source *s, struct strbuf *why)
{
    struct csv c;
    bool good = csv_find(&c, s, why);

    csv_release(&c);
    return good;
}

/* True if the table has lists of labels, or columns of 0 and 1 and none of classes. */
static bool csv_has_label_sets(const struct dataset_source *s)
{
    struct dataset_source sets = *s;
    struct strbuf unused = STRBUF_INIT;
    struct csv c;
    int64_t lists;
    char separator;
    bool has;

    sets.multilabel = true;
    has = csv_find(&c, &sets, &unused) &&
          (c.label < 0 || csv_labels_are_lists(&c.t, c.label, false, &lists, &separator));
    csv_release(&c);
    strbuf_release(&unused);
    return has;
}

/* True if the label column holds numbers that are no classes, or all columns of numbers
 * do and none is the label column. */
static bool csv_has_values(const struct dataset_source *s, struct strbuf *columns,
                           struct strbuf *why)
{
    struct dataset_source values = *s;
    struct strbuf unused = STRBUF_INIT;
    struct csv c;
    bool has;

    values.values = true;
    has = csv_find(&c, &values, &unused) && csv_values_are_no_classes(&c.values, why);
    for (int k = 0; has && k < c.values.columns.n; k++)
        strbuf_addf(columns, "%s%s", k ? "," : "",
                    c.t.header[c.values.columns.column[k]]);
    csv_release(&c);
    strbuf_release(&unused);
    return has;
}

static bool csv_probe(const struct dataset_source *s)
{
    struct strbuf unused = STRBUF_INIT;
    bool is = !s->label_maps && (csv_check(s, &unused) || csv_has_label_sets(s) ||
                                 csv_has_values(s, &unused, &unused));

    strbuf_release(&unused);
    return is;
}

static void log_columns(const struct csv *c, const struct dataset_source *s)
{
    const int *column = s->values       ? c->values.columns.column
                        : s->multilabel ? c->labels.columns.column
                                        : &c->label;
    int n = s->values ? c->values.columns.n : s->multilabel ? c->labels.columns.n : 1;

    log_info("'%s': reading images from '%s' (column %s), %s in %s%s", c->path, c->root,
             c->t.header[c->image],
             s->values       ? "targets"
             : s->multilabel ? "labels"
                             : "classes",
             n > 1 ? "several columns, the first is " : "column ",
             c->t.header[column[0]]);
}

static struct dataset *csv_open(const struct dataset_source *s)
{
    struct strbuf why = STRBUF_INIT;
    struct class_files *f;
    const char *ending = "";
    struct csv c;
    char *dir;

    if (!csv_find(&c, s, &why))
        die("%s", why.buf);
    if (!csv_find_root(&c, s, &ending))
        die("%s:%d: image '%s' not found (also with .jpg or .png) in the folder of the "
            "table or its %s%simages, train, or data: set DATA.IMAGE_FOLDER",
            c.path, c.t.line[0], text_table_cell(&c.t, 0, c.image),
            s->split ? s->split : "", s->split ? ", " : "");
    dir = path_dirname(c.path);
    f = class_files_new(c.root, c.path);
    if (s->values) {
        csv_values_name(&c.values, &f->base);
    } else if (s->multilabel) {
        csv_labels_name(&c.labels, &f->base, dir);
    } else {
        name_classes(&f->base, &c, dir);
        csv_labels_warn_lists(&c.t, c.path, c.label);
    }
    if (c.weight >= 0)
        class_files_set_weighted(f);
    add_images(f, &c, s, ending);
    if (!f->base.n)
        die("'%s': no row has '%s' in its column '%s'", c.path, s->split,
            c.t.header[c.split]);
    log_columns(&c, s);
    csv_release(&c);
    free(dir);
    return &f->base;
}

static const char *const csv_reads[] = {"DATA.IMAGE_COLUMN",
                                        "DATA.LABEL_COLUMN",
                                        "DATA.SPLIT_COLUMN",
                                        "DATA.IMAGE_FOLDER",
                                        "DATA.WEIGHT_COLUMN",
                                        "DATA.LABEL_SEPARATOR",
                                        NULL};

const struct storage storage_csv = {
    .name = "csv",
    .alias = {"tsv", "jsonl"},
    .help = "a table (CSV, TSV, or JSON lines) with a column of images and one of "
            "classes: SPLIT.csv, or labels.csv or metadata.csv with a split column",
    .labels = STORAGE_CLASSES,
    .reads = csv_reads,
    .probe = csv_probe,
    .has_label_sets = csv_has_label_sets,
    .has_values = csv_has_values,
    .check = csv_check,
    .open = csv_open,
};
