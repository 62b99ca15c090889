#include "config/dump.h"

#include <math.h>
#include <string.h>

#include "base/utf8.h"
#include "config/literal.h"
#include "config/scalar.h"

/* --- texts that must read back unchanged --------------------------------------------*/

/* Adds a layer of Python quotes to a quoted text, since reading removes one. */
static void add_layer(struct strbuf *s, const char *text)
{
    size_t len = strlen(text);
    char q = *text;

    if (len < 2 || (q != '\'' && q != '"') || text[len - 1] != q) {
        strbuf_addstr(s, text);
        return;
    }
    q = q == '\'' ? '"' : '\'';
    strbuf_addch(s, q);
    for (; *text; text++) {
        if (*text == q || *text == '\\')
            strbuf_addch(s, '\\');
        if (*text == '\n' || *text == '\r')
            strbuf_addstr(s, *text == '\n' ? "\\n" : "\\r");
        else
            strbuf_addch(s, *text);
    }
    strbuf_addch(s, q);
}

/* True if the unquoted text would be read as another type. */
static bool looks_typed(const char *text)
{
    struct arena mem = {0};
    bool typed = scalar_resolve(&mem, text).type != VALUE_STR ||
                 literal_parse(&mem, text).type != VALUE_STR || !strcmp(text, "<<");

    arena_release(&mem);
    return typed;
}

/* Appends 1.0e-08 or .inf: Python's digits, with the dot that YAML 1.1 requires. */
static void add_yaml_double(struct strbuf *s, double f)
{
    struct strbuf d = STRBUF_INIT;
    char *e;

    value_add_double(&d, f);
    e = strchr(d.buf, 'e');
    if (isnan(f) || isinf(f))
        strbuf_addstr(s, isnan(f) ? ".nan" : f < 0 ? "-.inf" : ".inf");
    else if (e && !strchr(d.buf, '.'))
        strbuf_addf(s, "%.*s.0%s", (int)(e - d.buf), d.buf, e);
    else
        strbuf_addstr(s, d.buf);
    strbuf_release(&d);
}

static void add_plain(struct strbuf *s, const struct value *v)
{
    if (v->type == VALUE_BOOL)
        strbuf_addstr(s, v->b ? "true" : "false");
    else if (v->type == VALUE_INT)
        strbuf_addf(s, "%lld", (long long)v->i);
    else if (v->type == VALUE_FLOAT)
        add_yaml_double(s, v->f);
    else
        strbuf_addstr(s, "null");
}

/* --- one line ----------------------------------------------------------------------- */

/* True for characters that end a line in YAML 1.1, are not allowed in files, or control a
 * terminal. */
static bool is_special(uint32_t c)
{
    return utf8_unsafe(c) || c == 0xfffe || c == 0xffff;
}

static void add_escape(struct strbuf *s, uint32_t c)
{
    if (c == '\n' || c == '\t')
        strbuf_addstr(s, c == '\n' ? "\\n" : "\\t");
    else
        strbuf_addf(s, c < 256 ? "\\x%02X" : "\\u%04X", (unsigned)c);
}

/* Appends the next character, escaped if necessary; an invalid byte counts as a
 * character. Returns the rest of the text. */
static const char *add_char(struct strbuf *s, const char *text)
{
    size_t len = utf8_len((const unsigned char *)text);
    uint32_t c = utf8_char((const unsigned char *)text, len);

    if (!len || is_special(c))
        add_escape(s, c);
    else
        strbuf_add(s, text, len);
    return text + (len ? len : 1);
}

static bool has_special(const char *text)
{
    size_t len;

    for (const unsigned char *s = (const unsigned char *)text; *s; s += len ? len : 1) {
        len = utf8_len(s);
        if (is_special(utf8_char(s, len)))
            return true;
    }
    return false;
}

void yaml_add_comment(struct strbuf *s, const char *text)
{
    while (*text)
        text = add_char(s, text);
}

static void add_double_quoted(struct strbuf *s, const char *text)
{
    strbuf_addch(s, '"');
    while (*text) {
        if (*text == '"' || *text == '\\')
            strbuf_addch(s, '\\');
        text = add_char(s, text);
    }
    strbuf_addch(s, '"');
}

static bool plain_safe(const char *text)
{
    static const char indicator[] = "-?:,[]{}#&*!|>'\"%@` ";
    size_t len = strlen(text);

    if (!len || strchr(indicator, *text) || looks_typed(text))
        return false;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];

        if (c <= 32 || c >= 127 || strchr(",?[]{}#:'\"", c))
            return false;
    }
    return true;
}

static void add_text(struct strbuf *s, const char *text)
{
    struct strbuf t = STRBUF_INIT;

    add_layer(&t, text);
    if (plain_safe(t.buf)) {
        strbuf_addstr(s, t.buf);
    } else if (has_special(t.buf)) {
        add_double_quoted(s, t.buf);
    } else {
        strbuf_addch(s, '\'');
        for (const char *c = t.buf; *c; c++)
            strbuf_addf(s, *c == '\'' ? "''" : "%c", *c);
        strbuf_addch(s, '\'');
    }
    strbuf_release(&t);
}

void value_add_yaml(struct strbuf *s, const struct value *v)
{
    if (v->type == VALUE_STR) {
        add_text(s, v->s);
    } else if (v->type == VALUE_LIST || v->type == VALUE_TUPLE) {
        strbuf_addch(s, '[');
        for (int i = 0; i < v->list.n; i++) {
            strbuf_addstr(s, i ? ", " : "");
            value_add_yaml(s, &v->list.item[i]);
        }
        strbuf_addch(s, ']');
    } else if (v->type == VALUE_MAP) {
        strbuf_addch(s, '{');
        for (int i = 0; i < v->list.n; i++) {
            strbuf_addstr(s, i % 2 ? ": " : i ? ", " : "");
            value_add_yaml(s, &v->list.item[i]);
        }
        strbuf_addch(s, '}');
    } else {
        add_plain(s, v);
    }
}
