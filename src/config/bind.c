/* Values into the fields of the typed configuration, and back. */
#include <string.h>

#include "base/error.h"
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
        item[i] = arena_strdup(mem, v->list.item[i].s);
    return (struct str_list){item, v->list.n};
}

static struct int_table bind_table(const struct value *v, struct arena *mem)
{
    struct int_list *item = arena_new(mem, sizeof(*item) * (size_t)(v->list.n + 1));

    for (int i = 0; i < v->list.n; i++)
        item[i] = bind_ints(&v->list.item[i], mem);
    return (struct int_table){item, v->list.n};
}

static int choice_value(const struct schema *row, const char *word)
{
    for (const struct choice *c = row->choices; c->name; c++)
        if (!strcmp(c->name, word))
            return c->value;
    BUG("%s: unchecked word '%s'", row->key, word);
}

void schema_bind(const struct schema *row, const struct value *v, void *config,
                 struct arena *mem)
{
    void *field = (char *)config + row->offset;
    bool has = v->type != VALUE_NONE;

    switch (row->type) {
    case SCHEMA_GONE:
        break;
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
        *(const char **)field = arena_strdup(mem, v->s);
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
    }
}

static struct value read_str(const char *s)
{
    return (struct value){.type = VALUE_STR, .s = s};
}

static struct value read_choice(const struct schema *row, int value)
{
    for (const struct choice *c = row->choices; c->name; c++)
        if (!c->refuse && c->value == value)
            return read_str(c->name);
    BUG("%s has no word for %d", row->key, value);
}

static struct value read_ints(const struct int_list *l, struct arena *mem)
{
    struct value v = value_list(mem, VALUE_LIST, l->n);

    for (int i = 0; i < l->n; i++)
        v.list.item[i] = value_int(l->item[i]);
    return v;
}

static struct value read_list(const struct schema *row, const void *field,
                              struct arena *mem)
{
    const struct float_list *floats = field;
    const struct str_list *strs = field;
    const struct int_table *table = field;
    int n = row->type == SCHEMA_FLOAT_LIST ? floats->n
            : row->type == SCHEMA_STR_LIST ? strs->n
                                           : table->n;
    struct value v;

    if (row->type == SCHEMA_FLOAT_LIST && !floats->item)
        return row->choices ? read_choice(row, n) : value_none();
    v = value_list(mem, VALUE_LIST, n);
    for (int i = 0; i < n; i++) {
        if (row->type == SCHEMA_FLOAT_LIST)
            v.list.item[i] = value_float(floats->item[i]);
        else if (row->type == SCHEMA_STR_LIST)
            v.list.item[i] = read_str(strs->item[i]);
        else
            v.list.item[i] = read_ints(&table->item[i], mem);
    }
    return v;
}

struct value schema_read(const struct schema *row, const void *config, struct arena *mem)
{
    const void *field = (const char *)config + row->offset;
    const struct bool_opt *b = field;
    const struct float_opt *f = field;

    switch (row->type) {
    case SCHEMA_GONE:
        break;
    case SCHEMA_BOOL:
        return value_bool(*(const bool *)field);
    case SCHEMA_INT:
        if (row->word && *(const int64_t *)field == row->word_value)
            return read_str(row->word);
        return value_int(*(const int64_t *)field);
    case SCHEMA_FLOAT:
        return value_float(*(const double *)field);
    case SCHEMA_STR:
        return read_str(*(const char *const *)field);
    case SCHEMA_CHOICE:
        return read_choice(row, *(const int *)field);
    case SCHEMA_BOOL_OPT:
        return b->has ? value_bool(b->value) : value_none();
    case SCHEMA_FLOAT_OPT:
        return f->has ? value_float(f->value) : value_none();
    case SCHEMA_INT_LIST:
        return read_ints(field, mem);
    default:
        return read_list(row, field, mem);
    }
    return value_none();
}
