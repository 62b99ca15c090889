/* Copies the values of a checked tree to the fields of struct config. */
#include <string.h>

#include "base/error.h"
#include "base/fields.h"
#include "config/schema.h"

static struct int_list bind_ints(const struct value *v, struct arena *mem)
{
    int64_t *item = arena_new(mem, sizeof(*item) * (size_t)(v->list.n + 1));

    for (int i = 0; i < v->list.n; i++)
        item[i] = v->list.item[i].i;
    return (struct int_list){item, v->list.n};
}

static struct float_list bind_floats(const struct value *v, struct arena *mem)
{
    double *item = arena_new(mem, sizeof(*item) * (size_t)(v->list.n + 1));

    for (int i = 0; i < v->list.n; i++)
        item[i] = v->list.item[i].f;
    return (struct float_list){item, v->list.n};
}

static struct str_list bind_strs(const struct value *v, struct arena *mem)
{
    const char **item = arena_new(mem, sizeof(*item) * (size_t)(v->list.n + 1));

    for (int i = 0; i < v->list.n; i++)
        item[i] = v->list.item[i].s;
    return (struct str_list){item, v->list.n};
}

static struct int_table bind_table(const struct value *v, struct arena *mem)
{
    struct int_list *item = arena_new(mem, sizeof(*item) * (size_t)(v->list.n + 1));

    for (int i = 0; i < v->list.n; i++)
        item[i] = bind_ints(&v->list.item[i], mem);
    return (struct int_table){item, v->list.n};
}

/* Fills a record; keys that the item lacks get their default. */
static void bind_record(const struct schema *record, const struct value *map, char *dst,
                        struct arena *mem)
{
    for (const struct schema *r = record; r->key; r++) {
        const struct value *v = value_of_key(map, r->key);
        struct value text = value_str(mem, r->def ? r->def : ""), def;
        struct decl d = schema_decl(r);
        struct strbuf why = STRBUF_INIT;

        if (!v && !coerce(mem, &d, &text, &def, &why))
            BUG("default of %s must be %s", r->key, why.buf);
        schema_bind(r, v ? v : &def, dst + r->offset, mem);
        strbuf_release(&why);
    }
}

static struct record_list bind_records(const struct schema *row, const struct value *v,
                                       struct arena *mem)
{
    char *item = arena_new(mem, row->record_size * (size_t)(v->list.n + 1));

    for (int i = 0; i < v->list.n; i++)
        bind_record(row->record, &v->list.item[i], item + row->record_size * (size_t)i,
                    mem);
    return (struct record_list){item, v->list.n};
}

void schema_bind_default(const struct schema *record, void *dst, struct arena *mem)
{
    const struct value none = {.type = VALUE_MAP};

    bind_record(record, &none, dst, mem);
}

static int choice_value(const struct schema *row, const char *word)
{
    for (const struct choice *c = row->choices; c->name; c++)
        if (!strcmp(c->name, word))
            return c->value;
    BUG("%s: unchecked word '%s'", row->key, word);
}

void schema_bind(const struct schema *row, const struct value *v, void *field,
                 struct arena *mem)
{
    bool has = v->type != VALUE_NONE;

    switch (row->type) {
    case SCHEMA_BOOL:
        *(bool *)field = v->b;
        break;
    case SCHEMA_INT:
        *(int64_t *)field = v->type == VALUE_STR ? row->word_value : v->i;
        break;
    case SCHEMA_FLOAT:
        *(double *)field = v->f;
        break;
    case SCHEMA_STR:
        *(const char **)field = v->s;
        break;
    case SCHEMA_CHOICE:
        *(int *)field = choice_value(row, v->s);
        break;
    case SCHEMA_BOOL_OPT:
        *(struct bool_opt *)field = (struct bool_opt){has && v->b, has};
        break;
    case SCHEMA_FLOAT_OPT:
        *(struct float_opt *)field = (struct float_opt){has ? v->f : 0, has};
        break;
    case SCHEMA_INT_LIST:
        *(struct int_list *)field = bind_ints(v, mem);
        break;
    case SCHEMA_FLOAT_LIST:
        *(struct float_list *)field =
            v->type == VALUE_STR ? (struct float_list){NULL, choice_value(row, v->s)}
            : has                ? bind_floats(v, mem)
                                 : (struct float_list){NULL, 0};
        break;
    case SCHEMA_STR_LIST:
        *(struct str_list *)field = bind_strs(v, mem);
        break;
    case SCHEMA_INT_TABLE:
        *(struct int_table *)field = bind_table(v, mem);
        break;
    case SCHEMA_RECORDS:
        *(struct record_list *)field = bind_records(row, v, mem);
        break;
    case SCHEMA_LAYERS:
        *(struct value **)field = memcpy(arena_new(mem, sizeof(*v)), v, sizeof(*v));
        break;
    }
}
