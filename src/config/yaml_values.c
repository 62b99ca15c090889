#include "config/yaml_items.h"

#include <string.h>

#include "config/scalar.h"

enum { VALUES_MAX = 10000, ITEMS_MAX = 100000 };

/*
 * Limits values, because aliases can make a small file large and deep. List items are
 * cheap, and there may be many class names, so their limit is higher.
 */
static bool affordable(struct yaml_reader *r, const struct yaml_item *entry, int depth,
                       bool item)
{
    int *n = item ? &r->nitems : &r->nvalues, max = item ? ITEMS_MAX : VALUES_MAX;

    if (depth > YAML_DEPTH_MAX)
        yaml_fail(r, entry, "nested more than %d levels deep", YAML_DEPTH_MAX);
    else if (++*n == max + 1)
        yaml_fail(r, entry, "more than %d values, including aliases", max);
    return depth <= YAML_DEPTH_MAX && *n <= max;
}

static bool is_exhausted(const struct yaml_reader *r)
{
    return r->nvalues > VALUES_MAX || r->nitems > ITEMS_MAX;
}

static bool value_of(struct yaml_reader *r, struct arena *mem, const struct yaml_item *it,
                     int depth, bool item, struct value *v);

static const char *short_tag(const struct yaml_item *it)
{
    static const char yaml[] = "tag:yaml.org,2002:";

    if (!it->tag)
        return "";
    return strncmp(it->tag, yaml, sizeof(yaml) - 1) ? it->tag
                                                    : it->tag + sizeof(yaml) - 1;
}

/* Resolves a tagged scalar: !!float 5, !!str 5, ! 5. */
static bool tagged(struct yaml_reader *r, struct arena *mem, const struct yaml_item *it,
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
            yaml_fail(r, it, "!!%s must be %s", known[i].tag, why.buf);
        strbuf_release(&why);
        return ok;
    }
    yaml_fail(r, it, "a value cannot have the tag %s%s",
              short_tag(it) == it->tag ? "" : "!!", short_tag(it));
    return false;
}

static bool list_of(struct yaml_reader *r, struct arena *mem, const struct yaml_item *it,
                    int depth, struct value *v)
{
    bool ok = true;

    *v = value_list(mem, VALUE_LIST, it->nsub);
    for (int i = 0; i < it->nsub && !is_exhausted(r); i++)
        ok = value_of(r, mem, it->sub[i], depth + 1, true, &v->list.item[i]) && ok;
    return ok && !is_exhausted(r);
}

static bool key_of(struct yaml_reader *r, const struct yaml_item *map, int i);

/* Converts a mapping that is an item of a list. */
static bool map_of(struct yaml_reader *r, struct arena *mem, const struct yaml_item *it,
                   int depth, struct value *v)
{
    bool ok = true;

    *v = value_list(mem, VALUE_MAP, it->nsub);
    for (int i = 0; i < it->nsub && !is_exhausted(r); i += 2) {
        struct value *key = &v->list.item[i];

        *key = value_str(mem, "");
        if (!key_of(r, it, i)) {
            ok = false;
            continue;
        }
        *key = value_str(mem, it->sub[i]->text);
        ok = value_of(r, mem, it->sub[i + 1], depth + 1, true, key + 1) && ok;
    }
    return ok && !is_exhausted(r);
}

static bool meaning_of(struct yaml_reader *r, struct arena *mem,
                       const struct yaml_item *it, int depth, bool item, struct value *v)
{
    if (!affordable(r, it, depth, item && it->kind == ITEM_SCALAR))
        return false;
    if (it->kind == ITEM_MAP && (!it->tag || !strcmp(short_tag(it), "map")))
        return map_of(r, mem, it, depth, v);
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
    if (!strcmp(it->text, "="))
        yaml_fail(r, it, "a lone = has a special meaning in YAML: quote it");
    else
        yaml_fail(r, it, "%s is %s: quote it if you mean a string", it->text,
                  strchr(it->text, ':') || strchr(it->text + 1, '-')
                      ? "a date or a time"
                      : "a number beyond 64 bits");
    return false;
}

static bool value_of(struct yaml_reader *r, struct arena *mem, const struct yaml_item *it,
                     int depth, bool item, struct value *v)
{
    bool ok = meaning_of(r, mem, it, depth, item, v);

    v->line = it->line;
    return ok;
}

static bool is_merge(const struct yaml_item *key)
{
    if (key->kind != ITEM_SCALAR)
        return false;
    return key->tag ? !strcmp(short_tag(key), "merge")
                    : !key->quoted && !strcmp(key->text, "<<");
}

/* Adds the keys of a merge key that do not exist yet. */
static bool fill_merged(struct yaml_reader *r, struct cfgnode *n,
                        const struct yaml_item *src, int depth)
{
    bool ok = true;

    if (!affordable(r, src, depth, false))
        return false;
    if (src->kind == ITEM_LIST) {
        for (int i = 0; i < src->nsub && !is_exhausted(r); i++)
            ok = fill_merged(r, n, src->sub[i], depth + 1) && ok;
        return ok && !is_exhausted(r);
    }
    if (src->kind == ITEM_SCALAR) {
        yaml_fail(r, src, "<< needs a mapping or a list of mappings");
        return false;
    }

    struct cfgnode *extra = cfgnode_new();

    ok = yaml_fill(r, extra, src, depth);
    for (int i = 0; i < extra->n && ok; i++)
        if (!cfgnode_entry(n, extra->entry[i].key))
            cfgnode_add_copy(n, &extra->entry[i]);
    cfgnode_free(extra);
    return ok;
}

static const struct yaml_item *earlier(const struct yaml_item *map, int i)
{
    for (int j = 0; j < i; j += 2)
        if (map->sub[j]->kind == ITEM_SCALAR && !is_merge(map->sub[j]) &&
            !strcmp(map->sub[j]->text, map->sub[i]->text))
            return map->sub[j];
    return NULL;
}

/* Returns false and reports an error if the key is not a text or is a duplicate. */
static bool key_of(struct yaml_reader *r, const struct yaml_item *map, int i)
{
    const struct yaml_item *key = map->sub[i], *first;

    if (key->kind != ITEM_SCALAR) {
        yaml_fail(r, key, "a key must be a string");
        return false;
    }
    first = earlier(map, i);
    if (first)
        yaml_fail(r, key, "duplicate key %s, first on line %d", key->text, first->line);
    return !first;
}

static bool fill_key(struct yaml_reader *r, struct cfgnode *n,
                     const struct yaml_item *map, int i, int depth)
{
    const struct yaml_item *key = map->sub[i], *it = map->sub[i + 1];
    struct value v = value_none();

    if (!key_of(r, map, i))
        return false;
    if (it->kind == ITEM_MAP && (!it->tag || !strcmp(short_tag(it), "map"))) {
        struct cfgnode *sub;

        if (!affordable(r, it, depth + 1, false))
            return false;
        sub = cfgnode_add(n, key->text);
        cfgnode_entry(n, key->text)->origin =
            arena_printf(n->mem, "%s:%d:%d", r->name, key->line, key->col);
        return yaml_fill(r, sub, it, depth + 1);
    }
    if (it->kind == ITEM_MAP) /* !!set, !!omap */
        return tagged(r, n->mem, it, &v);
    return value_of(r, n->mem, it, depth + 1, false, &v) &&
           cfgnode_set(n, key->text, &v, yaml_location(r, key->line, key->col));
}

bool yaml_fill(struct yaml_reader *r, struct cfgnode *n, const struct yaml_item *map,
               int depth)
{
    bool ok = true;

    for (int i = 0; i < map->nsub && !is_exhausted(r); i += 2)
        if (!is_merge(map->sub[i]))
            ok = fill_key(r, n, map, i, depth) && ok;
    for (int i = map->nsub - 2; i >= 0 && !is_exhausted(r); i -= 2)
        if (is_merge(map->sub[i]))
            ok = fill_merged(r, n, map->sub[i + 1], depth + 1) && ok;
    return ok && !is_exhausted(r);
}
