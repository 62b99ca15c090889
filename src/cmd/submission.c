#include "cmd/submission.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/error.h"
#include "base/file.h"
#include "base/strmap.h"
#include "dataset/text_table.h"
#include "io/csv.h"

struct submission {
    struct text_table t; /* the sample */
    const char *sample;  /* its path, or NULL */
    char *const *name;   /* class names */
    int classes;
    bool values;   /* a regression: class_of are targets, and answers the first one */
    int *class_of; /* for each column from 1: the class of its probability, or ANSWER */
    struct strmap row;   /* maps the sample's ids, without extension, to 1 + row */
    struct strbuf *line; /* of each row; empty until its image is added */
    int64_t lines;
    size_t cap;
};

enum { ANSWER = -1 };

/* Returns "0042" for "test/0042.jpg" as a heap string. */
static char *stem_of(const char *path)
{
    const char *base = path_basename(path);

    return xstrndup(base, strlen(base) - strlen(path_extension(base)));
}

static int class_by_name(const struct submission *s, const char *name)
{
    for (int k = 0; k < s->classes; k++)
        if (!strcmp(s->name[k], name))
            return k;
    return ANSWER;
}

/* Finds what each column of the sample holds. */
static void find_classes(struct submission *s)
{
    bool binary = s->classes == 2 && !strcmp(s->name[1], "1");
    int n = s->t.columns;

    s->class_of = xcalloc((size_t)n, sizeof(*s->class_of));
    if (n == 2 && s->values && s->classes == 1) {
        s->class_of[1] = 0;
        return;
    }
    if (n == 2 && !s->values) {
        bool fraction = strchr(text_table_cell(&s->t, 0, 1), '.') != NULL;

        s->class_of[1] = binary && fraction ? 1 : ANSWER;
        return;
    }
    for (int c = 1; c < n; c++) {
        s->class_of[c] = class_by_name(s, s->t.header[c]);
        if (s->class_of[c] == ANSWER)
            die("--sample '%s': the column '%s' is not a %s of the model", s->sample,
                s->t.header[c], s->values ? "target" : "class");
    }
    if (n < 2)
        die("--sample '%s' has only one column; it needs an id and a label", s->sample);
}

struct submission *submission_open(const char *sample, char *const *name, int classes,
                                   bool values)
{
    struct submission *s = xcalloc(1, sizeof(*s));
    struct strbuf why = STRBUF_INIT;

    s->name = name;
    s->classes = classes;
    s->values = values;
    s->sample = sample;
    if (!sample)
        return s;
    if (!text_table_read(&s->t, sample, &why))
        die("--sample: %s", why.buf);
    find_classes(s);
    s->lines = s->t.rows;
    s->line = xcalloc((size_t)s->lines, sizeof(*s->line));
    for (int64_t i = 0; i < s->t.rows; i++) {
        char *id = stem_of(text_table_cell(&s->t, i, 0));

        strmap_put(&s->row, id, (void *)(uintptr_t)(i + 1));
        free(id);
    }
    return s;
}

static int most_likely(const struct submission *s, const double *probability)
{
    int best = 0;

    for (int k = 1; k < s->classes; k++)
        if (probability[k] > probability[best])
            best = k;
    return best;
}

void submission_add(struct submission *s, const char *path, const double *probability)
{
    char *id = stem_of(path);
    int64_t row = (int64_t)(uintptr_t)strmap_get(&s->row, id) - 1;
    struct strbuf *line;

    if (!s->sample) {
        GROW(s->line, s->lines, s->cap);
        row = s->lines++;
        s->line[row] = (struct strbuf)STRBUF_INIT;
    }
    if (row >= 0) { /* ignores images that are not in the sample */
        line = &s->line[row];
        strbuf_reset(line);
        csv_add_name(line, s->sample ? text_table_cell(&s->t, row, 0) : id);
        for (int c = 1; c < (s->sample ? s->t.columns : 2); c++) {
            int k = s->sample ? s->class_of[c] : s->values ? 0 : ANSWER;

            strbuf_addch(line, ',');
            if (k == ANSWER)
                csv_add_name(line, s->name[most_likely(s, probability)]);
            else
                strbuf_addf(line, "%.9g", probability[k]);
        }
    }
    free(id);
}

static void add_header(struct strbuf *out, const struct submission *s)
{
    for (int c = 0; c < s->t.columns; c++) {
        if (c)
            strbuf_addch(out, ',');
        csv_add_name(out, s->t.header[c]);
    }
    if (!s->sample)
        strbuf_addstr(out, "id,label");
    strbuf_addch(out, '\n');
}

static void submission_release(struct submission *s)
{
    for (int64_t i = 0; i < s->lines; i++)
        strbuf_release(&s->line[i]);
    free(s->line);
    free(s->class_of);
    strmap_release(&s->row);
    if (s->sample)
        text_table_release(&s->t);
    free(s);
}

void submission_write(struct submission *s, const char *path)
{
    struct strbuf out = STRBUF_INIT;
    int64_t missing = 0, first = -1;

    add_header(&out, s);
    for (int64_t i = 0; i < s->lines; i++) {
        if (!s->line[i].len) {
            missing++;
            first = first < 0 ? i : first;
            continue;
        }
        strbuf_addf(&out, "%s\n", s->line[i].buf);
    }
    if (missing)
        die("--sample '%s': %lld of %lld rows have no image, first '%s' (line %d); "
            "predict "
            "all images of the sample",
            s->sample, (long long)missing, (long long)s->lines,
            text_table_cell(&s->t, first, 0), s->t.line[first]);
    if (atomic_write_out(path, out.buf, out.len))
        die("cannot write '%s': %s", path, strerror(errno));
    strbuf_release(&out);
    submission_release(s);
}
