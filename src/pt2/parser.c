#include "pt2/parser.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *pt2_text_of(struct pt2_parser *c, json_t *v)
{
    const char *s = json_string_value(v);

    return s ? arena_strdup(&c->p->mem, s) : NULL;
}

void *pt2_room(struct pt2_parser *c, size_t n, size_t each)
{
    return arena_new(&c->p->mem, (n + 1) * each);
}

/* Keeps the first reason. */
bool pt2_fail(struct pt2_parser *c, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    if (!c->why->len)
        strbuf_addv(c->why, fmt, ap);
    va_end(ap);
    return false;
}

/* Returns the only member of an object, a tagged union, and sets its tag; or NULL. */
json_t *pt2_tagged(json_t *v, const char **tag)
{
    void *it = json_object_size(v) == 1 ? json_object_iter(v) : NULL;

    *tag = it ? json_object_iter_key(it) : "";
    return it ? json_object_iter_value(it) : NULL;
}

/* ---- arguments ---- */

/* Parses a number: plain, or {"as_int": 3}, or {"as_name": "sym_size"}. */
static bool parse_int(struct pt2_parser *c, json_t *v, struct pt2_int *dst)
{
    const char *tag;

    if (json_is_object(v)) {
        v = pt2_tagged(v, &tag);
        dst->name = !strcmp(tag, "as_name") ? pt2_text_of(c, v) : NULL;
        if (dst->name)
            return true;
    }
    dst->value = json_integer_value(v);
    return json_is_integer(v);
}

static bool parse_ints(struct pt2_parser *c, json_t *list, struct pt2_arg *dst)
{
    size_t n = json_array_size(list);

    dst->kind = PT2_INTS;
    dst->n = (int)n;
    dst->ints = pt2_room(c, n, sizeof(*dst->ints));
    for (size_t i = 0; i < n; i++)
        if (!parse_int(c, json_array_get(list, i), &dst->ints[i]))
            return false;
    return json_is_array(list);
}

static bool parse_number(json_t *v, double *dst)
{
    const char *s = json_string_value(v);

    *dst = json_number_value(v);
    if (s && !strcmp(s, "Infinity"))
        *dst = INFINITY;
    else if (s && !strcmp(s, "-Infinity"))
        *dst = -INFINITY;
    else if (s && !strcmp(s, "NaN"))
        *dst = NAN;
    else if (!json_is_number(v))
        return false;
    return true;
}

/* Parses {"name": "conv2d"}, or {"as_tensor": {"name": ...}}, or {"as_none": true}. */
static bool parse_name(struct pt2_parser *c, json_t *v, const char **dst)
{
    const char *tag;

    *dst = pt2_text_of(c, json_object_get(v, "name"));
    if (*dst)
        return true;
    v = pt2_tagged(v, &tag);
    if (!strcmp(tag, "as_none"))
        return true;
    *dst = !strcmp(tag, "as_tensor") ? pt2_text_of(c, json_object_get(v, "name")) : NULL;
    return *dst != NULL;
}

static bool parse_names(struct pt2_parser *c, json_t *list, struct pt2_arg *dst)
{
    size_t n = json_array_size(list);

    dst->kind = PT2_TENSORS;
    dst->n = (int)n;
    dst->names = pt2_room(c, n, sizeof(*dst->names));
    for (size_t i = 0; i < n; i++)
        if (!parse_name(c, json_array_get(list, i), &dst->names[i]))
            return false;
    return json_is_array(list);
}

bool pt2_parse_arg(struct pt2_parser *c, json_t *v, struct pt2_arg *dst)
{
    const char *tag;

    v = pt2_tagged(v, &tag);
    *dst = (struct pt2_arg){.kind = PT2_NONE};
    if (!strcmp(tag, "as_none"))
        return true;
    if (!strcmp(tag, "as_tensor")) {
        dst->kind = PT2_TENSOR;
        return parse_name(c, v, &dst->name) && dst->name;
    }
    if (!strcmp(tag, "as_tensors") || !strcmp(tag, "as_optional_tensors"))
        return parse_names(c, v, dst);
    if (!strcmp(tag, "as_int") || !strcmp(tag, "as_sym_int") ||
        !strcmp(tag, "as_scalar_type")) {
        dst->kind = PT2_INT;
        dst->n = 1;
        dst->ints = pt2_room(c, 1, sizeof(*dst->ints));
        return parse_int(c, v, dst->ints);
    }
    if (!strcmp(tag, "as_ints") || !strcmp(tag, "as_sym_ints"))
        return parse_ints(c, v, dst);
    if (!strcmp(tag, "as_float")) {
        dst->kind = PT2_FLOAT;
        return parse_number(v, &dst->number);
    }
    if (!strcmp(tag, "as_floats")) {
        dst->kind = PT2_FLOATS;
        dst->n = (int)json_array_size(v);
        dst->floats = pt2_room(c, (size_t)dst->n, sizeof(*dst->floats));
        for (int i = 0; i < dst->n; i++)
            if (!parse_number(json_array_get(v, (size_t)i), &dst->floats[i]))
                return false;
        return json_is_array(v);
    }
    if (!strcmp(tag, "as_bool")) {
        dst->kind = PT2_FLAG;
        dst->flag = json_is_true(v);
        return json_is_boolean(v);
    }
    if (!strcmp(tag, "as_string")) {
        dst->kind = PT2_TEXT;
        dst->name = pt2_text_of(c, v);
        return dst->name != NULL;
    }
    dst->kind = PT2_OTHER;
    dst->name = arena_strdup(&c->p->mem, tag);
    return *tag;
}
