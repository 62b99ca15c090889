#include "layers/expression.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 50 };

struct parser {
    const char *pos;
    const struct expression_names *names;
    struct strbuf *why;
    int depth;
};

static double sum(struct parser *p);

static double refuse(struct parser *p, const char *what, const char *src, int len)
{
    if (!p->why->len)
        strbuf_addf(p->why, "%s '%.*s'", what, len, src);
    return NAN;
}

static void skip_space(struct parser *p)
{
    p->pos += strspn(p->pos, " \t");
}

static bool accept(struct parser *p, const char *operator)
{
    size_t len = strlen(operator);

    skip_space(p);
    if (strncmp(p->pos, operator, len) != 0)
        return false;
    p->pos += len;
    return true;
}

static double name(struct parser *p)
{
    const char *src = p->pos;
    double x = NAN;
    int len;

    while (isalnum((unsigned char)*p->pos) || *p->pos == '_')
        p->pos++;
    len = (int)(p->pos - src);
    if (!p->names->get(p->names->data, src, len, &x))
        return refuse(p, "unknown name", src, len);
    return x;
}

/* A number, a name, a sign before one, or parentheses. */
static double operand(struct parser *p)
{
    double x;
    char *end;

    if (p->depth > DEPTH)
        return refuse(p, "too many parentheses or signs in", p->pos, 20);
    p->depth++;
    if (accept(p, "-")) {
        x = -operand(p);
    } else if (accept(p, "(")) {
        x = sum(p);
        if (!accept(p, ")"))
            (void)refuse(p, "a missing ) before", p->pos, (int)strlen(p->pos));
    } else if (isalpha((unsigned char)*p->pos) || *p->pos == '_') {
        x = name(p);
    } else if (isdigit((unsigned char)*p->pos) || *p->pos == '.') {
        x = strtod(p->pos, &end);
        if (end == p->pos)
            return refuse(p, "no number or name at", p->pos, (int)strlen(p->pos));
        p->pos = end;
    } else {
        x = refuse(p, "no number or name at", p->pos, (int)strlen(p->pos));
    }
    p->depth--;
    return x;
}

static double product(struct parser *p)
{
    double x = operand(p), y;

    for (;;) {
        if (accept(p, "*"))
            x *= operand(p);
        else if (accept(p, "//"))
            x = floor(x / operand(p));
        else if (accept(p, "/"))
            x /= operand(p);
        else if (accept(p, "%")) {
            y = operand(p);
            x -= y * floor(x / y);
        } else
            return x;
    }
}

static double sum(struct parser *p)
{
    double x = product(p);

    for (;;) {
        if (accept(p, "+"))
            x += product(p);
        else if (accept(p, "-"))
            x -= product(p);
        else
            return x;
    }
}

bool expression_value(const char *text, const struct expression_names *names,
                      double *value, struct strbuf *why)
{
    struct parser p = {.pos = text, .names = names, .why = why};

    *value = sum(&p);
    skip_space(&p);
    if (*p.pos && !why->len)
        (void)refuse(&p, "unexpected", p.pos, (int)strlen(p.pos));
    if (!why->len && !isfinite(*value))
        strbuf_addf(why, "'%s' is not a finite number", text);
    return !why->len;
}
