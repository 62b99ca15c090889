#include "io/csv.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "io/json.h"

/* Lines kept when a file is continued: the header and the rows up to `last`. */
struct cut {
    const char *path, *header;
    int64_t last, seen; /* number of lines seen */
};

static bool keep_line(const char *line, void *arg)
{
    struct cut *cut = arg;
    char *end;
    long long row;

    if (!cut->seen++) {
        if (strcmp(line, cut->header) != 0)
            die("'%s' has the columns '%.300s', and this run would write '%.300s'; move "
                "it away",
                cut->path, line, cut->header);
        return true;
    }
    errno = 0;
    row = strtoll(line, &end, 10);
    return end != line && !errno && (*end == ',' || !*end) && row <= cut->last;
}

static bool keep_all(const char *line, void *arg)
{
    (void)line, (void)arg;
    return true;
}

/* True if a spreadsheet would evaluate the cell as a formula (OWASP, "CSV injection").
 * Numbers are not formulas. */
static bool is_formula(const char *text)
{
    char *end;

    if (!*text || !strchr("=+-@", *text))
        return false;
    (void)strtod(text, &end);
    return *end != '\0';
}

static void add_cell(struct strbuf *s, const char *text, bool foreign)
{
    bool quote = strpbrk(text, ",\"") != NULL;
    char *clean = xstrdup(text);

    one_line(clean);
    if (quote)
        strbuf_addch(s, '"');
    if (foreign && is_formula(clean))
        strbuf_addch(s, '\'');
    for (const char *c = clean; *c; c++) {
        if (*c == '"')
            strbuf_addch(s, '"');
        strbuf_addch(s, *c);
    }
    if (quote)
        strbuf_addch(s, '"');
    free(clean);
}

void csv_add_text(struct strbuf *s, const char *text)
{
    add_cell(s, text, false);
}

void csv_add_name(struct strbuf *s, const char *name)
{
    add_cell(s, name, true);
}

/* Writes the header to an empty file. Returns false if that fails, since without a header
 * a row would be taken for it. */
static bool add_header(struct csv *c)
{
    struct strbuf line = STRBUF_INIT;
    struct stat st;
    int64_t lost = c->lines.lost;

    if (fstat(c->lines.fd, &st) || st.st_size)
        return true;
    strbuf_addstr(&line, c->header);
    lines_add(&c->lines, &line);
    strbuf_release(&line);
    return c->lines.lost == lost;
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
    *c = (struct csv){.columns = columns};
    lines_open(&c->lines, path, last < 0 ? NULL : keep_line, &cut);
    c->header = strbuf_detach(&header);
    (void)add_header(c);
}

void csv_add_score(struct strbuf *s, double x)
{
    if (isnan(x))
        strbuf_addch(s, ',');
    else
        strbuf_addf(s, ",%.6g", x);
}

static void add_number(struct strbuf *line, double value)
{
    if ((double)(float)value == value)
        json_add_float(line, (float)value);
    else if (!isnan(value))
        json_add_double(line, value);
}

/* Appends a row of the file and replaces the values that are known (not NaN). */
static void amend_row(struct strbuf *dst, const char *row, const double *value,
                      int columns)
{
    for (int i = 0; i < columns; i++) {
        size_t len = strcspn(row, ",");

        if (i)
            strbuf_addch(dst, ',');
        if (isnan(value[i]))
            strbuf_add(dst, row, len);
        else
            add_number(dst, value[i]);
        row += len + (row[len] == ',');
    }
    strbuf_addch(dst, '\n');
}

/* Appends the file's text with all late values in their rows. Returns false if it cannot
 * be read. */
static bool amend_rows(struct strbuf *all, const struct csv *c)
{
    char *text = file_read(c->lines.path, NULL);
    bool header = true;

    for (char *line = text, *end; line && (end = strchr(line, '\n')); line = end + 1) {
        const double *late = NULL;

        *end = '\0';
        for (int i = 0; i < c->namended && !header; i++)
            if (strtod(line, NULL) == c->amended[i * c->columns])
                late = c->amended + i * c->columns;
        if (late)
            amend_row(all, line, late, c->columns);
        else
            strbuf_addf(all, "%s\n", line);
        header = false;
    }
    free(text);
    return text != NULL;
}

/* Writes the late values. On failure the next row tries again. */
static void settle(struct csv *c)
{
    char *path = xstrdup(c->lines.path);
    struct strbuf all = STRBUF_INIT;

    if (!c->namended)
        goto done;
    if (!amend_rows(&all, c) || atomic_write_file(path, all.buf, all.len)) {
        if (!c->failed)
            log_warning("cannot write '%s': %s; the next row tries again", path,
                        file_strerror(errno));
        c->failed = true;
        goto done;
    }
    c->namended = 0;
    c->failed = false;
    lines_close(&c->lines); /* the file was replaced; later rows go to the new one */
    lines_open(&c->lines, path, keep_all, NULL);
done:
    free(path);
    strbuf_release(&all);
}

void csv_amend(struct csv *c, const double *value)
{
    size_t row = (size_t)c->columns;

    c->amended =
        xrealloc(c->amended, row * (size_t)(c->namended + 1) * sizeof(*c->amended));
    memcpy(c->amended + row * (size_t)c->namended++, value, row * sizeof(*value));
    settle(c);
}

void csv_row(struct csv *c, const double *value)
{
    struct strbuf line = STRBUF_INIT;

    settle(c);
    if (!add_header(c))
        return;
    for (int i = 0; i < c->columns; i++) {
        if (i)
            strbuf_addch(&line, ',');
        add_number(&line, value[i]);
    }
    lines_add(&c->lines, &line);
    strbuf_release(&line);
}

void csv_close(struct csv *c)
{
    settle(c);
    if (c->namended)
        log_warning("cannot write '%s': values of %d lines are missing there",
                    c->lines.path, c->namended);
    lines_close(&c->lines);
    free(c->header);
    free(c->amended);
    c->header = NULL;
    c->amended = NULL;
    c->namended = 0;
}
