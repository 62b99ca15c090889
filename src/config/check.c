/* Checks each key by itself: choices, ranges, None, and the rules of its row. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "config/cfgnode.h"
#include "config/schema.h"

static bool check_number(const struct schema *row, const struct value *v, double x,
                         struct strbuf *why)
{
    bool limited = row->min < row->max || row->min > 0;

    if (!limited || (x <= row->max && (row->above ? x > row->min : x >= row->min)))
        return true;
    strbuf_addstr(why, "must be ");
    if (schema_is_open(row) && x > row->max)
        strbuf_addf(why, "at most %.15g", row->max);
    else
        strbuf_addstr(why, row->min < row->max && !schema_is_open(row) ? "in " : "");
    if (!schema_is_open(row) || !(x > row->max))
        schema_add_range(why, row);
    strbuf_addstr(why, ", not ");
    value_add_repr(why, v);
    return false;
}

static bool check_value(const struct schema *row, const struct value *v,
                        struct strbuf *why);

/* Checks an item of a list of mappings. Keys are known and have the right type. */
static bool check_map(const struct schema *row, const struct value *v, struct strbuf *why)
{
    for (const struct schema *r = row->record; r->key; r++) {
        const struct value *field = value_of_key(v, r->key);
        struct strbuf item = STRBUF_INIT;
        bool ok = field ? check_value(r, field, &item) : !r->required;

        if (!field && !ok)
            strbuf_addf(why, "has no %s", r->key);
        else if (!ok)
            strbuf_addf(why, "has an invalid %s: it %s", r->key,
                        item.buf + (*item.buf == ':' ? 2 : 0));
        strbuf_release(&item);
        if (!ok)
            return false;
    }
    return true;
}

static bool check_list(const struct schema *row, const struct value *v,
                       struct strbuf *why)
{
    struct strbuf item = STRBUF_INIT;
    bool ok = true;

    if (row->len && v->list.n != row->len) {
        strbuf_addf(why, "must have %d items, not %d", row->len, v->list.n);
        return false;
    }
    for (int i = 0; i < v->list.n && ok; i++) {
        ok = check_value(row, &v->list.item[i], &item);
        if (!ok)
            strbuf_addf(why, ": item %d %s", i, item.buf);
    }
    strbuf_release(&item);
    return ok;
}

static bool check_text(const struct schema *row, const struct value *v,
                       struct strbuf *why)
{
    const char *wanted = row->check ? row->check(v->s) : NULL, *suggestion;

    if (row->choices) {
        const struct choice *c = row->choices;

        while (c->name && strcmp(c->name, v->s) != 0)
            c++;
        if (c->name && c->refuse)
            strbuf_addf(why, "%s %s", v->s, c->refuse);
        if (c->name)
            return !c->refuse;
        strbuf_addstr(why, "must be one of ");
        schema_add_choices(why, row->choices);
    } else if (wanted) {
        strbuf_addf(why, "must be %s", wanted);
    } else {
        return true;
    }
    strbuf_addstr(why, ", not ");
    value_add_repr(why, v);
    if (row->choices && (suggestion = schema_near_choice(row->choices, v->s)))
        strbuf_addf(why, " (did you mean %s?)", suggestion);
    return false;
}

static bool check_value(const struct schema *row, const struct value *v,
                        struct strbuf *why)
{
    if (row->type == SCHEMA_LAYERS && v->type != VALUE_NONE)
        return true;
    switch (v->type) {
    case VALUE_NONE:
        if (row->nullable)
            return true;
        strbuf_addstr(why, "must be ");
        schema_add_type(why, row);
        strbuf_addstr(why, ", not None");
        return false;
    case VALUE_INT:
        return check_number(row, v, (double)v->i, why);
    case VALUE_FLOAT:
        return check_number(row, v, v->f, why);
    case VALUE_STR:
        return check_text(row, v, why);
    case VALUE_LIST:
    case VALUE_TUPLE:
        return check_list(row, v, why);
    case VALUE_MAP:
        return check_map(row, v, why);
    default:
        return true;
    }
}

/* Replaces None: with False for a bool, as Swin's `if config.X` does; with the row's
 * .none; or with the default of a text if that is empty (RESUME: null). */
static void replace_none(const struct schema *row, struct value *v)
{
    const struct value *def = config_default(row->key);

    if (v->type != VALUE_NONE || row->nullable)
        return;
    if (row->type == SCHEMA_BOOL)
        *v = value_bool(false);
    else if (row->none && row->type == SCHEMA_FLOAT)
        *v = (struct value){.type = VALUE_FLOAT, .f = strtod(row->none, NULL)};
    else if (row->none)
        *v = (struct value){.type = VALUE_STR, .s = row->none};
    else if (def->type == VALUE_STR && !*def->s)
        *v = *def;
}

/* Replaces a choice by the first word with the same value: float16 becomes fp16. */
static void first_word(const struct schema *row, struct value *v)
{
    const struct choice *is = row->choices, *c = row->choices;

    if (row->type != SCHEMA_CHOICE)
        return;
    while (strcmp(is->name, v->s) != 0)
        is++;
    while (c->refuse || c->value != is->value)
        c++;
    v->s = c->name;
}

/* Expands ~ in paths, which no shell has done in a file or in --data-path=~/data. */
static void expand_home(const struct schema *row, struct value *v, struct arena *mem)
{
    char *path;

    if (!row->path || v->type != VALUE_STR || *v->s != '~')
        return;
    path = path_home(v->s);
    v->s = v->text = arena_strdup(mem, path);
    free(path);
}

/* Applies first_word and expand_home to the items of a list of mappings. */
static void settle_records(const struct schema *row, struct value *v, struct arena *mem)
{
    for (int i = 0; row->record && i < v->list.n; i++)
        for (const struct schema *r = row->record; r->key; r++) {
            struct value *map = &v->list.item[i], *field = NULL;

            for (int k = 0; k < map->list.n; k += 2)
                if (!strcmp(map->list.item[k].s, r->key))
                    field = &map->list.item[k + 1];
            if (field)
                first_word(r, field);
            if (field)
                expand_home(r, field, mem);
        }
}

static void check_notes(const struct schema *row, const struct cfgnode_entry *e,
                        struct problems *p)
{
    bool same = value_equal(config_default(row->key), &e->value);

    if (!same && row->no_effect)
        problems_unread(p, e->origin, row->key, "%s", row->no_effect);
    if (!same && row->unsupported)
        problems_error(p, e->origin, "%s is not supported: %s", row->key,
                       row->unsupported);
}

static void check_row(const struct schema *row, struct cfgnode_entry *e,
                      struct arena *mem, struct problems *p)
{
    struct strbuf why = STRBUF_INIT;
    int before = p->nerror;

    replace_none(row, &e->value);
    expand_home(row, &e->value, mem);
    if (check_value(row, &e->value, &why)) {
        first_word(row, &e->value);
        settle_records(row, &e->value, mem);
        check_notes(row, e, p);
    } else {
        problems_error(p, e->origin, "%s%s%s", row->key, *why.buf == ':' ? "" : " ",
                       why.buf);
        p->nkey += p->nerror - before;
        e->bad = true;
    }
    strbuf_release(&why);
}

void config_check(struct cfgnode *tree, struct problems *p)
{
    for (const struct schema *row = schema_table; row->key; row++) {
        struct cfgnode_entry *e = cfgnode_find(tree, row->key);

        if (!e->pending)
            check_row(row, e, tree->mem, p);
        e->bad |= e->pending;
        if (e->bad)
            e->value = *config_default(row->key);
    }
}
