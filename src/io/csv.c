#include "io/csv.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/json.h"

struct cut {
    const char *path, *header;
    int64_t last, seen;
};

static bool keep_line(const char *line, void *arg)
{
    struct cut *cut = arg;
    char *end;
    long long row;

    if (!cut->seen++) {
        if (strcmp(line, cut->header) != 0)
            die("'%s' has the columns '%.300s', and this run would write '%.300s'; move "
                "it "
                "away",
                cut->path, line, cut->header);
        return true;
    }
    errno = 0;
    row = strtoll(line, &end, 10);
    return end != line && !errno && (*end == ',' || !*end) && row <= cut->last;
}

void csv_add_text(struct strbuf *s, const char *name)
{
    bool quote = strpbrk(name, ",\"") != NULL;
    char *clean = xstrdup(name);

    one_line(clean);
    if (quote)
        strbuf_addch(s, '"');
    for (const char *c = clean; *c; c++) {
        if (*c == '"')
            strbuf_addch(s, '"');
        strbuf_addch(s, *c);
    }
    if (quote)
        strbuf_addch(s, '"');
    free(clean);
}

void csv_open(struct csv *c, const char *path, const char *const *column, int columns,
              int64_t last)
{
    struct strbuf header = STRBUF_INIT;
    struct cut cut = {.path = path, .last = last};

    for (int i = 0; i < columns; i++) {
        if (i)
            strbuf_addch(&header, ',');
        csv_add_text(&header, column[i]);
    }
    cut.header = header.buf;
    c->columns = columns;
    lines_open(&c->lines, path, last < 0 ? NULL : keep_line, &cut);
    if (!cut.seen)
        lines_add(&c->lines, &header);
    strbuf_release(&header);
}

void csv_row(struct csv *c, const double *value)
{
    struct strbuf line = STRBUF_INIT;

    for (int i = 0; i < c->columns; i++) {
        if (i)
            strbuf_addch(&line, ',');
        if ((double)(float)value[i] == value[i])
            json_add_float(&line, (float)value[i]);
        else if (!isnan(value[i]))
            json_add_double(&line, value[i]);
    }
    lines_add(&c->lines, &line);
    strbuf_release(&line);
}

void csv_close(struct csv *c)
{
    lines_close(&c->lines);
}
