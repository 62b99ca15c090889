#include "config/pystring.h"

#include <ctype.h>
#include <string.h>

static size_t prefix_len(const char *p)
{
    size_t n = strspn(p, "rRuUbBfF");

    return n <= 2 && (p[n] == '\'' || p[n] == '"') ? n : 99;
}

bool pystring_starts(const char *p)
{
    return prefix_len(p) != 99;
}

static void add_utf8(struct strbuf *s, unsigned c)
{
    if (c < 0x80) {
        strbuf_addch(s, (char)c);
    } else if (c < 0x800) {
        strbuf_addch(s, (char)(0xc0 | c >> 6));
        strbuf_addch(s, (char)(0x80 | (c & 63)));
    } else if (c < 0x10000) {
        strbuf_addch(s, (char)(0xe0 | c >> 12));
        strbuf_addch(s, (char)(0x80 | (c >> 6 & 63)));
        strbuf_addch(s, (char)(0x80 | (c & 63)));
    } else {
        strbuf_addch(s, (char)(0xf0 | c >> 18));
        strbuf_addch(s, (char)(0x80 | (c >> 12 & 63)));
        strbuf_addch(s, (char)(0x80 | (c >> 6 & 63)));
        strbuf_addch(s, (char)(0x80 | (c & 63)));
    }
}

/* Parses `want` hex digits (of \x, \u, or \U). */
static bool escape_hex(const char **p, int want, struct strbuf *out)
{
    unsigned c = 0;

    for (int i = 0; i < want; i++, ++*p) {
        char h = **p;

        if (!isxdigit((unsigned char)h))
            return false;
        c = c * 16 + (unsigned)(isdigit((unsigned char)h)
                                    ? h - '0'
                                    : tolower((unsigned char)h) - 'a' + 10);
    }
    if (!c || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return false;
    add_utf8(out, c);
    return true;
}

static bool escape_octal(const char **p, struct strbuf *out)
{
    unsigned c = 0;

    for (int i = 0; i < 3 && **p >= '0' && **p <= '7'; i++, ++*p)
        c = c * 8 + (unsigned)(**p - '0');
    if (!c)
        return false;
    add_utf8(out, c);
    return true;
}

/* Parses an escape; *p is after the backslash. */
static bool escape(const char **p, struct strbuf *out)
{
    static const char src[] = "\\'\"abfnrtv", dst[] = "\\'\"\a\b\f\n\r\t\v";
    char c = **p;
    const char *f = c ? strchr(src, c) : NULL;

    if (c >= '0' && c <= '7')
        return escape_octal(p, out);
    if (!c || c == 'N')
        return false;
    ++*p;
    if (c == '\n')
        return true;
    if (f) {
        strbuf_addch(out, dst[f - src]);
        return true;
    }
    if (c == 'x' || c == 'u' || c == 'U')
        return escape_hex(p, c == 'x' ? 2 : c == 'u' ? 4 : 8, out);
    strbuf_addch(out, '\\');
    strbuf_addch(out, c);
    return true;
}

static bool one_string(const char **p, bool raw, struct strbuf *out)
{
    char q = **p;
    const char close[] = {q, q, q, '\0'};
    size_t n = !strncmp(*p, close, 3) ? 3 : 1;

    for (*p += n; strncmp(*p, close, n) != 0;) {
        char c = **p;

        if (!c || (c == '\n' && n == 1))
            return false;
        ++*p;
        if (c != '\\') {
            strbuf_addch(out, c);
        } else if (!raw) {
            if (!escape(p, out))
                return false;
        } else {
            strbuf_addch(out, c);
            if (!**p)
                return false;
            strbuf_addch(out, *(*p)++);
        }
    }
    *p += n;
    return true;
}

/* Only r, u, b, rb, and br are prefixes in Python; ur is not. */
static bool prefix_ok(const char *p, size_t n, bool *raw, bool *bytes)
{
    size_t r = 0, u = 0, b = 0;

    for (size_t i = 0; i < n; i++) {
        char c = (char)tolower((unsigned char)p[i]);

        r += c == 'r';
        u += c == 'u';
        b += c == 'b';
    }
    *raw = r > 0;
    *bytes = b > 0;
    return r + u + b == n && r <= 1 && b <= 1 && !(u && n > 1);
}

bool pystring_parse(struct arena *a, const char **p, bool in_brackets, struct value *v)
{
    struct strbuf out = STRBUF_INIT;
    bool raw, bytes = false, ok = true;

    for (int n = 0; ok && pystring_starts(*p); n++) {
        size_t len = prefix_len(*p);
        bool was = bytes;

        ok = prefix_ok(*p, len, &raw, &bytes) && (!n || bytes == was);
        *p += len;
        ok = ok && one_string(p, raw, &out);
        *p += ok ? strspn(*p, in_brackets ? " \t\f\n" : " \t\f") : 0;
    }
    *v = value_str(a, out.buf);
    if (bytes)
        v->type = VALUE_OTHER;
    strbuf_release(&out);
    return ok;
}
