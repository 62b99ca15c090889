#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

enum { BLOCK_SIZE = 64 << 10, ALIGN = 16 };

struct arena_block {
    struct arena_block *next;
    size_t used, size;
    _Alignas(16) unsigned char data[];
};

void *arena_new(struct arena *a, size_t size)
{
    size_t need = (size + ALIGN - 1) / ALIGN * ALIGN;
    struct arena_block *b = a->block;
    void *p;

    if (!b || b->size - b->used < need) {
        size_t room = need > BLOCK_SIZE ? need : BLOCK_SIZE;

        b = xcalloc(1, sizeof(*b) + room);
        b->size = room;
        b->next = a->block;
        a->block = b;
    }
    p = b->data + b->used;
    b->used += need;
    return p;
}

void *arena_copy(struct arena *a, const void *p, size_t size)
{
    void *copy = arena_new(a, size);

    if (size)
        memcpy(copy, p, size);
    return copy;
}

char *arena_strdup(struct arena *a, const char *s)
{
    return arena_copy(a, s, strlen(s) + 1);
}

char *arena_printf(struct arena *a, const char *fmt, ...)
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
    s = arena_new(a, (size_t)len + 1);
    (void)vsnprintf(s, (size_t)len + 1, fmt, again);
    va_end(again);
    return s;
}

void arena_release(struct arena *a)
{
    while (a->block) {
        struct arena_block *next = a->block->next;

        free(a->block);
        a->block = next;
    }
}
