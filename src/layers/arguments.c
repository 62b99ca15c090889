#include "layers/arguments.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/suggest.h"
#include "config/coerce.h"
#include "layers/expression.h"

static const char *const common_keys[] = {"name", "op", "from", "repeat", "layers", NULL};

bool layer_is_common_key(const char *key)
{
    for (int i = 0; common_keys[i]; i++)
        if (!strcmp(common_keys[i], key))
            return true;
    return false;
}

void layer_suggest_argument(struct strbuf *why, const struct layer_arg *args,
                            const char *key)
{
    struct suggest s;

    suggest_init(&s, key);
    for (const struct layer_arg *a = args; a && a->name; a++)
        suggest_try(&s, a->name);
    for (int i = 0; common_keys[i]; i++)
        suggest_try(&s, common_keys[i]);
    if (s.best)
        strbuf_addf(why, " (did you mean %s?)", s.best);
}

/* ---- names and expressions ---- */

static struct layer_name *named(struct layer_names *names, const char *name, int len)
{
    for (int i = 0; i < names->n; i++)
        if ((int)strlen(names->item[i].name) == len &&
            !memcmp(names->item[i].name, name, (size_t)len))
            return &names->item[i];
    return NULL;
}

/* Reads a text that is a number in YAML's or Python's spelling: 1e-3. */
static bool number_of(const struct value *v, double *x)
{
    struct decl d = {.type = VALUE_FLOAT};
    struct arena mem = {0};
    struct strbuf unused = STRBUF_INIT;
    struct value dst;
    bool ok = v->type != VALUE_NONE && coerce(&mem, &d, v, &dst, &unused) &&
              dst.type == VALUE_FLOAT;

    if (ok)
        *x = dst.f;
    strbuf_release(&unused);
    arena_release(&mem);
    return ok;
}

static bool name_number(void *data, const char *name, int len, double *number)
{
    struct layer_names *names = data;
    struct layer_name *found = named(names, name, len);

    if (found) {
        found->used = true;
        return number_of(&found->value, number);
    }
    if (len == 11 && !memcmp(name, "num_classes", 11))
        *number = (double)names->classes;
    else if (len == 11 && !memcmp(name, "in_channels", 11) && names->in_channels)
        *number = (double)names->in_channels;
    else
        return false;
    return true;
}

struct value layer_resolve(struct layer_names *names, const struct value *v)
{
    struct expression_names lookup = {name_number, names};
    struct strbuf why = STRBUF_INIT;
    struct layer_name *one;
    struct value dst = *v;
    double x;

    if (v->type != VALUE_STR)
        return dst;
    one = named(names, v->s, (int)strlen(v->s));
    if (one) {
        one->used = true;
        dst = one->value;
        dst.line = v->line;
    } else if (!number_of(v, &x) && expression_value(v->s, &lookup, &x, &why)) {
        bool whole = x == floor(x) && fabs(x) < 1e15;

        dst = whole ? value_int((int64_t)x) : value_float(x);
        dst.line = v->line;
    }
    strbuf_release(&why);
    return dst;
}

/* ---- one argument ---- */

/* Appends what a value is: 'x', 3.5, [1, 2]. */
static void add_shown(struct strbuf *s, const struct value *v)
{
    struct strbuf text = STRBUF_INIT;

    value_add_repr(&text, v);
    strbuf_addf(s, "%.*s%s", 60, text.buf, text.len > 60 ? "..." : "");
    strbuf_release(&text);
}

static void refuse_type(struct layer_call *c, struct layer_names *names,
                        const struct layer_arg *a, const struct value *v)
{
    struct expression_names lookup = {name_number, names};
    static const char *const article[] = {"an ", "an ", "a ", "a ", "one of "};
    struct strbuf type = STRBUF_INIT, shown = STRBUF_INIT, why = STRBUF_INIT;
    double x;

    layer_arg_add_type(&type, a);
    add_shown(&shown, v);
    if (v->type == VALUE_STR && a->type != LAYER_WORD &&
        !expression_value(v->s, &lookup, &x, &why))
        strbuf_addf(&shown, " (%s)", why.buf);
    layer_refuse(c, "%s must be %s%s, not %s", a->name, article[a->type], type.buf,
                 shown.buf);
    strbuf_release(&type);
    strbuf_release(&shown);
    strbuf_release(&why);
}

static bool read_number(struct layer_call *c, struct layer_names *names,
                        const struct layer_arg *a, const struct value *v, double *x)
{
    bool limited = a->min < a->max;

    if (v->type == VALUE_BOOL || v->type == VALUE_LIST || !number_of(v, x) ||
        (a->type != LAYER_FLOAT && *x != floor(*x)) ||
        (limited && (!(*x <= a->max) || (a->above ? !(*x > a->min) : !(*x >= a->min))))) {
        refuse_type(c, names, a, v);
        return false;
    }
    return true;
}

static bool read_pair(struct layer_call *c, struct layer_names *names,
                      const struct layer_arg *a, const struct value *v, int pair[2])
{
    bool list = v->type == VALUE_LIST || v->type == VALUE_TUPLE;

    if (list && v->list.n != 2) {
        refuse_type(c, names, a, v);
        return false;
    }
    for (int i = 0; i < 2; i++) {
        struct value item = list ? layer_resolve(names, &v->list.item[i]) : *v;
        double x;

        if (!read_number(c, names, a, &item, &x))
            return false;
        pair[i] = (int)x;
    }
    return true;
}

static const char *word_of(const struct layer_arg *a, const struct value *v)
{
    for (int i = 0; a->words && v->type == VALUE_STR && a->words[i]; i++)
        if (!strcmp(a->words[i], v->s))
            return a->words[i];
    return NULL;
}

static void read_value(struct layer_call *c, struct layer_names *names,
                       const struct layer_arg *a, const struct value *given,
                       struct layer_value *dst)
{
    struct value v =
        a->type == LAYER_WORD && word_of(a, given) ? *given : layer_resolve(names, given);
    struct decl bool_decl = {.type = VALUE_BOOL};
    struct arena mem = {0};
    struct strbuf unused = STRBUF_INIT;
    struct value b;

    dst->given = true;
    dst->word = word_of(a, &v);
    if (dst->word)
        ;
    else if (a->type == LAYER_WORD)
        refuse_type(c, names, a, &v);
    else if (a->type == LAYER_PAIR)
        (void)read_pair(c, names, a, &v, dst->pair);
    else if (a->type != LAYER_BOOL && read_number(c, names, a, &v, &dst->number))
        dst->pair[0] = a->type == LAYER_INT ? (int)dst->number : 0;
    else if (a->type == LAYER_BOOL && v.type != VALUE_NONE &&
             coerce(&mem, &bool_decl, &v, &b, &unused))
        dst->pair[0] = b.b;
    else
        refuse_type(c, names, a, &v);
    strbuf_release(&unused);
    arena_release(&mem);
}

static void read_default(struct layer_call *c, const struct layer_arg *a,
                         struct layer_value *dst)
{
    struct value def = {.type = VALUE_STR, .s = a->def, .text = a->def};
    struct layer_names none = {0};

    if (a->def)
        read_value(c, &none, a, &def, dst);
    else if (!a->optional)
        layer_refuse(c, "%s needs the argument %s (%s)", c->op->name, a->name, a->help);
}

static void refuse_unknown(struct layer_call *c, const char *key)
{
    struct strbuf hint = STRBUF_INIT;
    const struct layer_arg *args = c->op->args;

    layer_suggest_argument(&hint, args, key);
    if (!hint.len)
        strbuf_addstr(&hint, args ? "; it has" : "; it has none");
    for (const struct layer_arg *a = args; hint.buf[0] == ';' && a && a->name; a++)
        strbuf_addf(&hint, "%s%s", a == args ? " " : ", ", a->name);
    layer_refuse(c, "%s has no argument '%s'%s", c->op->name, key, hint.buf);
    strbuf_release(&hint);
}

void layer_read_arguments(struct layer_call *c, struct layer_names *names,
                          const struct value *map)
{
    const struct layer_arg *args = c->op->args;

    for (int i = 0; map->type == VALUE_MAP && i < map->list.n; i += 2) {
        const char *key = map->list.item[i].s;
        const struct layer_arg *a = args;

        while (a && a->name && strcmp(a->name, key) != 0)
            a++;
        if (layer_is_common_key(key))
            continue;
        if (a && a->name)
            read_value(c, names, a, &map->list.item[i + 1], &c->value[a - args]);
        else
            refuse_unknown(c, key);
    }
    for (const struct layer_arg *a = args; a && a->name; a++)
        if (!c->value[a - args].given && !c->why->len)
            read_default(c, a, &c->value[a - args]);
}

/* ---- for build() ---- */

static const struct layer_value *value_of(const struct layer_call *c, const char *arg)
{
    for (const struct layer_arg *a = c->op->args; a && a->name; a++)
        if (!strcmp(a->name, arg))
            return &c->value[a - c->op->args];
    BUG("%s has no argument %s", c->op->name, arg);
}

bool layer_given(const struct layer_call *c, const char *arg)
{
    return value_of(c, arg)->given;
}

int layer_int(const struct layer_call *c, const char *arg)
{
    return value_of(c, arg)->pair[0];
}

double layer_float(const struct layer_call *c, const char *arg)
{
    return value_of(c, arg)->number;
}

const char *layer_word(const struct layer_call *c, const char *arg)
{
    return value_of(c, arg)->word;
}

const int *layer_pair(const struct layer_call *c, const char *arg)
{
    return value_of(c, arg)->pair;
}
