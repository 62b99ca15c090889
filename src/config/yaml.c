#include "config/yaml.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/strmap.h"
#include "config/scalar.h"

enum { DEPTH_MAX = 100, VALUES_MAX = 10000, ITEMS_MAX = 100000, BYTES_MAX = 4 << 20 };

/* What libyaml's events compose: shared where aliases are, so a graph. */
struct item {
    enum { ITEM_SCALAR, ITEM_LIST, ITEM_MAP } kind;
    int line, col; /* from 1 */
    const char *text, *tag;
    bool quoted, open; /* open: its end has not been read yet */
    struct item **sub; /* of a map: key, value, key, value, ... */
    int nsub, capsub;
};

struct reader {
    yaml_parser_t parser;
    const char *name;
    struct arena mem;
    struct strmap anchors;
    struct problems *p;
    int nvalues, nitems; /* aliases expanded; texts and numbers of lists apart */
};

static const char *place(struct reader *r, int line, int col)
{
    return arena_printf(&r->mem, "%s:%d:%d", r->name, line, col);
}

__attribute__((format(printf, 3, 4))) static void
fail(struct reader *r, const struct item *at, const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        abort();
    va_end(ap);
    problems_error(r->p, place(r, at->line, at->col), "%s", text);
    free(text);
}

/* --- events to items
 * ---------------------------------------------------------------------- */

static bool next(struct reader *r, yaml_event_t *e)
{
    const yaml_parser_t *y = &r->parser;

    if (yaml_parser_parse(&r->parser, e))
        return true;

    bool reader = y->error == YAML_READER_ERROR;
    int line = reader ? 0 : (int)y->problem_mark.line + 1;
    int col = reader ? 0 : (int)y->problem_mark.column + 1;

    if (reader)
        problems_error(r->p, r->name, "not a text in UTF-8: %s at byte %zu", y->problem,
                       y->problem_offset);
    else if (y->context)
        problems_error(r->p, place(r, line, col), "not YAML: %s %s", y->problem,
                       y->context);
    else
        problems_error(r->p, place(r, line, col), "not YAML: %s", y->problem);
    return false;
}

static struct item *item_new(struct reader *r, const yaml_event_t *e, int kind)
{
    struct item *it = arena_new(&r->mem, sizeof(*it));

    it->kind = kind == ITEM_MAP ? ITEM_MAP : kind == ITEM_LIST ? ITEM_LIST : ITEM_SCALAR;
    it->line = (int)e->start_mark.line + 1;
    it->col = (int)e->start_mark.column + 1;
    return it;
}

static void item_name(struct reader *r, struct item *it, const yaml_char_t *anchor,
                      const yaml_char_t *tag)
{
    if (anchor)
        strmap_put(&r->anchors, (const char *)anchor, it);
    if (tag)
        it->tag = arena_strdup(&r->mem, (const char *)tag);
}

static struct item *scalar(struct reader *r, const yaml_event_t *e)
{
    struct item *it = item_new(r, e, ITEM_SCALAR);

    it->text = arena_strdup(&r->mem, (const char *)e->data.scalar.value);
    it->quoted = e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    item_name(r, it, e->data.scalar.anchor, e->data.scalar.tag);
    if (strlen(it->text) == e->data.scalar.length)
        return it;
    fail(r, it, "a text cannot hold a NUL character");
    return NULL;
}

static struct item *alias(struct reader *r, const yaml_event_t *e)
{
    const char *name = (const char *)e->data.alias.anchor;
    struct item *it = strmap_get(&r->anchors, name), at = {0};

    at.line = (int)e->start_mark.line + 1;
    at.col = (int)e->start_mark.column + 1;
    if (!it)
        fail(r, &at, "unknown alias *%s", name);
    else if (it->open)
        fail(r, &at, "alias *%s stands inside its own anchor", name);
    return it && !it->open ? it : NULL;
}

static struct item *compose(struct reader *r, yaml_event_t *e, int depth);

static bool compose_subs(struct reader *r, struct item *it, yaml_event_type_t end,
                         int depth)
{
    it->open = true;
    for (;;) {
        yaml_event_t e;
        struct item *sub;

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
            struct item **old = it->sub;

            it->capsub = it->capsub ? it->capsub * 2 : 8;
            it->sub = arena_new(&r->mem, (size_t)it->capsub * sizeof(struct item *));
            if (old)
                memcpy(it->sub, old, (size_t)it->nsub * sizeof(struct item *));
        }
        it->sub[it->nsub++] = sub;
    }
}

/* The item that starts with `e`; NULL after an error. */
static struct item *compose(struct reader *r, yaml_event_t *e, int depth)
{
    struct item *it;
    bool map = e->type == YAML_MAPPING_START_EVENT;

    if (e->type == YAML_SCALAR_EVENT)
        return scalar(r, e);
    if (e->type == YAML_ALIAS_EVENT)
        return alias(r, e);
    it = item_new(r, e, map ? ITEM_MAP : ITEM_LIST);
    if (depth > DEPTH_MAX) {
        fail(r, it, "nested more than %d levels deep", DEPTH_MAX);
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

/* --- items to values
 * ---------------------------------------------------------------------- */

/*
 * Aliases make a small file large, and deeper than it is written. What stands in a list
 * costs little, and names of classes may be many.
 */
static bool affordable(struct reader *r, const struct item *at, int depth, bool item)
{
    int *n = item ? &r->nitems : &r->nvalues, most = item ? ITEMS_MAX : VALUES_MAX;

    if (depth > DEPTH_MAX)
        fail(r, at, "nested more than %d levels deep", DEPTH_MAX);
    else if (++*n == most + 1)
        fail(r, at, "more than %d values, those of aliases included", most);
    return depth <= DEPTH_MAX && *n <= most;
}

static bool is_spent(const struct reader *r)
{
    return r->nvalues > VALUES_MAX || r->nitems > ITEMS_MAX;
}

static bool value_of(struct reader *r, struct arena *mem, const struct item *it,
                     int depth, bool item, struct value *v);

static const char *short_tag(const struct item *it)
{
    static const char yaml[] = "tag:yaml.org,2002:";

    if (!it->tag)
        return "";
    return strncmp(it->tag, yaml, sizeof(yaml) - 1) ? it->tag
                                                    : it->tag + sizeof(yaml) - 1;
}

/* !!float 5, !!str 5, ! 5 */
static bool tagged(struct reader *r, struct arena *mem, const struct item *it,
                   struct value *v)
{
    static const struct {
        const char *tag;
        enum value_type type;
    } known[] = {{"str", VALUE_STR},   {"!", VALUE_STR},       {"int", VALUE_INT},
                 {"bool", VALUE_BOOL}, {"float", VALUE_FLOAT}, {"null", VALUE_NONE}};
    bool is_scalar = it->kind == ITEM_SCALAR, ok = false;
    struct value in = value_str(mem, is_scalar ? it->text : "");
    struct strbuf why = STRBUF_INIT;

    in.text = in.s;
    in.quoted = true;
    for (size_t i = 0; is_scalar && i < sizeof(known) / sizeof(*known); i++) {
        if (strcmp(short_tag(it), known[i].tag) != 0)
            continue;
        if (known[i].type == VALUE_NONE || known[i].type == VALUE_STR) {
            *v = known[i].type ? in : value_none();
            return true;
        }
        in = scalar_resolve(mem, it->text);
        ok = coerce(mem, &(struct decl){.type = known[i].type}, &in, v, &why);
        if (!ok)
            fail(r, it, "!!%s must be %s", known[i].tag, why.buf);
        strbuf_release(&why);
        return ok;
    }
    fail(r, it, "a value cannot have the tag %s%s", short_tag(it) == it->tag ? "" : "!!",
         short_tag(it));
    return false;
}

static bool list_of(struct reader *r, struct arena *mem, const struct item *it, int depth,
                    struct value *v)
{
    bool ok = true;

    *v = value_list(mem, VALUE_LIST, it->nsub);
    for (int i = 0; i < it->nsub && !is_spent(r); i++)
        ok = value_of(r, mem, it->sub[i], depth + 1, true, &v->list.item[i]) && ok;
    return ok && !is_spent(r);
}

static bool value_of(struct reader *r, struct arena *mem, const struct item *it,
                     int depth, bool item, struct value *v)
{
    if (!affordable(r, it, depth, item && it->kind == ITEM_SCALAR))
        return false;
    if (it->kind == ITEM_MAP) {
        fail(r, it, "a mapping cannot stand in a list");
        return false;
    }
    if (it->tag && strcmp(short_tag(it), "seq") != 0)
        return tagged(r, mem, it, v);
    if (it->kind == ITEM_LIST)
        return list_of(r, mem, it, depth, v);
    if (it->quoted) {
        *v = value_str(mem, it->text);
        v->text = v->s;
        v->quoted = true;
        return true;
    }
    *v = scalar_resolve(mem, it->text);
    if (v->type != VALUE_OTHER)
        return true;
    fail(r, it,
         "%s is a date, a time or a number beyond 64 bits: quote it if it is a text",
         it->text);
    return false;
}

static bool is_merge(const struct item *key)
{
    if (key->kind != ITEM_SCALAR)
        return false;
    return key->tag ? !strcmp(short_tag(key), "merge")
                    : !key->quoted && !strcmp(key->text, "<<");
}

static bool fill(struct reader *r, struct cfgnode *n, const struct item *map, int depth);

/* Keys that a merge key brings yield to keys that are there. */
static bool fill_merged(struct reader *r, struct cfgnode *n, const struct item *from,
                        int depth)
{
    bool ok = true;

    if (!affordable(r, from, depth, false))
        return false;
    if (from->kind == ITEM_LIST) {
        for (int i = 0; i < from->nsub && !is_spent(r); i++)
            ok = fill_merged(r, n, from->sub[i], depth + 1) && ok;
        return ok && !is_spent(r);
    }
    if (from->kind == ITEM_SCALAR) {
        fail(r, from, "<< wants a mapping or a list of mappings");
        return false;
    }

    struct cfgnode *extra = cfgnode_new();

    ok = fill(r, extra, from, depth);
    for (int i = 0; i < extra->n && ok; i++)
        if (!cfgnode_entry(n, extra->entry[i].key))
            cfgnode_add_copy(n, &extra->entry[i]);
    cfgnode_free(extra);
    return ok;
}

static const struct item *earlier(const struct item *map, int i)
{
    for (int j = 0; j < i; j += 2)
        if (map->sub[j]->kind == ITEM_SCALAR && !is_merge(map->sub[j]) &&
            !strcmp(map->sub[j]->text, map->sub[i]->text))
            return map->sub[j];
    return NULL;
}

static bool fill_key(struct reader *r, struct cfgnode *n, const struct item *map, int i,
                     int depth)
{
    const struct item *key = map->sub[i], *it = map->sub[i + 1], *first;
    struct value v = value_none();

    if (key->kind != ITEM_SCALAR) {
        fail(r, key, "a key must be a text");
        return false;
    }
    first = earlier(map, i);
    if (first) {
        fail(r, key, "key %s stands twice in its section, first in line %d", key->text,
             first->line);
        return false;
    }
    if (it->kind == ITEM_MAP && (!it->tag || !strcmp(short_tag(it), "map"))) {
        struct cfgnode *sub;

        if (!affordable(r, it, depth + 1, false))
            return false;
        sub = cfgnode_add(n, key->text);
        cfgnode_entry(n, key->text)->where =
            arena_printf(n->mem, "%s:%d:%d", r->name, key->line, key->col);
        return fill(r, sub, it, depth + 1);
    }
    if (it->kind == ITEM_MAP) /* !!set, !!omap */
        return tagged(r, n->mem, it, &v);
    return value_of(r, n->mem, it, depth + 1, false, &v) &&
           cfgnode_set(n, key->text, &v, place(r, key->line, key->col));
}

/*
 * All mistakes of a mapping are reported, not only the first. Of its merge keys the last
 * wins, of the mappings in the list of one the first, as in PyYAML.
 */
static bool fill(struct reader *r, struct cfgnode *n, const struct item *map, int depth)
{
    bool ok = true;

    for (int i = 0; i < map->nsub && !is_spent(r); i += 2)
        if (!is_merge(map->sub[i]))
            ok = fill_key(r, n, map, i, depth) && ok;
    for (int i = map->nsub - 2; i >= 0 && !is_spent(r); i -= 2)
        if (is_merge(map->sub[i]))
            ok = fill_merged(r, n, map->sub[i + 1], depth + 1) && ok;
    return ok && !is_spent(r);
}

/* --- documents
 * ------------------------------------------------------------------------------ */

/* The one document's top item in *top, NULL if the file is empty. */
static bool read_document(struct reader *r, struct item **top)
{
    yaml_event_t e;
    bool ok = true, end = false;

    for (int ndoc = 0; ok && !end;) {
        if (!next(r, &e))
            return false;
        end = e.type == YAML_STREAM_END_EVENT;
        if (e.type == YAML_DOCUMENT_START_EVENT && ++ndoc > 1) {
            problems_error(
                r->p, place(r, (int)e.start_mark.line + 1, (int)e.start_mark.column + 1),
                "a second document starts here; a configuration is one");
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

static bool is_empty(const struct item *top)
{
    return !top || (top->kind == ITEM_SCALAR && !top->quoted && !*top->text);
}

struct cfgnode *yaml_read_text(const char *text, size_t len, const char *name,
                               struct problems *p)
{
    struct reader r = {.name = name, .p = p};
    struct cfgnode *root = cfgnode_new();
    struct item *top = NULL;
    bool ok;

    if (!yaml_parser_initialize(&r.parser))
        die("out of memory");
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, len);
    ok = read_document(&r, &top);
    if (ok && !is_empty(top)) {
        if (top->kind == ITEM_MAP)
            (void)fill(&r, root, top, 0);
        else
            fail(&r, top, "a configuration is a mapping of keys, not a %s",
                 top->kind == ITEM_LIST ? "list" : "single value");
    }
    yaml_parser_delete(&r.parser);
    strmap_release(&r.anchors);
    arena_release(&r.mem);
    if (ok)
        return root;
    cfgnode_free(root);
    return NULL;
}

static bool extension_ok(const char *path, const char *where, struct problems *p)
{
    static const char *const good[] = {"", ".yaml", ".yml", ".json"};
    const char *ext = path_extension(path);

    for (int i = 0; i < 4; i++)
        if (!strcmp(ext, good[i]))
            return true;
    if (!strcmp(ext, ".py"))
        problems_error(p, where, "%s: Python configurations cannot be run; write YAML",
                       path);
    else
        problems_error(p, where,
                       "%s: unknown kind of file '%s' (use .yaml, .yml or .json)", path,
                       ext);
    return false;
}

struct cfgnode *yaml_read_file(const char *path, const char *where, struct problems *p)
{
    struct cfgnode *root = NULL;
    size_t len = 0;
    char *text;

    if (!extension_ok(path, where, p))
        return NULL;
    if (file_is_dir(path)) {
        problems_error(p, where, "cannot read '%s': it is a directory", path);
        return NULL;
    }
    text = file_read_most(path, BYTES_MAX, &len);
    if (text)
        root = yaml_read_text(text, len, path, p);
    else if (errno == EFBIG)
        problems_error(p, where, "'%s' is too long: a configuration has at most %d bytes",
                       path, BYTES_MAX);
    else
        problems_error(p, where, "cannot read '%s': %s", path, strerror(errno));
    free(text);
    return root;
}
