#include "io/json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/utf8.h"

static void add_quoted(struct strbuf *out, const char *text)
{
    static const char named[] = "\"\\\b\f\n\r\t", letter[] = "\"\\bfnrt";

    strbuf_addch(out, '"');
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        size_t len = utf8_len(s);
        const char *cursor = strchr(named, *s);

        if (cursor)
            strbuf_addf(out, "\\%c", letter[cursor - named]);
        else if (!len)
            strbuf_addstr(out, "\xef\xbf\xbd");
        else if (utf8_unsafe(utf8_char(s, len)))
            strbuf_addf(out, "\\u%04x", (unsigned)utf8_char(s, len));
        else
            strbuf_add(out, s, len);
        s += len ? len : 1;
    }
    strbuf_addch(out, '"');
}

void json_add_double(struct strbuf *s, double value)
{
    char digits[40];

    for (int precision = 15; precision <= 17; precision++) {
        (void)snprintf(digits, sizeof(digits), "%.*g", precision, value);
        if (!(strtod(digits, NULL) != value))
            break;
    }
    strbuf_addstr(s, digits);
}

void json_add_float(struct strbuf *s, float value)
{
    char digits[40];

    for (int precision = 6; precision <= 9; precision++) {
        (void)snprintf(digits, sizeof(digits), "%.*g", precision, (double)value);
        if (!(strtof(digits, NULL) != value))
            break;
    }
    strbuf_addstr(s, digits);
}

static void newline(struct json_writer *w)
{
    if (w->pretty)
        strbuf_addf(w->out, "\n%*s", 2 * w->depth, "");
}

/* Writes the comma and the key before a value. */
static void lead(struct json_writer *w, const char *key)
{
    int top = w->depth - 1;

    if ((key != NULL) != (top >= 0 && w->stack[top] == '{'))
        BUG("JSON: %s", key ? "a key outside an object" : "a member without a key");
    if (top < 0)
        return;
    if (w->filled[top])
        strbuf_addch(w->out, ',');
    w->filled[top] = true;
    newline(w);
    if (key) {
        add_quoted(w->out, key);
        strbuf_addstr(w->out, w->pretty ? ": " : ":");
    }
}

static void begin(struct json_writer *w, const char *key, char bracket)
{
    lead(w, key);
    if (w->depth == (int)sizeof(w->stack))
        BUG("JSON nested too deeply");
    w->stack[w->depth] = bracket;
    w->filled[w->depth] = false;
    w->depth++;
    strbuf_addch(w->out, bracket);
}

void json_begin_object(struct json_writer *w, const char *key)
{
    begin(w, key, '{');
}

void json_begin_array(struct json_writer *w, const char *key)
{
    begin(w, key, '[');
}

void json_end(struct json_writer *w)
{
    if (!w->depth)
        BUG("JSON: nothing to end");
    w->depth--;
    if (w->filled[w->depth])
        newline(w);
    strbuf_addch(w->out, w->stack[w->depth] == '{' ? '}' : ']');
}

void json_put_string(struct json_writer *w, const char *key, const char *value)
{
    lead(w, key);
    add_quoted(w->out, value);
}

void json_put_double(struct json_writer *w, const char *key, double value)
{
    lead(w, key);
    if (isfinite(value))
        json_add_double(w->out, value);
    else
        strbuf_addstr(w->out, "null");
}

void json_put_float(struct json_writer *w, const char *key, float value)
{
    lead(w, key);
    if (isfinite(value))
        json_add_float(w->out, value);
    else
        strbuf_addstr(w->out, "null");
}

void json_put_int(struct json_writer *w, const char *key, int64_t value)
{
    lead(w, key);
    strbuf_addf(w->out, "%lld", (long long)value);
}

void json_put_bool(struct json_writer *w, const char *key, bool value)
{
    lead(w, key);
    strbuf_addstr(w->out, value ? "true" : "false");
}

void json_put_null(struct json_writer *w, const char *key)
{
    lead(w, key);
    strbuf_addstr(w->out, "null");
}

void json_put_known(struct json_writer *w, const char *key, int64_t value, int64_t least)
{
    if (value >= least)
        json_put_int(w, key, value);
    else
        json_put_null(w, key);
}

json_t *json_parse(const char *text, size_t len, struct strbuf *why)
{
    json_error_t err;
    json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &err);

    if (!root)
        strbuf_addf(why, "JSON, line %d, column %d: %s", err.line, err.column, err.text);
    return root;
}

json_t *json_parse_file(const char *path, struct strbuf *why)
{
    size_t len;
    char *text = file_read(path, &len);
    json_t *root;

    if (!text) {
        strbuf_addf(why, "cannot read '%s': %s", path, file_strerror(errno));
        return NULL;
    }
    strbuf_addf(why, "'%s': ", path);
    root = json_parse(text, len, why);
    if (root)
        strbuf_reset(why);
    free(text);
    return root;
}
