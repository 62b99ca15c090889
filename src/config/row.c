/* Finds and describes a row of the schema. */
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
        [SCHEMA_RECORDS] = {.type = VALUE_LIST, .item = VALUE_MAP},
        [SCHEMA_LAYERS] = {.type = VALUE_LIST, .item = VALUE_OTHER},
    };
    struct decl d = decl[row->type];

    d.word = row->word;
    d.words = d.type == VALUE_LIST && row->choices;
    d.record = row->record;
    d.numbers = row->numbers;
    d.single = row->single;
    return d;
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

void schema_add_type(struct strbuf *s, const struct schema *row)
{
    static const char *const name[] = {
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
        [SCHEMA_RECORDS] = "list of dicts",
        [SCHEMA_LAYERS] = "list of layers",
    };

    if (row->single)
        strbuf_addstr(s, "float or ");
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

const char *schema_use(const struct schema *row)
{
    return row->no_effect ? "; no effect" : row->unsupported ? "; not supported" : "";
}
