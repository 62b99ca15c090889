#include "config/yaml_items.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *yaml_location(struct yaml_reader *r, int line, int col)
{
    return arena_printf(&r->mem, "%s:%d:%d", r->name, line, col);
}

void yaml_fail(struct yaml_reader *r, const struct yaml_item *item, const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        abort();
    va_end(ap);
    problems_error(r->p, yaml_location(r, item->line, item->col), "%s", text);
    free(text);
}

/* Reports bytes that are not text. libyaml only returns their offset. */
static void fail_bytes(struct yaml_reader *r, const yaml_parser_t *y)
{
    size_t pos = y->problem_offset < r->len ? y->problem_offset : r->len, start = pos;
    int line = 1;

    for (size_t i = 0; i < pos; i++)
        line += r->text[i] == '\n';
    while (start > 0 && r->text[start - 1] != '\n')
        start--;
    if (strstr(y->problem, "control characters"))
        problems_error(r->p, yaml_location(r, line, (int)(pos - start) + 1),
                       "YAML does not allow the control character 0x%02x",
                       (unsigned)y->problem_value);
    else
        problems_error(r->p, yaml_location(r, line, (int)(pos - start) + 1),
                       "not valid UTF-8: %s", y->problem);
}

/* True if the line is indented with a tab. */
static bool has_tab(const struct yaml_reader *r, size_t line)
{
    const char *c = r->text;

    for (; line > 0 && (c = memchr(c, '\n', r->len - (size_t)(c - r->text))); line--)
        c++;
    return c && c[strspn(c, " ")] == '\t';
}

/* Reports a syntax error. For something unclosed (a quote, a bracket, a key without
 * colon) its start is reported, since libyaml's place is the end of the file. */
static void fail_yaml(struct yaml_reader *r, const yaml_parser_t *y)
{
    static const char *const begun[] = {"quoted scalar", "flow", "simple key"};
    yaml_mark_t item = y->problem_mark;

    for (int i = 0; i < 3 && y->context; i++)
        if (strstr(y->context, begun[i]))
            item = y->context_mark;

    const char *origin = yaml_location(r, (int)item.line + 1, (int)item.column + 1);

    if (strstr(y->problem, "cannot start any token") && has_tab(r, y->problem_mark.line))
        problems_error(r->p, origin, "invalid YAML: tab in the indentation: use spaces");
    else if (strstr(y->problem, "mapping values are not allowed"))
        problems_error(
            r->p, origin,
            "invalid YAML: a colon inside a value, or a missing one on the line above");
    else if (item.line != y->problem_mark.line)
        problems_error(r->p, origin, "invalid YAML: %s up to line %zu, %s", y->problem,
                       y->problem_mark.line + 1, y->context);
    else
        problems_error(r->p, origin, "invalid YAML: %s%s%s", y->problem,
                       y->context ? " " : "", y->context ? y->context : "");
}

static bool next(struct yaml_reader *r, yaml_event_t *e)
{
    if (yaml_parser_parse(&r->parser, e))
        return true;
    if (r->parser.error == YAML_READER_ERROR)
        fail_bytes(r, &r->parser);
    else
        fail_yaml(r, &r->parser);
    return false;
}

static struct yaml_item *item_new(struct yaml_reader *r, const yaml_event_t *e, int kind)
{
    struct yaml_item *it = arena_new(&r->mem, sizeof(*it));

    it->kind = kind == ITEM_MAP ? ITEM_MAP : kind == ITEM_LIST ? ITEM_LIST : ITEM_SCALAR;
    it->line = (int)e->start_mark.line + 1;
    it->col = (int)e->start_mark.column + 1;
    return it;
}

static void item_name(struct yaml_reader *r, struct yaml_item *it,
                      const yaml_char_t *anchor, const yaml_char_t *tag)
{
    if (anchor)
        strmap_put(&r->anchors, (const char *)anchor, it);
    if (tag)
        it->tag = arena_strdup(&r->mem, (const char *)tag);
}

static struct yaml_item *scalar(struct yaml_reader *r, const yaml_event_t *e)
{
    struct yaml_item *it = item_new(r, e, ITEM_SCALAR);

    it->text = arena_strdup(&r->mem, (const char *)e->data.scalar.value);
    it->quoted = e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    item_name(r, it, e->data.scalar.anchor, e->data.scalar.tag);
    if (strlen(it->text) == e->data.scalar.length)
        return it;
    yaml_fail(r, it, "a string cannot contain a NUL character");
    return NULL;
}

static struct yaml_item *alias(struct yaml_reader *r, const yaml_event_t *e)
{
    const char *name = (const char *)e->data.alias.anchor;
    struct yaml_item *it = strmap_get(&r->anchors, name), item = {0};

    item.line = (int)e->start_mark.line + 1;
    item.col = (int)e->start_mark.column + 1;
    if (!it)
        yaml_fail(r, &item, "unknown alias *%s", name);
    else if (it->open)
        yaml_fail(r, &item, "alias *%s is inside its own anchor", name);
    return it && !it->open ? it : NULL;
}

static struct yaml_item *compose(struct yaml_reader *r, yaml_event_t *e, int depth);

static bool compose_subs(struct yaml_reader *r, struct yaml_item *it,
                         yaml_event_type_t end, int depth)
{
    it->open = true;
    for (;;) {
        yaml_event_t e;
        struct yaml_item *sub;

        if (!next(r, &e))
            return false;
        if (e.type == end) {
            yaml_event_delete(&e);
            it->open = false;
            return true;
        }
        sub = compose(r, &e, depth + 1);
        yaml_event_delete(&e);
        if (!sub)
            return false;
        if (it->nsub == it->capsub) {
            struct yaml_item **old = it->sub;

            it->capsub = it->capsub ? it->capsub * 2 : 8;
            it->sub = arena_new(&r->mem, (size_t)it->capsub * sizeof(struct yaml_item *));
            if (old)
                memcpy(it->sub, old, (size_t)it->nsub * sizeof(struct yaml_item *));
        }
        it->sub[it->nsub++] = sub;
    }
}

/* Returns the item that starts with `e`, or NULL after an error. */
static struct yaml_item *compose(struct yaml_reader *r, yaml_event_t *e, int depth)
{
    struct yaml_item *it;
    bool map = e->type == YAML_MAPPING_START_EVENT;

    if (e->type == YAML_SCALAR_EVENT)
        return scalar(r, e);
    if (e->type == YAML_ALIAS_EVENT)
        return alias(r, e);
    it = item_new(r, e, map ? ITEM_MAP : ITEM_LIST);
    if (depth > YAML_DEPTH_MAX) {
        yaml_fail(r, it, "nested more than %d levels deep", YAML_DEPTH_MAX);
        return NULL;
    }
    if (map)
        item_name(r, it, e->data.mapping_start.anchor, e->data.mapping_start.tag);
    else
        item_name(r, it, e->data.sequence_start.anchor, e->data.sequence_start.tag);
    return compose_subs(r, it, map ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT,
                        depth)
               ? it
               : NULL;
}

bool yaml_compose(struct yaml_reader *r, struct yaml_item **top)
{
    yaml_event_t e;
    bool ok = true, end = false;

    for (int ndoc = 0; ok && !end;) {
        if (!next(r, &e))
            return false;
        end = e.type == YAML_STREAM_END_EVENT;
        if (e.type == YAML_DOCUMENT_START_EVENT && ++ndoc > 1) {
            problems_error(r->p,
                           yaml_location(r, (int)e.start_mark.line + 1,
                                         (int)e.start_mark.column + 1),
                           "a second document starts here: a configuration has only one");
            ok = false;
        } else if (e.type == YAML_SCALAR_EVENT || e.type == YAML_ALIAS_EVENT ||
                   e.type == YAML_SEQUENCE_START_EVENT ||
                   e.type == YAML_MAPPING_START_EVENT) {
            *top = compose(r, &e, 0);
            ok = *top != NULL;
        }
        yaml_event_delete(&e);
    }
    return ok;
}
