#include "dataset/csv_table.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/file.h"
#include "dataset/csv_images.h"
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

/* True for a column y next to a column x: both are targets. */
static bool is_coordinate(const struct text_table *t, const struct dataset_source *s,
                          int column)
{
    return s->values && !(s->columns.label && *s->columns.label) &&
           !strcasecmp(t->header[column], "y") && text_table_column(t, "x") >= 0;
}

/* Finds the columns of label sets or values. */
static bool find_targets(struct csv *c, const struct dataset_source *s,
                         struct strbuf *why)
{
    if (s->values)
        return csv_values_init(&c->values, &c->t, c->path, s->columns.label, c->label,
                               &(struct csv_others){c->image, c->split, c->weight}, why);
    return csv_labels_init(&c->labels, &c->t, c->path, s->columns.label, c->label,
                           s->columns.separator, why);
}

static bool find_columns(struct csv *c, const struct dataset_source *s,
                         struct strbuf *why)
{
    const struct text_table *t = &c->t;
    const char *missing = NULL, *key = NULL;
    bool classes = !s->multilabel && !s->values;

    c->label = -1;
    c->image = find_column(t, s->columns.image, image_columns);
    if (c->image < 0 && !(s->columns.image && *s->columns.image))
        c->image = find_image_names(t);
    if (classes || !s->columns.label || !*s->columns.label)
        c->label = find_column(t, s->columns.label, label_columns);
    c->split = find_column(t, s->columns.split, split_columns);
    c->weight = s->columns.weight && *s->columns.weight
                    ? text_table_column(t, s->columns.weight)
                    : -1;
    if (c->label < 0 && c->image >= 0 && t->columns == 2 &&
        !(s->columns.label && *s->columns.label))
        c->label = 1 - c->image;
    if (c->label >= 0 && (c->label == c->image || is_coordinate(t, s, c->label)))
        c->label = -1;
    if (s->columns.split && *s->columns.split && c->split < 0)
        missing = s->columns.split, key = "DATA.SPLIT_COLUMN";
    if (s->columns.weight && *s->columns.weight && c->weight < 0)
        missing = s->columns.weight, key = "DATA.WEIGHT_COLUMN";
    if (c->label < 0 && classes)
        missing = s->columns.label, key = "DATA.LABEL_COLUMN";
    if (c->image < 0)
        missing = s->columns.image, key = "DATA.IMAGE_COLUMN";
    if (!key)
        return classes || find_targets(c, s, why);
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

bool csv_has_row(const struct csv *c, const struct dataset_source *s, int64_t row)
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

bool csv_find(struct csv *c, const struct dataset_source *s, struct strbuf *why)
{
    bool found;

    *c = (struct csv){.path = find_split_table(s)};
    found = c->path != NULL;
    if (!found)
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
    if (found)
        c->split = s->columns.split && *s->columns.split ? c->split : -1;
    if (!found && c->split < 0 && s->number > 0 && !s->carved) {
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

void csv_release(struct csv *c)
{
    csv_labels_release(&c->labels);
    csv_values_release(&c->values);
    text_table_release(&c->t);
    free(c->path);
    free(c->root);
}

bool csv_find_root(struct csv *c, const struct dataset_source *s, const char **ending)
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
