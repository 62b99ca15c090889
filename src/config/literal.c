#include "config/literal.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "config/pystring.h"

enum { DEPTH_MAX = 100 };

struct lit {
    struct arena *mem;
    const char *p;
    int depth; /* depth of brackets: within them newlines are blanks */
};

static bool lit_value(struct lit *l, struct value *v);

static void skip_blanks(struct lit *l)
{
    for (;; l->p++) {
        if (*l->p == '#')
            l->p += strcspn(l->p, "\n") - 1;
        else if (!(*l->p == ' ' || *l->p == '\t' || *l->p == '\f' ||
                   (l->depth && *l->p == '\n')))
            return;
    }
}

static bool accept_char(struct lit *l, char c)
{
    skip_blanks(l);
    if (*l->p != c)
        return false;
    l->p++;
    return true;
}

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 128;
}

static bool accept_word(struct lit *l, const char *word)
{
    size_t len = strlen(word);

    if (strncmp(l->p, word, len) != 0 || is_name(l->p[len]))
        return false;
    l->p += len;
    return true;
}

static bool is_digit(char c, int base)
{
    int d = isdigit((unsigned char)c)    ? c - '0'
            : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10
                                         : 99;

    return d < base;
}

/* Appends digits of `base`, without the single underscores that may separate them. */
static bool digits(struct lit *l, int base, struct strbuf *out)
{
    size_t before = out->len;

    while (is_digit(*l->p, base)) {
        strbuf_addch(out, *l->p++);
        if (*l->p == '_' && is_digit(l->p[1], base))
            l->p++;
    }
    return out->len > before;
}

static bool integer(struct value *v, const char *text, int base)
{
    errno = 0;
    *v = value_int(strtoll(text, NULL, base));
    if (errno == ERANGE)
        *v = (struct value){.type = VALUE_OTHER};
    return true;
}

static bool prefixed(struct lit *l, struct value *v, int base, struct strbuf *buf)
{
    l->p += 2;
    if (*l->p == '_')
        l->p++;
    return digits(l, base, buf) && !is_name(*l->p) && integer(v, buf->buf, base);
}

/* Appends the fraction and exponent, if any, to the digits in buf; sets *is_float
 * then. */
static bool fraction(struct lit *l, struct strbuf *buf, bool *is_float)
{
    if (*l->p == '.') {
        *is_float = true;
        strbuf_addch(buf, *l->p++);
        if (isdigit((unsigned char)*l->p) && !digits(l, 10, buf))
            return false;
    }
    if (*l->p == 'e' || *l->p == 'E') {
        *is_float = true;
        strbuf_addch(buf, *l->p++);
        if (*l->p == '+' || *l->p == '-')
            strbuf_addch(buf, *l->p++);
        if (!digits(l, 10, buf))
            return false;
    }
    return true;
}

static bool decimal(struct lit *l, struct value *v, struct strbuf *buf)
{
    bool is_float = false;

    if (*l->p != '.' && !digits(l, 10, buf))
        return false;
    if (!fraction(l, buf, &is_float))
        return false;
    if (*l->p == 'j' || *l->p == 'J') {
        l->p++;
        *v = (struct value){.type = VALUE_OTHER};
    } else if (is_float) {
        *v = value_float(strtod(buf->buf, NULL));
    } else {
        if (buf->buf[0] == '0' && strspn(buf->buf, "0") != buf->len)
            return false; /* 010 is not a literal */
        integer(v, buf->buf, 10);
    }
    return !is_name(*l->p);
}

static bool starts_number(const char *p)
{
    return isdigit((unsigned char)*p) || (*p == '.' && isdigit((unsigned char)p[1]));
}

static bool number(struct lit *l, struct value *v)
{
    static const char prefix[] = "xXoObB";
    const char *p = l->p[0] == '0' && l->p[1] ? strchr(prefix, l->p[1]) : NULL;
    struct strbuf buf = STRBUF_INIT;
    bool ok = p ? prefixed(l, v, (const int[]){16, 8, 2}[(p - prefix) / 2], &buf)
                : decimal(l, v, &buf);

    strbuf_release(&buf);
    return ok;
}

/* Parses a sign and a number: --5 and -True are not literals. */
static bool signed_number(struct lit *l, struct value *v)
{
    bool minus = *l->p++ == '-';
    int paren = 0;

    for (; accept_char(l, '('); paren++)
        l->depth++;
    skip_blanks(l);
    if (!starts_number(l->p) || !number(l, v))
        return false;
    for (; paren; paren--, l->depth--)
        if (!accept_char(l, ')'))
            return false;
    if (minus && v->type == VALUE_INT)
        v->i = -v->i;
    if (minus && v->type == VALUE_FLOAT)
        v->f = -v->f;
    return true;
}

/* Parses items up to `close`, preceded by `first` unless NULL. */
static bool items(struct lit *l, struct value *v, char close, enum value_type type,
                  const struct value *first)
{
    struct value *item = NULL;
    int n = 0, cap = 0;
    bool ok = true;

    if (first) {
        GROW(item, n, cap);
        item[n++] = *first;
    }
    for (;;) {
        skip_blanks(l);
        if (close ? *l->p == close : !*l->p || *l->p == '\n')
            break;
        GROW(item, n, cap);
        if (!(ok = lit_value(l, &item[n])))
            break;
        n++;
        if (!accept_char(l, ',')) {
            skip_blanks(l);
            ok = close ? *l->p == close : true;
            break;
        }
    }
    if (ok) {
        if (close)
            l->p++;
        *v = value_list(l->mem, type, n);
        if (n)
            memcpy(v->list.item, item, (size_t)n * sizeof(*item));
    }
    free(item);
    return ok;
}

static bool parenthesis(struct lit *l, struct value *v)
{
    struct value first;

    if (accept_char(l, ')')) {
        *v = value_list(l->mem, VALUE_TUPLE, 0);
        return true;
    }
    if (!lit_value(l, &first))
        return false;
    if (accept_char(l, ')')) {
        *v = first;
        return true;
    }
    return accept_char(l, ',') && items(l, v, ')', VALUE_TUPLE, &first);
}

/* Parses a dict or set, which no key can hold. */
static bool braces(struct lit *l, struct value *v)
{
    struct value x;
    bool dict = false;

    *v = (struct value){.type = VALUE_OTHER};
    for (int n = 0;; n++) {
        if (accept_char(l, '}'))
            return true;
        if (!lit_value(l, &x))
            return false;
        if (!n)
            dict = accept_char(l, ':');
        else if (dict != accept_char(l, ':'))
            return false;
        if (dict && !lit_value(l, &x))
            return false;
        if (!accept_char(l, ','))
            return accept_char(l, '}');
    }
}

static bool brackets(struct lit *l, struct value *v)
{
    char open = *l->p++;
    bool ok;

    if (++l->depth > DEPTH_MAX)
        return false;
    ok = open == '['   ? items(l, v, ']', VALUE_LIST, NULL)
         : open == '(' ? parenthesis(l, v)
                       : braces(l, v);
    l->depth--;
    return ok;
}

static bool word(struct lit *l, struct value *v)
{
    *v = value_none();
    if (accept_word(l, "None"))
        return true;
    if (accept_word(l, "True")) {
        *v = value_bool(true);
        return true;
    }
    if (accept_word(l, "False")) {
        *v = value_bool(false);
        return true;
    }
    *v = (struct value){.type = VALUE_OTHER};
    if (!strncmp(l->p, "...", 3)) {
        l->p += 3;
        return true;
    }
    return accept_word(l, "set") && accept_char(l, '(') && accept_char(l, ')');
}

static bool lit_value(struct lit *l, struct value *v)
{
    skip_blanks(l);
    if (pystring_starts(l->p)) {
        bool ok = pystring_parse(l->mem, &l->p, l->depth > 0, v);

        v->quoted = true;
        return ok;
    }
    if (*l->p && strchr("[({", *l->p))
        return brackets(l, v);
    if (*l->p == '+' || *l->p == '-') {
        if (!signed_number(l, v))
            return false;
    } else if (starts_number(l->p)) {
        if (!number(l, v))
            return false;
    } else {
        return word(l, v);
    }
    skip_blanks(l);
    if (*l->p != '+' && *l->p != '-')
        return true;

    /* 1+2j is a literal, 1+2 is not */
    bool ok = signed_number(l, v) && (l->p[-1] == 'j' || l->p[-1] == 'J');

    *v = (struct value){.type = VALUE_OTHER};
    return ok;
}

/* Converts \r and \r\n to \n, as Python does, including in quotes. */
static const char *with_newlines(struct arena *a, const char *text)
{
    char *copy, *dst;

    if (!strchr(text, '\r'))
        return text;
    copy = dst = arena_strdup(a, text);
    for (const char *c = text; *c; c++)
        if (*c != '\r')
            *dst++ = *c;
        else if (c[1] != '\n')
            *dst++ = '\n';
    *dst = '\0';
    return copy;
}

struct value literal_parse(struct arena *a, const char *text)
{
    const char *lines = with_newlines(a, text);
    struct lit l = {.mem = a, .p = lines + strspn(lines, " \t\n\f")};
    struct value v, first;
    bool ok = *l.p && lit_value(&l, &v);

    if (ok && accept_char(&l, ',')) {
        first = v;
        ok = items(&l, &v, '\0', VALUE_TUPLE, &first);
    }
    if (ok) {
        l.depth = 1; /* blank lines and comments may follow */
        skip_blanks(&l);
        ok = !*l.p;
    }
    if (!ok)
        v = value_str(a, text);
    v.text = arena_strdup(a, text);
    return v;
}
