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

static void add_column(struct csv_values *v, int column)
{
    for (int i = 0; i < v->n; i++)
        if (v->column[i] == column)
            return;
    v->column[v->n++] = column;
}

/* Adds the columns named in a list with commas; false with a reason if one is missing. */
static bool add_named(struct csv_values *v, const char *named, struct strbuf *why)
{
    char *list = xstrdup(named), *rest = list, *name;

    while ((name = strsep(&rest, ","))) {
        char *end;
        int c;

        name += strspn(name, " ");
        for (end = name + strlen(name); end > name && end[-1] == ' ';)
            *--end = '\0';
        c = text_table_column(v->table, name);
        if (c < 0) {
            strbuf_addf(why, "'%s' has no column '%.100s' (DATA.LABEL_COLUMN)", v->path,
                        name);
            break;
        }
        add_column(v, c);
    }
    free(list);
    return !name;
}

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
    const struct text_table *t = v->table;

    for (int c = 0; c < t->columns; c++)
        if (c != o->image && c != o->split && c != o->weight &&
            !counts_rows(t->header[c]) && is_number_column(t, c))
            add_column(v, c);
}

static bool find_columns(struct csv_values *v, const char *named, int usual,
                         const struct csv_others *others, struct strbuf *why)
{
    bool all = !named || !*named || !strcmp(named, "*");
    int whole = all ? -1 : text_table_column(v->table, named);

    if (!all && whole < 0)
        return add_named(v, named, why);
    if (whole >= 0)
        add_column(v, whole);
    else if (usual >= 0 && (!named || !*named))
        add_column(v, usual);
    else
        add_numbers(v, others);
    if (!v->n)
        strbuf_addf(why,
                    "'%s' has no column of numbers: name the targets by "
                    "DATA.LABEL_COLUMN, with commas between several",
                    v->path);
    return v->n;
}

bool csv_values_init(struct csv_values *v, const struct text_table *t, const char *path,
                     const char *named, int usual, const struct csv_others *others,
                     struct strbuf *why)
{
    *v = (struct csv_values){.table = t, .path = path};
    v->column = xcalloc((size_t)t->columns + 1, sizeof(*v->column));
    if (find_columns(v, named, usual, others, why))
        return true;
    csv_values_release(v);
    return false;
}

void csv_values_release(struct csv_values *v)
{
    free(v->column);
    *v = (struct csv_values){0};
}

void csv_values_name(const struct csv_values *v, struct dataset *d)
{
    d->nclass = v->n;
    d->class_name = xcalloc((size_t)v->n, sizeof(*d->class_name));
    for (int k = 0; k < v->n; k++)
        d->class_name[k] = xstrdup(v->table->header[v->column[k]]);
}

void csv_values_targets(const struct csv_values *v, int64_t row, float *target)
{
    for (int k = 0; k < v->n; k++) {
        const char *cell = text_table_cell(v->table, row, v->column[k]);
        double x;

        if (!*cell)
            die("%s:%d: the target '%s' is empty", v->path, v->table->line[row],
                v->table->header[v->column[k]]);
        if (!read_number(cell, &x))
            die("%s:%d: the target '%s' is no finite number: '%.100s'", v->path,
                v->table->line[row], v->table->header[v->column[k]], cell);
        target[k] = (float)x;
    }
}

/* ---- numbers or classes ---- */

struct facts {
    int64_t distinct;
    double least, most;
    const char *fraction; /* a cell that is no whole number, or NULL */
};

static struct facts facts_of(const struct text_table *t, int column)
{
    struct facts f = {.least = INFINITY, .most = -INFINITY};
    struct strmap seen = {0};

    for (int64_t i = 0; i < t->rows; i++) {
        const char *cell = text_table_cell(t, i, column);
        double x = 0;

        (void)read_number(cell, &x);
        f.least = fmin(f.least, x);
        f.most = fmax(f.most, x);
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
        (f.least >= 0 && f.least <= 1 && f.most - f.least < (double)f.distinct))
        return false;
    strbuf_addf(why, "column %.60s holds %lld different numbers from %g to %g", name,
                (long long)f.distinct, f.least, f.most);
    return true;
}

bool csv_values_are_no_classes(const struct csv_values *v, struct strbuf *why)
{
    for (int k = 0; k < v->n; k++) {
        strbuf_reset(why);
        if (!is_no_class(v->table, v->column[k], why))
            return false;
    }
    return v->n;
}
