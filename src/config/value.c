#include "config/value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

struct value value_none(void)
{
    return (struct value){.type = VALUE_NONE};
}

struct value value_bool(bool b)
{
    return (struct value){.type = VALUE_BOOL, .b = b};
}

struct value value_int(int64_t i)
{
    return (struct value){.type = VALUE_INT, .i = i};
}

struct value value_float(double f)
{
    return (struct value){.type = VALUE_FLOAT, .f = f};
}

struct value value_str(struct arena *a, const char *s)
{
    return (struct value){.type = VALUE_STR, .s = arena_strdup(a, s)};
}

struct value value_list(struct arena *a, enum value_type type, int n)
{
    struct value v = {.type = type};

    v.list.n = n;
    v.list.item = arena_new(a, (size_t)(n ? n : 1) * sizeof(*v.list.item));
    return v;
}

struct value value_copy(struct arena *a, const struct value *v)
{
    struct value c = *v;

    if (c.text)
        c.text = arena_strdup(a, c.text);
    if (c.type == VALUE_STR)
        c.s = arena_strdup(a, c.s);
    if (value_has_items(v)) {
        c.list.item = value_list(a, c.type, v->list.n).list.item;
        for (int i = 0; i < v->list.n; i++)
            c.list.item[i] = value_copy(a, &v->list.item[i]);
    }
    return c;
}

bool value_has_items(const struct value *v)
{
    return v->type == VALUE_LIST || v->type == VALUE_TUPLE || v->type == VALUE_MAP;
}

const struct value *value_of_key(const struct value *map, const char *key)
{
    for (int i = 0; i < map->list.n; i += 2)
        if (!strcmp(map->list.item[i].s, key))
            return &map->list.item[i + 1];
    return NULL;
}

static bool list_equal(const struct value *a, const struct value *b)
{
    if (a->list.n != b->list.n)
        return false;
    for (int i = 0; i < a->list.n; i++)
        if (!value_equal(&a->list.item[i], &b->list.item[i]))
            return false;
    return true;
}

bool value_equal(const struct value *a, const struct value *b)
{
    if (a->type != b->type)
        return false;
    switch (a->type) {
    case VALUE_NONE:
    case VALUE_NODE:
    case VALUE_OTHER:
        return true;
    case VALUE_BOOL:
        return a->b == b->b;
    case VALUE_INT:
        return a->i == b->i;
    case VALUE_FLOAT:
        return (isnan(a->f) && isnan(b->f)) ||
               (a->f <= b->f && a->f >= b->f && signbit(a->f) == signbit(b->f));
    case VALUE_STR:
        return !strcmp(a->s, b->s);
    case VALUE_LIST:
    case VALUE_TUPLE:
    case VALUE_MAP:
        return list_equal(a, b);
    }
    BUG("value type %d", (int)a->type);
}

const char *value_type_name(enum value_type type)
{
    static const char *const name[] = {"NoneType", "bool",  "int",  "float",   "str",
                                       "list",     "tuple", "dict", "CfgNode", "object"};

    return name[type];
}

/* Appends digits as repr(float) does: the shortest that read back; exponents below 1e-4
 * and from 1e16. */
void value_add_double(struct strbuf *s, double f)
{
    char buf[40];
    int exp10, prec = 0;

    if (isnan(f) || isinf(f)) {
        strbuf_addstr(s, isnan(f) ? "nan" : f < 0 ? "-inf" : "inf");
        return;
    }
    do
        (void)snprintf(buf, sizeof(buf), "%.*e", prec, f);
    while (strtod(buf, NULL) != f && ++prec < 17);
    exp10 = (int)strtol(strchr(buf, 'e') + 1, NULL, 10);
    if (exp10 < -4 || exp10 >= 16)
        strbuf_addf(s, "%.*e", prec, f);
    else
        strbuf_addf(s, "%.*f", prec > exp10 ? prec - exp10 : 1, f);
}

static void add_quoted(struct strbuf *s, const char *str)
{
    char q = strchr(str, '\'') && !strchr(str, '"') ? '"' : '\'';

    strbuf_addch(s, q);
    for (; *str; str++) {
        if (*str == q || *str == '\\')
            strbuf_addf(s, "\\%c", *str);
        else if (*str == '\n')
            strbuf_addstr(s, "\\n");
        else if (*str == '\t')
            strbuf_addstr(s, "\\t");
        else if (*str == '\r')
            strbuf_addstr(s, "\\r");
        else if ((unsigned char)*str < 32 || *str == 127)
            strbuf_addf(s, "\\x%02x", (unsigned)(unsigned char)*str);
        else
            strbuf_addch(s, *str);
    }
    strbuf_addch(s, q);
}

void value_add_repr(struct strbuf *s, const struct value *v)
{
    bool tuple = v->type == VALUE_TUPLE;

    switch (v->type) {
    case VALUE_NONE:
        strbuf_addstr(s, "None");
        break;
    case VALUE_BOOL:
        strbuf_addstr(s, v->b ? "True" : "False");
        break;
    case VALUE_INT:
        strbuf_addf(s, "%lld", (long long)v->i);
        break;
    case VALUE_FLOAT:
        value_add_double(s, v->f);
        break;
    case VALUE_STR:
        add_quoted(s, v->s);
        break;
    case VALUE_LIST:
    case VALUE_TUPLE:
        strbuf_addch(s, tuple ? '(' : '[');
        for (int i = 0; i < v->list.n; i++) {
            strbuf_addstr(s, i ? ", " : "");
            value_add_repr(s, &v->list.item[i]);
        }
        strbuf_addstr(s, tuple && v->list.n == 1 ? "," : "");
        strbuf_addch(s, tuple ? ')' : ']');
        break;
    case VALUE_MAP:
        strbuf_addch(s, '{');
        for (int i = 0; i < v->list.n; i++) {
            strbuf_addstr(s, i % 2 ? ": " : i ? ", " : "");
            value_add_repr(s, &v->list.item[i]);
        }
        strbuf_addch(s, '}');
        break;
    case VALUE_NODE:
    case VALUE_OTHER:
        strbuf_addstr(s, v->text ? v->text : value_type_name(v->type));
        break;
    }
}

void value_add_str(struct strbuf *s, const struct value *v)
{
    if (v->type == VALUE_STR)
        strbuf_addstr(s, v->s);
    else
        value_add_repr(s, v);
}
