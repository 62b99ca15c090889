#include "dataset/text_table.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/file.h"

enum { COLUMNS_MAX = 4096 };

bool text_table_has_extension(const char *path)
{
    static const char *const known[] = {".csv", ".tsv", ".jsonl"};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (!strcasecmp(path_extension(path), known[i]))
            return true;
    return false;
}

int text_table_column(const struct text_table *t, const char *name)
{
    for (int c = 0; c < t->columns; c++)
        if (!strcasecmp(t->header[c], name))
            return c;
    return -1;
}

void text_table_release(struct text_table *t)
{
    free(t->text);
    free(t->cell);
    free(t->line);
    arena_release(&t->mem);
    *t = (struct text_table){0};
}

static void add_cell(struct text_table *t, int64_t cells, const char *text)
{
    GROW(t->cell, cells, t->cell_cap);
    t->cell[cells] = text;
}

static void add_row(struct text_table *t, int line)
{
    GROW(t->line, t->rows, t->line_cap);
    t->line[t->rows++] = line;
}

/* ---- CSV and TSV ---- */

/* The remaining text, and its line number. */
struct cursor {
    char *pos;
    int line;
    char separator;
};

/*
 * Cuts the next field out of the text, without its quotes, and moves past its
 * separator. Sets *last at the end of a record. Returns NULL if a quote is not closed.
 */
static char *next_field(struct cursor *c, bool *last)
{
    char *field = c->pos, *dst = field, *src = field;
    bool quoted = *src == '"', open = quoted;

    src += quoted;
    while (*src && (open || (*src != c->separator && *src != '\n'))) {
        if (quoted && *src == '"' && open && src[1] == '"') {
            src++;
        } else if (quoted && *src == '"') {
            open = !open;
            src++;
            continue;
        }
        c->line += *src == '\n';
        *dst++ = *src++;
    }
    if (open)
        return NULL;
    *last = *src != c->separator || !*src;
    c->line += *src == '\n';
    c->pos = src + (*src != '\0');
    if (*last && dst > field && src[-1] == '\r')
        dst--;
    *dst = '\0';
    return field;
}

/* Skips an empty line. Returns false if the next line is not empty. */
static bool skip_empty_line(struct cursor *c)
{
    char *end = c->pos + (*c->pos == '\r');

    if (*end != '\n' && (*end || end == c->pos))
        return false;
    c->line += *end == '\n';
    c->pos = end + (*end == '\n');
    return true;
}

/* Returns the most frequent separator outside quotes in the first line; a comma if there
 * is none. */
static char find_separator(const char *text)
{
    static const char candidate[] = ",\t;|";
    int count[sizeof(candidate)] = {0}, best = 0;
    bool quoted = false;

    for (; *text && (quoted || *text != '\n'); text++) {
        const char *found = quoted ? NULL : strchr(candidate, *text);

        quoted ^= *text == '"';
        if (found)
            count[found - candidate]++;
    }
    for (int i = 1; candidate[i]; i++)
        if (count[i] > count[best])
            best = i;
    return candidate[best];
}

static bool read_header(struct text_table *t, struct cursor *c, struct strbuf *why)
{
    const char *name[COLUMNS_MAX];
    bool last = false;
    char *field;

    while (*c->pos && skip_empty_line(c))
        ;
    while (!last) {
        field = next_field(c, &last);
        if (!field || t->columns == COLUMNS_MAX) {
            strbuf_addstr(why,
                          field ? ": too many columns" : ":1: a quote is not closed");
            return false;
        }
        field += strspn(field, " ");
        name[t->columns++] = arena_strdup(&t->mem, field);
    }
    t->header = arena_copy(&t->mem, name, (size_t)t->columns * sizeof(*name));
    return true;
}

static bool read_record(struct text_table *t, struct cursor *c, struct strbuf *why)
{
    int line = c->line, n = 0;
    bool last = false;

    while (!last) {
        char *field = next_field(c, &last);

        if (!field) {
            strbuf_addf(why, ":%d: a quote is not closed", line);
            return false;
        }
        if (n < t->columns)
            add_cell(t, t->rows * t->columns + n, field);
        n++;
    }
    if (n != t->columns) {
        strbuf_addf(why, ":%d: %d fields, but the header has %d", line, n, t->columns);
        return false;
    }
    add_row(t, line);
    return true;
}

static bool read_csv(struct text_table *t, const char *path, struct strbuf *why)
{
    bool tabs = !strcasecmp(path_extension(path), ".tsv");
    struct cursor c = {.pos = t->text, .line = 1};

    if (!strncmp(c.pos, "\xef\xbb\xbf", 3))
        c.pos += 3;
    c.separator = '\t';
    if (!tabs)
        c.separator = find_separator(c.pos);
    if (!read_header(t, &c, why))
        return false;
    while (*c.pos)
        if (!skip_empty_line(&c) && !read_record(t, &c, why))
            return false;
    return true;
}

/* ---- JSON lines ---- */

static const char *json_cell(struct arena *mem, const json_t *v)
{
    if (json_is_string(v))
        return arena_strdup(mem, json_string_value(v));
    if (json_is_integer(v))
        return arena_printf(mem, "%lld", (long long)json_integer_value(v));
    if (json_is_real(v))
        return arena_printf(mem, "%.17g", json_real_value(v));
    if (json_is_boolean(v))
        return json_is_true(v) ? "true" : "false";
    return "";
}

/* Makes the fields of the first object the columns. */
static void json_header(struct text_table *t, json_t *object)
{
    const char **name =
        arena_new(&t->mem, (json_object_size(object) + 1) * sizeof(*name));
    const char *key;
    json_t *value;

    json_object_foreach(object, key, value) name[t->columns++] =
        arena_strdup(&t->mem, key);
    t->header = name;
}

static bool json_row(struct text_table *t, const char *text, size_t len, int line,
                     struct strbuf *why)
{
    json_error_t e;
    json_t *object = json_loadb(text, len, 0, &e);

    if (!json_object_size(object)) { /* also 0 if it is not an object */
        strbuf_addf(why, ":%d: %s", line,
                    object ? "not a JSON object with fields" : e.text);
        json_decref(object);
        return false;
    }
    if (!t->header)
        json_header(t, object);
    for (int c = 0; c < t->columns; c++)
        add_cell(t, t->rows * t->columns + c,
                 json_cell(&t->mem, json_object_get(object, t->header[c])));
    add_row(t, line);
    json_decref(object);
    return true;
}

static bool read_json_lines(struct text_table *t, struct strbuf *why)
{
    int line = 1;

    for (char *cursor = t->text, *next; cursor && *cursor; cursor = next, line++) {
        char *end = strchr(cursor, '\n');

        next = end ? end + 1 : NULL;
        end = end ? end : cursor + strlen(cursor);
        if (cursor + strspn(cursor, " \t\r") < end &&
            !json_row(t, cursor, (size_t)(end - cursor), line, why))
            return false;
    }
    return true;
}

static bool read_text(struct text_table *t, const char *path, size_t len,
                      struct strbuf *why)
{
    bool good;

    if (strlen(t->text) != len) {
        strbuf_addstr(why, "  is not a text file: it contains a zero byte");
        return false;
    }
    if (!strcasecmp(path_extension(path), ".jsonl"))
        good = read_json_lines(t, why);
    else
        good = read_csv(t, path, why);
    if (good && !t->rows)
        strbuf_addstr(why, " has no rows");
    return good && t->rows;
}

bool text_table_read(struct text_table *t, const char *path, struct strbuf *why)
{
    struct strbuf fault = STRBUF_INIT;
    size_t len;
    bool good;

    *t = (struct text_table){.text = file_read(path, &len)};
    if (!t->text) {
        strbuf_addf(why, "cannot read '%s': %s", path, file_strerror(errno));
        return false;
    }
    good = read_text(t, path, len, &fault);
    if (!good) {
        strbuf_addf(why, "'%s'%s", path, fault.buf);
        text_table_release(t);
    }
    strbuf_release(&fault);
    return good;
}
