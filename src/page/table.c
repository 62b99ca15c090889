#include "page/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"

/* Parses the cell at *c in place: terminates it with NUL and moves *c after it. Returns the
 * delimiter: a comma, a newline, or NUL. */
static char parse_cell(char **c, const char **cell)
{
    char *dst = *c, *src = *c, end;
    bool quoted = *src == '"';

    *cell = dst;
    for (src += quoted; *src; src++) {
        if (!quoted && strchr(",\r\n", *src))
            break;
        if (quoted && *src == '"' && src[1] != '"') {
            quoted = false; /* the cell ends here */
            continue;
        }
        src += quoted && *src == '"'; /* "" is an escaped quote */
        *dst++ = *src;
    }
    src += *src == '\r';
    end = *src;
    *c = src + (end != '\0');
    *dst = '\0';
    if (**cell == '\'' && (*cell)[1] && strchr("=+-@", (*cell)[1]))
        ++*cell; /* csv_add_name() adds a ' to protect spreadsheets */
    return end;
}

static bool parse_row(struct table *t, char **c, int *n, int *cap)
{
    int columns = 0;
    char end;

    do {
        GROW(t->cell, *n, *cap);
        end = parse_cell(c, &t->cell[(*n)++]);
        columns++;
    } while (end == ',');
    if (!t->rows)
        t->columns = columns;
    t->rows++;
    return columns == t->columns;
}

bool table_read(struct table *t, const char *dir, const char *name)
{
    char *path = path_join(dir, name), *c;
    int n = 0, cap = 0;
    bool good = true;

    *t = (struct table){.text = file_read(path, NULL)};
    free(path);
    if (!t->text)
        return false;
    for (c = t->text; good && *c;)
        good = parse_row(t, &c, &n, &cap);
    if (!good || !t->rows)
        table_release(t);
    return good && t->rows;
}

void table_release(struct table *t)
{
    free(t->text);
    free(t->cell);
    *t = (struct table){0};
}

const char *table_cell(const struct table *t, int row, int column)
{
    return column < 0 ? "" : t->cell[(ptrdiff_t)row * t->columns + column];
}

int table_column(const struct table *t, const char *name)
{
    for (int i = 0; i < t->columns; i++)
        if (!strcmp(table_cell(t, 0, i), name))
            return i;
    return -1;
}

double table_number(const struct table *t, int row, int column)
{
    const char *text = table_cell(t, row, column);
    char *end;
    double v = strtod(text, &end);

    return *text && !*end ? v : (double)NAN;
}
