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
#include <strings.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/strmap.h"
#include "dataset/class_files.h"
#include "dataset/class_names.h"
#include "dataset/csv_images.h"
#include "dataset/csv_labels.h"
#include "dataset/table.h"
#include "dataset/text_table.h"
#include "image/image.h"

static const char *const image_columns[] = {
    "image",  "image_id", "file_name", "filename",   "file",  "image_path",
    "path",   "filepath", "img",       "image_name", "id",    "img_path",
    "img_id", "name",     "imageid",   "id_code",    "fname", "image_file",
    "photo",  "isic_id",  "uuid",      "file_path",  NULL};
static const char *const label_columns[] = {
    "label",   "class",       "category",    "target",     "species",   "breed",
    "labels",  "class_id",    "label_name",  "class_name", "diagnosis", "classes",
    "variety", "category_id", "class_label", "y",          "dx",        NULL};
static const char *const split_columns[] = {"split",    "subset",  "set", "partition",
                                            "data_set", "dataset", NULL};

/* An open table, and what its columns mean; -1: there is no such column. */
struct csv {
    struct text_table t;
    char *path, *root; /* of the table; of the folder that images are sought in */
    int image, label, split, weight;
    struct csv_labels labels; /* of MODEL.TASK multilabel */
};

/* ---- which file ---- */

static char *existing_file(char *path)
{
    if (file_exists(path) && !file_is_dir(path))
        return path;
    free(path);
    return NULL;
}

/* The table of a split: root/split.csv, or root/split/metadata.csv. NULL if there is none. */
static char *find_split_table(const struct dataset_source *s)
{
    static const char *const form[] = {"%s/%s.csv", "%s/%s.tsv", "%s/%s.jsonl",
                                       "%s/%s/metadata.csv", "%s/%s/metadata.jsonl"};

    for (size_t i = 0; i < sizeof(form) / sizeof(form[0]) && s->split && *s->split; i++) {
        struct strbuf path = STRBUF_INIT;
        const char *split = s->split + (*s->split == '!');
        char *found;

        for (const char *f = form[i]; *f; f++) {
            if (*f != '%') {
                strbuf_addch(&path, *f);
                continue;
            }
            strbuf_addstr(&path, path.len ? split : s->path);
            f++;
        }
        found = existing_file(strbuf_detach(&path));
        if (found)
            return found;
    }
    return NULL;
}

/* A table of all splits. NULL if there is none. */
static char *find_common_table(const struct dataset_source *s)
{
    static const char *const name[] = {"labels", "metadata", "data", "index", "all"};
    static const char *const ending[] = {"csv", "tsv", "jsonl"};

    if (file_exists(s->path) && !file_is_dir(s->path))
        return text_table_has_extension(s->path) ? xstrdup(s->path) : NULL;
    for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++)
        for (size_t e = 0; e < sizeof(ending) / sizeof(ending[0]); e++) {
            char *found =
                existing_file(xasprintf("%s/%s.%s", s->path, name[i], ending[e]));

            if (found)
                return found;
        }
    return NULL;
}

/* ---- which columns ---- */

/* A column by its key's value or, if that is empty, by a usual name. -1 if there is none. */
static int find_column(const struct text_table *t, const char *named,
                       const char *const *usual)
{
    if (named && *named)
        return text_table_column(t, named);
    for (; *usual; usual++) {
        int c = text_table_column(t, *usual);

        if (c >= 0)
            return c;
    }
    return -1;
}

static void add_header(struct strbuf *s, const struct text_table *t)
{
    for (int c = 0; c < t->columns && c < 30; c++)
        strbuf_addf(s, "%s%s", c ? ", " : "", t->header[c]);
    if (t->columns > 30)
        strbuf_addstr(s, ", ...");
}

/* The first column whose first cell names an image file; -1 if none does. */
static int find_image_names(const struct text_table *t)
{
    for (int c = 0; c < t->columns; c++)
        if (image_has_extension(text_table_cell(t, 0, c)))
            return c;
    return -1;
}

static bool find_columns(struct csv *c, const struct dataset_source *s,
                         struct strbuf *why)
{
    const struct text_table *t = &c->t;
    const char *missing = NULL, *key = NULL;

    c->label = -1;
    c->image = find_column(t, s->columns.image, image_columns);
    if (c->image < 0 && !(s->columns.image && *s->columns.image))
        c->image = find_image_names(t);
    if (!s->multilabel || !s->columns.label || !*s->columns.label)
        c->label = find_column(t, s->columns.label, label_columns);
    c->split = find_column(t, s->columns.split, split_columns);
    c->weight = s->columns.weight && *s->columns.weight
                    ? text_table_column(t, s->columns.weight)
                    : -1;
    if (c->label < 0 && c->image >= 0 && t->columns == 2 &&
        !(s->columns.label && *s->columns.label))
        c->label = 1 - c->image;
    if (c->label >= 0 && c->label == c->image)
        c->label = -1;
    if (s->columns.split && *s->columns.split && c->split < 0)
        missing = s->columns.split, key = "DATA.SPLIT_COLUMN";
    if (s->columns.weight && *s->columns.weight && c->weight < 0)
        missing = s->columns.weight, key = "DATA.WEIGHT_COLUMN";
    if (c->label < 0 && !s->multilabel)
        missing = s->columns.label, key = "DATA.LABEL_COLUMN";
    if (c->image < 0)
        missing = s->columns.image, key = "DATA.IMAGE_COLUMN";
    if (!key)
        return !s->multilabel || csv_labels_init(&c->labels, t, c->path, s->columns.label,
                                                 c->label, s->columns.separator, why);
    if (missing && *missing)
        strbuf_addf(why, "'%s' has no column '%s' (%s); its columns are ", c->path,
                    missing, key);
    else
        strbuf_addf(why, "'%s': no column recognized as the %s: set %s to one of ",
                    c->path, c->image < 0 ? "image" : "class", key);
    add_header(why, t);
    return false;
}

/* ---- which rows ---- */

/* True if `cell` names the split: val, valid, validation, and dev are one name. */
static bool is_split(const char *cell, const char *split)
{
    static const char *const validation[] = {"val", "valid", "validation", "dev", NULL};
    bool a = false, b = false;

    for (const char *const *v = validation; *v; v++) {
        a |= !strcasecmp(cell, *v);
        b |= !strcasecmp(split, *v);
    }
    return (a && b) || !strcasecmp(cell, split);
}

/* True if the row is of the split; "!2" is every split but 2. */
static bool has_row(const struct csv *c, const struct dataset_source *s, int64_t row)
{
    const char *split = s->split ? s->split : "", *cell;

    if (c->split < 0 || !*split)
        return true;
    cell = text_table_cell(&c->t, row, c->split);
    return *split == '!' ? !is_split(cell, split + 1) : is_split(cell, split);
}

static void add_no_table(struct strbuf *why, const struct dataset_source *s)
{
    if (s->number > 0)
        strbuf_addf(why,
                    "'%s' has no validation table %s.csv: use DATA.VAL_FRACTION 0.1 to "
                    "validate on a tenth of the training images",
                    s->path, s->split);
    else
        strbuf_addf(why, "no table in '%s': expected %s.csv, labels.csv, or metadata.csv",
                    s->path, s->split ? s->split : "train");
}

/* Opens the table of the split. False, and `why` says what is missing. */
static bool csv_find(struct csv *c, const struct dataset_source *s, struct strbuf *why)
{
    bool own;

    *c = (struct csv){.path = find_split_table(s)};
    own = c->path != NULL;
    if (!own)
        c->path = find_common_table(s);
    if (!c->path) {
        add_no_table(why, s);
        return false;
    }
    if (!text_table_read(&c->t, c->path, why))
        return false;
    if (!find_columns(c, s, why)) {
        text_table_release(&c->t);
        return false;
    }
    if (own)
        c->split = s->columns.split && *s->columns.split ? c->split : -1;
    if (!own && c->split < 0 && s->number > 0 && !s->carved) {
        strbuf_addf(why,
                    "'%s' has no split column, and there is no %s.csv: name the column "
                    "with DATA.SPLIT_COLUMN, or use DATA.VAL_FRACTION 0.1 to validate on "
                    "a tenth of the images",
                    c->path, s->split);
        text_table_release(&c->t);
        return false;
    }
    return true;
}

static void csv_release(struct csv *c)
{
    csv_labels_release(&c->labels);
    text_table_release(&c->t);
    free(c->path);
    free(c->root);
}

/* Sets c->root to the folder of the images; false if none has any. */
static bool find_root(struct csv *c, const struct dataset_source *s, const char **ending)
{
    char *dir = path_dirname(c->path);

    c->root = csv_images_find(
        &(struct csv_images){.table = &c->t,
                             .column = c->image,
                             .dir = dir,
                             .split = s->split ? s->split + (*s->split == '!') : "",
                             .folder = s->columns.folder},
        ending);
    free(dir);
    return c->root;
}

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

/* Adds an image with its set of labels. */
static void add_labels(struct class_files *f, const struct csv *c, int64_t row,
                       const char *path)
{
    int n = f->base.nclass;
    uint8_t *target = arena_new(&f->mem, (size_t)n);

    csv_labels_targets(&c->labels, row, n, target);
    class_files_add_set(f, path, target);
}

static void add_images(struct class_files *f, const struct csv *c,
                       const struct dataset_source *s, const char *ending)
{
    struct strmap label = {0};

    for (int k = 0; k < f->base.nclass && !s->multilabel; k++)
        strmap_put(&label, f->base.class_name[k], (void *)(uintptr_t)(k + 1));
    for (int64_t i = 0; i < c->t.rows; i++) {
        const char *name = s->multilabel ? "" : text_table_cell(&c->t, i, c->label);
        const char *image = text_table_cell(&c->t, i, c->image);
        uintptr_t k = (uintptr_t)strmap_get(&label, name);

        if (!has_row(c, s, i))
            continue;
        if (!*image)
            die("%s:%d: the image's name is empty", c->path, c->t.line[i]);
        if (!k && !s->multilabel)
            die("%s:%d: class '%s' is not in classes.txt", c->path, c->t.line[i], name);
        image = arena_printf(&f->mem, "%s%s", image, ending);
        if (s->multilabel)
            add_labels(f, c, i, image);
        else
            class_files_add(f, image, (int32_t)k - 1);
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

static bool csv_probe(const struct dataset_source *s)
{
    struct strbuf unused = STRBUF_INIT;
    bool is = !s->label_maps && (csv_check(s, &unused) || csv_has_label_sets(s));

    strbuf_release(&unused);
    return is;
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
    if (!find_root(&c, s, &ending))
        die("%s:%d: image '%s' not found (also with .jpg or .png) in the folder of the "
            "table or its %s%simages, train, or data: set DATA.IMAGE_FOLDER",
            c.path, c.t.line[0], text_table_cell(&c.t, 0, c.image),
            s->split ? s->split : "", s->split ? ", " : "");
    dir = path_dirname(c.path);
    f = class_files_new(c.root, c.path);
    if (s->multilabel) {
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
    if (s->multilabel)
        log_info("'%s': reading images from '%s' (column %s), labels in %s%s", c.path,
                 c.root, c.t.header[c.image],
                 c.labels.n > 1 ? "several columns, the first is " : "column ",
                 c.t.header[c.labels.column[0]]);
    else
        log_info("'%s': reading images from '%s' (column %s), classes in column %s",
                 c.path, c.root, c.t.header[c.image], c.t.header[c.label]);
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
    .check = csv_check,
    .open = csv_open,
};
