#include "dataset/csv_values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/strmap.h"

enum { CLASSES_MAX = 20 }; /* whole numbers of more values may be no classes */

/* Reads a decimal number. Returns false for other texts, and for numbers that fp32 cannot
 * hold. */
static bool read_number(const char *cell, double *x)
{
    char *end;

    if (!*cell || strspn(cell, "+-.0123456789eE") != strlen(cell))
        return false;
    *x = strtod(cell, &end);
    return !*end && isfinite((float)*x);
}

static bool is_number_column(const struct text_table *t, int column)
{
    double x;

    for (int64_t i = 0; i < t->rows; i++)
        if (!read_number(text_table_cell(t, i, column), &x))
            return false;
    return t->rows;
}

/* ---- columns ---- */

/* True for a column that counts rows, such as pandas' index. */
static bool counts_rows(const char *name)
{
    static const char *const known[] = {"", "id", "index", "row", "unnamed: 0"};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (!strcasecmp(name, known[i]))
            return true;
    return false;
}

static void add_numbers(struct csv_values *v, const struct csv_others *o)
{
    const struct text_table *t = v->columns.table;

    for (int c = 0; c < t->columns; c++)
        if (c != o->image && c != o->split && c != o->weight &&
            !counts_rows(t->header[c]) && is_number_column(t, c))
            csv_columns_add(&v->columns, c);
}

static bool find_columns(struct csv_values *v, const char *named, int usual,
                         const struct csv_others *others, struct strbuf *why)
{
    bool all = !named || !*named || !strcmp(named, "*");
    int whole = all ? -1 : text_table_column(v->columns.table, named);

    if (!all && whole < 0)
        return csv_columns_add_named(&v->columns, named, why);
    if (whole >= 0)
        csv_columns_add(&v->columns, whole);
    else if (usual >= 0 && (!named || !*named))
        csv_columns_add(&v->columns, usual);
    else
        add_numbers(v, others);
    if (!v->columns.n)
        strbuf_addf(why,
                    "'%s' has no column of numbers: name the targets by "
                    "DATA.LABEL_COLUMN, with commas between several",
                    v->columns.path);
    return v->columns.n;
}

bool csv_values_init(struct csv_values *v, const struct text_table *t, const char *path,
                     const char *named, int usual, const struct csv_others *others,
                     struct strbuf *why)
{
    *v = (struct csv_values){.columns = {.table = t, .path = path}};
    v->columns.column = xcalloc((size_t)t->columns + 1, sizeof(*v->columns.column));
    if (find_columns(v, named, usual, others, why))
        return true;
    csv_values_release(v);
    return false;
}

void csv_values_release(struct csv_values *v)
{
    free(v->columns.column);
    *v = (struct csv_values){0};
}

void csv_values_name(const struct csv_values *v, struct dataset *d)
{
    d->nclass = v->columns.n;
    d->class_name = xcalloc((size_t)v->columns.n, sizeof(*d->class_name));
    for (int k = 0; k < v->columns.n; k++)
        d->class_name[k] = xstrdup(v->columns.table->header[v->columns.column[k]]);
}

void csv_values_targets(const struct csv_values *v, int64_t row, float *target)
{
    for (int k = 0; k < v->columns.n; k++) {
        const char *cell = text_table_cell(v->columns.table, row, v->columns.column[k]);
        double x;

        if (!*cell)
            die("%s:%d: the target '%s' is empty", v->columns.path,
                v->columns.table->line[row],
                v->columns.table->header[v->columns.column[k]]);
        if (!read_number(cell, &x))
            die("%s:%d: the target '%s' is no finite number: '%.100s'", v->columns.path,
                v->columns.table->line[row],
                v->columns.table->header[v->columns.column[k]], cell);
        target[k] = (float)x;
    }
}

/* ---- numbers or classes ---- */

struct facts {
    int64_t distinct;
    double min, max;
    const char *fraction; /* a cell that is no whole number, or NULL */
};

static struct facts facts_of(const struct text_table *t, int column)
{
    struct facts f = {.min = INFINITY, .max = -INFINITY};
    struct strmap seen = {0};

    for (int64_t i = 0; i < t->rows; i++) {
        const char *cell = text_table_cell(t, i, column);
        double x = 0;

        (void)read_number(cell, &x);
        f.min = fmin(f.min, x);
        f.max = fmax(f.max, x);
        if (!f.fraction && x != rint(x))
            f.fraction = cell;
        if (!strmap_get(&seen, cell)) {
            strmap_put(&seen, cell, &f);
            f.distinct++;
        }
    }
    strmap_release(&seen);
    return f;
}

/* Whole numbers are classes if they are few, or 0 or 1 to the last without a gap. */
static bool is_no_class(const struct text_table *t, int column, struct strbuf *why)
{
    const char *name = t->header[column];
    struct facts f;

    if (!is_number_column(t, column))
        return false;
    f = facts_of(t, column);
    if (f.fraction) {
        strbuf_addf(why, "column %.60s holds numbers such as %.20s", name, f.fraction);
        return true;
    }
    if (f.distinct <= CLASSES_MAX || strcasestr(name, "class") ||
        (f.min >= 0 && f.min <= 1 && f.max - f.min < (double)f.distinct))
        return false;
    strbuf_addf(why, "column %.60s holds %lld different numbers from %g to %g", name,
                (long long)f.distinct, f.min, f.max);
    return true;
}

bool csv_values_are_no_classes(const struct csv_values *v, struct strbuf *why)
{
    for (int k = 0; k < v->columns.n; k++) {
        strbuf_reset(why);
        if (!is_no_class(v->columns.table, v->columns.column[k], why))
            return false;
    }
    return v->columns.n;
}
