#include "base/alloc.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static void *check(void *p, size_t size)
{
    if (!p && size)
        die("out of memory: cannot allocate %zu bytes on the host", size);
    return p;
}

void *xmalloc(size_t size)
{
    return check(malloc(size ? size : 1), size);
}

void *xcalloc(size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size)
        die("out of memory: cannot allocate %zu times %zu bytes", count, size);
    return check(calloc(count ? count : 1, size ? size : 1), count * size);
}

void *xrealloc(void *p, size_t size)
{
    return check(realloc(p, size ? size : 1), size);
}

char *xstrndup(const char *s, size_t len)
{
    char *copy = xmalloc(len + 1);

    memcpy(copy, s, len);
    copy[len] = '\0';
    return copy;
}

char *xstrdup(const char *s)
{
    return xstrndup(s, strlen(s));
}

void *xmemdup(const void *p, size_t size)
{
    void *copy = xmalloc(size);

    if (size)
        memcpy(copy, p, size);
    return copy;
}

char *xasprintf(const char *fmt, ...)
{
    va_list ap, again;
    int len;
    char *s;

    va_start(ap, fmt);
    va_copy(again, ap);
    len = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (len < 0)
        BUG("bad format '%s'", fmt);
    s = xmalloc((size_t)len + 1);
    (void)vsnprintf(s, (size_t)len + 1, fmt, again);
    va_end(again);
    return s;
}

void *xalloc_aligned(size_t size)
{
    size_t rounded = (size + 63) / 64 * 64;
    void *p = check(aligned_alloc(64, rounded ? rounded : 64), size);

    memset(p, 0, rounded ? rounded : 64);
    return p;
}

#ifdef DEBUG
#include <malloc.h>

/* glibc lets a program define malloc; this is the real one. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *p, size_t size);
extern void *__libc_memalign(size_t align, size_t size);

static _Thread_local _Bool forbidden;

static void check_allowed(size_t size)
{
    if (forbidden) {
        forbidden = 0;
        BUG("%zu bytes are allocated inside a step", size);
    }
}

void *malloc(size_t size)
{
    check_allowed(size);
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    check_allowed(count * size);
    return __libc_calloc(count, size);
}

void *realloc(void *p, size_t size)
{
    check_allowed(size);
    return __libc_realloc(p, size);
}

int posix_memalign(void **p, size_t align, size_t size)
{
    check_allowed(size);
    *p = __libc_memalign(align, size);
    return *p ? 0 : 12; /* ENOMEM */
}

void *aligned_alloc(size_t align, size_t size)
{
    check_allowed(size);
    return __libc_memalign(align, size);
}

void *memalign(size_t align, size_t size)
{
    check_allowed(size);
    return __libc_memalign(align, size);
}

_Bool alloc_forbid(_Bool forbid)
{
    _Bool before = forbidden;

    forbidden = forbid;
    return before;
}
#else
_Bool alloc_forbid(_Bool forbid)
{
    (void)forbid;
    return 0;
}
#endif
