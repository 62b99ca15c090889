/* Output of verbs with foreign text made safe; see base/say.h. */
#include "base/say.h"

#include <ctype.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/utf8.h"

/* One conversion: "%-*.3lld". */
struct conversion {
    char text[32];
    size_t len; /* of the text, and of its format */
    int star[2], nstar;
    char length[3], kind;
};

/* Parses the conversion at fmt[0] == '%'. A '*' takes its argument from `ap`. */
static void parse(struct conversion *c, const char *fmt, va_list *ap)
{
    size_t n = 1, k = 0;

    *c = (struct conversion){0};
    while (fmt[n] && strchr("-+ #0123456789.*", fmt[n])) {
        if (fmt[n++] != '*')
            continue;
        if (c->nstar == 2)
            BUG("format '%s'", fmt);
        c->star[c->nstar++] = va_arg(*ap, int);
    }
    while (fmt[n] && strchr("hlzjtL", fmt[n]) && k < 2)
        c->length[k++] = fmt[n++];
    c->kind = fmt[n++];
    if (n >= sizeof(c->text))
        BUG("format '%s'", fmt);
    memcpy(c->text, fmt, n);
    c->len = n;
}

/* The compiler checks the format where say() is called. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#define ADD(out, c, value)                                                               \
    ((c)->nstar == 0 ? strbuf_addf((out), (c)->text, (value))                            \
     : (c)->nstar == 1                                                                   \
         ? strbuf_addf((out), (c)->text, (c)->star[0], (value))                          \
         : strbuf_addf((out), (c)->text, (c)->star[0], (c)->star[1], (value)))

static void add_text(struct strbuf *out, const struct conversion *c, const char *value)
{
    size_t start = out->len;

    ADD(out, c, value ? value : "(null)");
    if (out->len > start)
        utf8_clean(out->buf + start);
    out->len = start + (out->buf ? strlen(out->buf + start) : 0);
}

static void add_integer(struct strbuf *out, const struct conversion *c, va_list *ap)
{
    if (!strcmp(c->length, "ll") || !strcmp(c->length, "j"))
        ADD(out, c, va_arg(*ap, long long));
    else if (!strcmp(c->length, "l") || !strcmp(c->length, "t"))
        ADD(out, c, va_arg(*ap, long));
    else if (!strcmp(c->length, "z"))
        ADD(out, c, va_arg(*ap, size_t));
    else
        ADD(out, c, va_arg(*ap, int));
}

static void add(struct strbuf *out, const struct conversion *c, va_list *ap)
{
    switch (c->kind) {
    case '%':
        strbuf_addch(out, '%');
        break;
    case 's':
        add_text(out, c, va_arg(*ap, const char *));
        break;
    case 'c':
        ADD(out, c, va_arg(*ap, int));
        break;
    case 'd':
    case 'i':
    case 'u':
    case 'x':
    case 'X':
    case 'o':
        add_integer(out, c, ap);
        break;
    case 'e':
    case 'f':
    case 'g':
    case 'E':
    case 'G':
        if (c->length[0] == 'L')
            ADD(out, c, va_arg(*ap, long double));
        else
            ADD(out, c, va_arg(*ap, double));
        break;
    default:
        BUG("conversion '%s'", c->text);
    }
}
#pragma GCC diagnostic pop

void strbuf_say_v(struct strbuf *out, const char *fmt, va_list ap)
{
    va_list args;

    va_copy(args, ap);
    while (*fmt) {
        size_t plain = strcspn(fmt, "%");
        struct conversion c;

        strbuf_add(out, fmt, plain);
        fmt += plain;
        if (!*fmt)
            break;
        parse(&c, fmt, &args);
        add(out, &c, &args);
        fmt += c.len;
    }
    va_end(args);
}

int say_v(const char *fmt, va_list ap)
{
    struct strbuf text = STRBUF_INIT;
    int len;

    strbuf_say_v(&text, fmt, ap);
    if (text.len)
        (void)fwrite(text.buf, 1, text.len, stdout);
    len = (int)text.len;
    strbuf_release(&text);
    return len;
}

int say(const char *fmt, ...)
{
    va_list ap;
    int len;

    va_start(ap, fmt);
    len = say_v(fmt, ap);
    va_end(ap);
    return len;
}

void say_text(const char *text)
{
    (void)fputs(text, stdout);
}
