#include "dataset/csv_labels.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "dataset/class_names.h"

static const char separators[] = "|;, ";

/* ---- columns ---- */

/* Returns 0, 1, or TARGET_UNKNOWN for a cell of a one-hot column; -1 for other texts. */
static int one_hot(const char *cell)
{
    static const char *const text[][5] = {{"0", "0.0", "false", "no", NULL},
                                          {"1", "1.0", "true", "yes", NULL},
                                          {"", "-1", "-1.0", "nan", NULL}};
    static const int value[] = {0, 1, TARGET_UNKNOWN};

    for (int k = 0; k < 3; k++)
        for (const char *const *t = text[k]; *t; t++)
            if (!strcasecmp(cell, *t))
                return value[k];
    return -1;
}

/* True if all cells of the column are 0, 1, or unknown, and some is known. */
static bool is_one_hot(const struct text_table *t, int column)
{
    bool known = false;

    for (int64_t i = 0; i < t->rows; i++) {
        int v = one_hot(text_table_cell(t, i, column));

        if (v < 0)
            return false;
        known |= v != TARGET_UNKNOWN;
    }
    return known;
}

static bool find_columns(struct csv_labels *l, const char *named, int usual,
                         struct strbuf *why)
{
    bool all = !named || !*named || !strcmp(named, "*");
    int whole = all ? -1 : text_table_column(l->columns.table, named);

    if (!all && whole < 0)
        return csv_columns_add_named(&l->columns, named, why);
    if (whole >= 0)
        csv_columns_add(&l->columns, whole);
    else if (usual >= 0 && (!named || !*named))
        csv_columns_add(&l->columns, usual);
    for (int c = 0; c < l->columns.table->columns && !l->columns.n; c++)
        for (; c < l->columns.table->columns; c++)
            if (is_one_hot(l->columns.table, c))
                csv_columns_add(&l->columns, c);
    if (!l->columns.n)
        strbuf_addf(
            why,
            "'%s' has no column of labels, and no columns of 0 and 1: name them by "
            "DATA.LABEL_COLUMN, with commas between several",
            l->columns.path);
    return l->columns.n;
}

/* ---- lists ---- */

/* Returns the first of the usual separators that a cell contains; '|' if none does. */
static char find_separator(const struct csv_labels *l)
{
    for (const char *s = separators; *s; s++)
        for (int64_t i = 0; i < l->columns.table->rows; i++)
            for (int c = 0; c < l->columns.n; c++)
                if (strchr(text_table_cell(l->columns.table, i, l->columns.column[c]),
                           *s))
                    return *s;
    return separators[0];
}

/* Calls use(label, arg) for each label of a list; empty ones are skipped. */
static void for_each_label(const char *cell, char separator,
                           void (*use)(const char *label, void *arg), void *arg)
{
    char *list = xstrdup(cell), *rest = list, *label, delimiters[] = {separator, '\0'};

    while ((label = strsep(&rest, delimiters))) {
        char *end;

        label += strspn(label, " \t");
        for (end = label + strlen(label); end > label && strchr(" \t", end[-1]);)
            *--end = '\0';
        if (*label)
            use(label, arg);
    }
    free(list);
}

bool csv_labels_init(struct csv_labels *l, const struct text_table *t, const char *path,
                     const char *named, int usual, const char *separator,
                     struct strbuf *why)
{
    *l = (struct csv_labels){.columns = {.table = t, .path = path}};
    l->columns.column = xcalloc((size_t)t->columns + 1, sizeof(*l->columns.column));
    if (!find_columns(l, named, usual, why)) {
        csv_labels_release(l);
        return false;
    }
    l->one_hot = l->columns.n > 1;
    for (int c = 0; c < l->columns.n; c++)
        l->one_hot &= is_one_hot(t, l->columns.column[c]);
    l->separator = separator && *separator && strcmp(separator, "auto") != 0
                       ? *separator
                       : find_separator(l);
    return true;
}

void csv_labels_release(struct csv_labels *l)
{
    free(l->columns.column);
    strmap_release(&l->class);
    *l = (struct csv_labels){0};
}

/* ---- classes ---- */

struct names {
    char **name;
    int64_t n;
    size_t cap;
};

static void add_name(const char *label, void *arg)
{
    struct names *all = arg;

    GROW(all->name, all->n, all->cap);
    all->name[all->n++] = xstrdup(label);
}

static void names_release(struct names *all)
{
    for (int64_t i = 0; i < all->n; i++)
        free(all->name[i]);
    free(all->name);
}

static void name_headers(const struct csv_labels *l, struct dataset *d)
{
    d->nclass = l->columns.n;
    d->class_name = xcalloc((size_t)l->columns.n, sizeof(*d->class_name));
    for (int c = 0; c < l->columns.n; c++)
        d->class_name[c] = xstrdup(l->columns.table->header[l->columns.column[c]]);
}

static void name_labels(const struct csv_labels *l, struct dataset *d)
{
    struct names all = {0};

    for (int64_t i = 0; i < l->columns.table->rows; i++)
        for (int c = 0; c < l->columns.n; c++)
            for_each_label(text_table_cell(l->columns.table, i, l->columns.column[c]),
                           l->separator, add_name, &all);
    if (!all.n)
        die("'%s': no row has a label", l->columns.path);
    class_names_add_sorted(d, (const char *const *)all.name, all.n);
    names_release(&all);
}

void csv_labels_name(struct csv_labels *l, struct dataset *d, const char *dir)
{
    if (l->one_hot)
        name_headers(l, d);
    else if (!class_names_read(d, dir))
        name_labels(l, d);
    for (int k = 0; k < d->nclass; k++)
        strmap_put(&l->class, d->class_name[k], (void *)(uintptr_t)(k + 1));
}

/* ---- targets ---- */

struct set {
    const struct csv_labels *l;
    int64_t row;
    uint8_t *target;
};

static void set_label(const char *label, void *arg)
{
    const struct set *s = arg;
    uintptr_t k = (uintptr_t)strmap_get(&s->l->class, label);

    if (!k)
        die("%s:%d: class '%s' is not in classes.txt", s->l->columns.path,
            s->l->columns.table->line[s->row], label);
    s->target[k - 1] = 1;
}

void csv_labels_targets(const struct csv_labels *l, int64_t row, int nclass,
                        uint8_t *target)
{
    struct set set = {l, row, target};

    memset(target, 0, (size_t)nclass);
    for (int c = 0; c < l->columns.n; c++) {
        const char *cell = text_table_cell(l->columns.table, row, l->columns.column[c]);

        if (l->one_hot)
            target[c] = (uint8_t)one_hot(cell);
        else
            for_each_label(cell, l->separator, set_label, &set);
    }
}

/* ---- doubt ---- */

struct tokens {
    struct strmap seen;
    int64_t n;
};

static void count_token(const char *label, void *arg)
{
    struct tokens *t = arg;

    if (strmap_get(&t->seen, label))
        return;
    strmap_put(&t->seen, label, t);
    t->n++;
}

bool csv_labels_are_lists(const struct text_table *t, int column, bool spaces,
                          int64_t *lists, char *separator)
{
    struct csv_labels l = {.columns = {.table = t, .column = &column, .n = 1}};
    struct tokens cells = {0}, parts = {0};
    bool are;

    *lists = 0;
    *separator = l.separator = find_separator(&l);
    for (int64_t i = 0; i < t->rows; i++) {
        const char *cell = text_table_cell(t, i, column);

        *lists += strchr(cell, l.separator) != NULL;
        count_token(cell, &cells);
        for_each_label(cell, l.separator, count_token, &parts);
    }
    are = *lists && parts.n < cells.n && (spaces || l.separator != ' ');
    strmap_release(&cells.seen);
    strmap_release(&parts.seen);
    return are;
}

void csv_labels_warn_lists(const struct text_table *t, const char *path, int column)
{
    int64_t lists;
    char separator;

    if (csv_labels_are_lists(t, column, true, &lists, &separator))
        log_warning(
            "'%s': %lld of %lld cells of column %s look like lists of labels with "
            "'%c' between them, and each list is a class of its own; for several "
            "labels per image set MODEL.TASK multilabel",
            path, (long long)lists, (long long)t->rows, t->header[column], separator);
}
