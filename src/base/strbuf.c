#include "base/strbuf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

char strbuf_empty[1];

void strbuf_init(struct strbuf *s)
{
    *s = (struct strbuf)STRBUF_INIT;
}

void strbuf_release(struct strbuf *s)
{
    if (s->cap)
        free(s->buf);
    strbuf_init(s);
}

void strbuf_reset(struct strbuf *s)
{
    s->len = 0;
    if (s->cap)
        s->buf[0] = '\0';
}

char *strbuf_detach(struct strbuf *s)
{
    char *buf = s->cap ? s->buf : xstrdup("");

    strbuf_init(s);
    return buf;
}

static void reserve(struct strbuf *s, size_t more)
{
    size_t need = s->len + more + 1;

    if (need <= s->cap)
        return;
    if (need < 2 * s->cap)
        need = 2 * s->cap;
    if (need < 64)
        need = 64;
    s->buf = xrealloc(s->cap ? s->buf : NULL, need);
    s->cap = need;
}

void strbuf_add(struct strbuf *s, const void *data, size_t len)
{
    reserve(s, len);
    if (len)
        memcpy(s->buf + s->len, data, len);
    s->len += len;
    s->buf[s->len] = '\0';
}

void strbuf_addstr(struct strbuf *s, const char *str)
{
    strbuf_add(s, str, strlen(str));
}

void strbuf_addch(struct strbuf *s, char c)
{
    strbuf_add(s, &c, 1);
}

void strbuf_addv(struct strbuf *s, const char *fmt, va_list ap)
{
    va_list again;
    int len;

    va_copy(again, ap);
    len = vsnprintf(NULL, 0, fmt, ap);
    if (len < 0)
        BUG("bad format '%s'", fmt);
    reserve(s, (size_t)len);
    (void)vsnprintf(s->buf + s->len, (size_t)len + 1, fmt, again);
    va_end(again);
    s->len += (size_t)len;
}

void strbuf_addf(struct strbuf *s, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    strbuf_addv(s, fmt, ap);
    va_end(ap);
}

void strbuf_add_grouped(struct strbuf *s, long long value)
{
    char digits[32];
    int len = snprintf(digits, sizeof(digits), "%lld", value);

    for (int i = 0; i < len; i++) {
        int left = len - i;

        strbuf_addch(s, digits[i]);
        if (digits[i] != '-' && left > 1 && left % 3 == 1)
            strbuf_addch(s, ',');
    }
}

void strbuf_add_bytes(struct strbuf *s, double bytes)
{
    static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int u = 0;

    while (bytes >= 1024 && u < 4) {
        bytes /= 1024;
        u++;
    }
    strbuf_addf(s, u ? "%.1f %s" : "%.0f %s", bytes, unit[u]);
}

void strbuf_add_duration(struct strbuf *s, double seconds)
{
    long long t = (long long)(seconds + 0.5);

    if (t >= 3600)
        strbuf_addf(s, "%lld:%02lld:%02lld", t / 3600, t / 60 % 60, t % 60);
    else
        strbuf_addf(s, "%02lld:%02lld", t / 60, t % 60);
}
