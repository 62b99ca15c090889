#include "config/dump.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/utf8.h"
#include "config/literal.h"
#include "config/scalar.h"

static int by_key(const void *a, const void *b)
{
    const struct cfgnode_entry *const *x = a, *const *y = b;

    return strcmp((*x)->key, (*y)->key);
}

const struct cfgnode_entry **cfgnode_sorted(const struct cfgnode *n)
{
    const struct cfgnode_entry **e =
        xcalloc((size_t)n->n + 1, sizeof(struct cfgnode_entry *));

    for (int i = 0; i < n->n; i++)
        e[i] = &n->entry[i];
    qsort(e, (size_t)n->n, sizeof(struct cfgnode_entry *), by_key);
    return e;
}

/* Texts with line breaks go on, indented; so does an empty section's empty text. */
static void add_indented(struct strbuf *s, const char *text)
{
    for (; *text; text++) {
        strbuf_addch(s, *text);
        if (*text == '\n')
            strbuf_addstr(s, "  ");
    }
}

void cfgnode_str(struct strbuf *s, const struct cfgnode *n)
{
    const struct cfgnode_entry **e = cfgnode_sorted(n);

    for (int i = 0; i < n->n; i++) {
        struct strbuf text = STRBUF_INIT;

        strbuf_addf(s, "%s%s:%s", i ? "\n" : "", e[i]->key, e[i]->node ? "\n  " : " ");
        if (e[i]->node)
            cfgnode_str(&text, e[i]->node);
        else
            value_add_str(&text, &e[i]->value);
        add_indented(s, text.buf);
        strbuf_release(&text);
    }
    free(e);
}

static void add_dict(struct strbuf *s, const struct cfgnode *n)
{
    strbuf_addch(s, '{');
    for (int i = 0; i < n->n; i++) {
        struct value key = {.type = VALUE_STR, .s = n->entry[i].key};

        strbuf_addstr(s, i ? ", " : "");
        value_add_repr(s, &key);
        strbuf_addstr(s, ": ");
        if (n->entry[i].node)
            cfgnode_repr(s, n->entry[i].node);
        else
            value_add_repr(s, &n->entry[i].value);
    }
    strbuf_addch(s, '}');
}

void cfgnode_repr(struct strbuf *s, const struct cfgnode *n)
{
    strbuf_addstr(s, "CfgNode(");
    add_dict(s, n);
    strbuf_addch(s, ')');
}

/* --- what a text must look like to come back -------------------------------------------
 */

/* One more layer of Python quotes for a text that has some, since reading drops one. */
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

/* Whether the text, not in quotes, would be read as something else. */
static bool looks_typed(const char *text)
{
    struct arena mem = {0};
    bool typed = scalar_resolve(&mem, text).type != VALUE_STR ||
                 literal_parse(&mem, text).type != VALUE_STR || !strcmp(text, "<<");

    arena_release(&mem);
    return typed;
}

/* 1.0e-08, .inf: Python's digits, with the dot that YAML 1.1 wants. */
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

/* --- one line
 * ---------------------------------------------------------------------------- */

/* What ends a line in YAML 1.1, and what may not stand in a file as it is. */
static bool is_special(uint32_t c)
{
    return c < 32 || (c >= 127 && c < 0xa0) || c == 0x2028 || c == 0x2029 ||
           c == 0xfeff || c == 0xfffe || c == 0xffff;
}

static void add_escape(struct strbuf *s, uint32_t c)
{
    if (c == '\n' || c == '\t')
        strbuf_addstr(s, c == '\n' ? "\\n" : "\\t");
    else
        strbuf_addf(s, c < 256 ? "\\x%02X" : "\\u%04X", (unsigned)c);
}

/* The next character as it is or escaped; bytes that are none count as one each. */
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
    } else {
        add_plain(s, v);
    }
}

/* --- blocks, as PyYAML
 * ------------------------------------------------------------------- */

static void emit(yaml_emitter_t *y, yaml_event_t *e, int made)
{
    if (!made || !yaml_emitter_emit(y, e))
        BUG("libyaml cannot write: %s", y->problem ? y->problem : "out of memory");
}

static void emit_scalar(yaml_emitter_t *y, const char *text, bool quoted)
{
    yaml_event_t e;

    emit(y, &e,
         yaml_scalar_event_initialize(
             &e, NULL, NULL, (const yaml_char_t *)text, (int)strlen(text), !quoted, 1,
             quoted ? YAML_SINGLE_QUOTED_SCALAR_STYLE : YAML_PLAIN_SCALAR_STYLE));
}

static void emit_text(yaml_emitter_t *y, const char *text)
{
    struct strbuf t = STRBUF_INIT;

    add_layer(&t, text);
    emit_scalar(y, t.buf, looks_typed(t.buf));
    strbuf_release(&t);
}

static void emit_value(yaml_emitter_t *y, const struct value *v)
{
    yaml_event_t e;

    if (v->type == VALUE_STR) {
        emit_text(y, v->s);
    } else if (v->type == VALUE_LIST || v->type == VALUE_TUPLE) {
        emit(y, &e,
             yaml_sequence_start_event_initialize(&e, NULL, NULL, 1,
                                                  YAML_BLOCK_SEQUENCE_STYLE));
        for (int i = 0; i < v->list.n; i++)
            emit_value(y, &v->list.item[i]);
        emit(y, &e, yaml_sequence_end_event_initialize(&e));
    } else {
        struct strbuf t = STRBUF_INIT;

        add_plain(&t, v);
        emit_scalar(y, t.buf, false);
        strbuf_release(&t);
    }
}

static void emit_node(yaml_emitter_t *y, const struct cfgnode *n)
{
    const struct cfgnode_entry **sorted = cfgnode_sorted(n);
    yaml_event_t e;

    emit(
        y, &e,
        yaml_mapping_start_event_initialize(&e, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE));
    for (int i = 0; i < n->n; i++) {
        emit_scalar(y, sorted[i]->key, looks_typed(sorted[i]->key));
        if (sorted[i]->node)
            emit_node(y, sorted[i]->node);
        else
            emit_value(y, &sorted[i]->value);
    }
    emit(y, &e, yaml_mapping_end_event_initialize(&e));
    free(sorted);
}

static int write_strbuf(void *arg, unsigned char *data, size_t len)
{
    strbuf_add(arg, data, len);
    return 1;
}

void cfgnode_dump(struct strbuf *s, const struct cfgnode *n)
{
    yaml_emitter_t y;
    yaml_event_t e;

    if (!yaml_emitter_initialize(&y))
        die("out of memory");
    yaml_emitter_set_output(&y, write_strbuf, s);
    yaml_emitter_set_width(&y, 80);
    emit(&y, &e, yaml_stream_start_event_initialize(&e, YAML_UTF8_ENCODING));
    emit(&y, &e, yaml_document_start_event_initialize(&e, NULL, NULL, NULL, 1));
    emit_node(&y, n);
    emit(&y, &e, yaml_document_end_event_initialize(&e, 1));
    emit(&y, &e, yaml_stream_end_event_initialize(&e));
    yaml_emitter_delete(&y);
}
