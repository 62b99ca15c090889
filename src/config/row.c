/* What can be done with one row of the schema: find it, check a value, store it. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/suggest.h"
#include "config/schema.h"

const struct schema *schema_find(const struct schema *table, const char *key)
{
    for (const struct schema *row = table; row->key; row++)
        if (!strcmp(row->key, key))
            return row;
    return NULL;
}

struct decl schema_decl(const struct schema *row)
{
    static const struct decl decl[] = {
        [SCHEMA_GONE] = {.type = VALUE_NONE},
        [SCHEMA_BOOL] = {.type = VALUE_BOOL},
        [SCHEMA_INT] = {.type = VALUE_INT},
        [SCHEMA_FLOAT] = {.type = VALUE_FLOAT},
        [SCHEMA_STR] = {.type = VALUE_STR},
        [SCHEMA_CHOICE] = {.type = VALUE_STR},
        [SCHEMA_BOOL_OPT] = {.type = VALUE_BOOL},
        [SCHEMA_FLOAT_OPT] = {.type = VALUE_FLOAT},
        [SCHEMA_INT_LIST] = {.type = VALUE_LIST, .item = VALUE_INT},
        [SCHEMA_FLOAT_LIST] = {.type = VALUE_LIST, .item = VALUE_FLOAT},
        [SCHEMA_STR_LIST] = {.type = VALUE_LIST, .item = VALUE_STR},
        [SCHEMA_INT_TABLE] = {.type = VALUE_LIST, .item = VALUE_LIST, .item2 = VALUE_INT},
    };
    struct decl d = decl[row->type];

    d.word = row->word;
    d.words = d.type == VALUE_LIST && row->choices;
    return d;
}

struct value schema_default(const struct schema *row, struct arena *a)
{
    struct strbuf why = STRBUF_INIT;
    struct decl d = schema_decl(row);
    struct value text = value_str(a, row->def ? row->def : ""), v;

    if (!coerce(a, &d, &text, &v, &why))
        BUG("default of %s must be %s", row->key, why.buf);
    strbuf_release(&why);
    return v;
}

bool schema_is_open(const struct schema *row)
{
    bool number = row->type == SCHEMA_INT || row->type == SCHEMA_INT_LIST;

    return row->max >= (number ? 1e9 : 1e18);
}

void schema_add_range(struct strbuf *s, const struct schema *row)
{
    if (!(row->min < row->max) && !(row->min > 0))
        return;
    if (schema_is_open(row))
        strbuf_addf(s, row->above ? "above %.15g" : "at least %.15g", row->min);
    else if (!(row->min < row->max))
        strbuf_addf(s, "%.15g", row->min);
    else
        strbuf_addf(s, "%c%.15g, %.15g]", row->above ? '(' : '[', row->min, row->max);
}

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

static bool check_list(const struct schema *row, const struct value *v,
                       struct strbuf *why)
{
    if (row->len && v->list.n != row->len) {
        strbuf_addf(why, "must have %d items, not %d", row->len, v->list.n);
        return false;
    }
    for (int i = 0; i < v->list.n; i++)
        if (!schema_check(row, &v->list.item[i], why))
            return false;
    return true;
}

void schema_add_choices(struct strbuf *s, const struct choice *choices)
{
    int n = 0;

    for (const struct choice *c = choices; c->name; c++)
        if (!c->refuse)
            strbuf_addf(s, "%s%s", n++ ? ", " : "", *c->name ? c->name : "''");
}

const char *schema_near_choice(const struct choice *choices, const char *word)
{
    struct suggest s;

    suggest_init(&s, word);
    for (const struct choice *c = choices; c->name; c++)
        if (!c->refuse && *c->name)
            suggest_try(&s, c->name);
    return s.best;
}

static bool check_text(const struct schema *row, const struct value *v,
                       struct strbuf *why)
{
    const char *wanted = row->check ? row->check(v->s) : NULL, *near;

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
    if (row->choices && (near = schema_near_choice(row->choices, v->s)))
        strbuf_addf(why, " (did you mean %s?)", near);
    return false;
}

bool schema_check(const struct schema *row, const struct value *v, struct strbuf *why)
{
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
    default:
        return true;
    }
}

void schema_add_type(struct strbuf *s, const struct schema *row)
{
    static const char *const name[] = {
        [SCHEMA_GONE] = "nothing",
        [SCHEMA_BOOL] = "bool",
        [SCHEMA_INT] = "int",
        [SCHEMA_FLOAT] = "float",
        [SCHEMA_STR] = "str",
        [SCHEMA_CHOICE] = "str",
        [SCHEMA_BOOL_OPT] = "bool",
        [SCHEMA_FLOAT_OPT] = "float",
        [SCHEMA_INT_LIST] = "list of int",
        [SCHEMA_FLOAT_LIST] = "list of float",
        [SCHEMA_STR_LIST] = "list of str",
        [SCHEMA_INT_TABLE] = "list of lists of int",
    };

    if (!row->choices || row->type == SCHEMA_FLOAT_LIST)
        strbuf_addstr(s, name[row->type]);
    if (row->choices) {
        strbuf_addstr(s, row->type == SCHEMA_FLOAT_LIST ? " or one of " : "one of ");
        schema_add_choices(s, row->choices);
    }
    if (row->word)
        strbuf_addf(s, " or %s", row->word);
    if (row->nullable)
        strbuf_addstr(s, " or None");
}
