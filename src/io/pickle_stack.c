#include "io/pickle_stack.h"

#include <string.h>

#include "base/alloc.h"

/* Limits of memory per pickle: maximum number of values, and of items in containers. */
enum { VALUES = 1 << 24 };

void pickle_fail(struct pickle_reader *r, const char *wrong)
{
    if (!r->wrong)
        r->wrong = wrong;
}

/* ---- bytes ---- */

/* Returns the next n bytes, in place, or NULL with a fault if there are fewer. */
const uint8_t *pickle_next(struct pickle_reader *r, uint64_t n)
{
    const uint8_t *ptr = r->pos;

    if (n > (uint64_t)(r->end - ptr)) {
        pickle_fail(r, "it ends in the middle");
        return NULL;
    }
    r->pos += n;
    return ptr;
}

uint64_t pickle_read_int(struct pickle_reader *r, int bytes)
{
    const uint8_t *b = pickle_next(r, (uint64_t)bytes);
    uint64_t v = 0;

    for (int i = bytes; b && i-- > 0;)
        v = v << 8 | b[i];
    return v;
}

/* Returns a line of text without its end, or NULL if the end is missing. */
const char *pickle_next_line(struct pickle_reader *r, size_t *len)
{
    const uint8_t *end = memchr(r->pos, '\n', (size_t)(r->end - r->pos)), *ptr = r->pos;

    if (!end) {
        pickle_fail(r, "it ends in the middle");
        return NULL;
    }
    *len = (size_t)(end - ptr);
    r->pos = end + 1;
    return (const char *)ptr;
}

/* ---- values ---- */

struct pickle_value *pickle_new(struct pickle_reader *r, enum pickle_kind kind)
{
    struct pickle_value *v = arena_new(&r->p->mem, sizeof(*v));

    v->kind = kind;
    if (++r->values > VALUES)
        pickle_fail(r, "it has more than 16 million values");
    return v;
}

struct pickle_value *pickle_push(struct pickle_reader *r, struct pickle_value *v)
{
    GROW(r->stack, r->n, r->cap);
    r->stack[r->n++] = v;
    return v;
}

/* Returns NULL with a fault if the stack is empty above the last mark. */
struct pickle_value *pickle_pop(struct pickle_reader *r)
{
    if (r->n <= (r->nmark ? r->mark[r->nmark - 1] : 0)) {
        pickle_fail(r, "a value is missing");
        return NULL;
    }
    return r->stack[--r->n];
}

struct pickle_value *pickle_top(struct pickle_reader *r)
{
    struct pickle_value *v = pickle_pop(r);

    return v ? pickle_push(r, v) : NULL;
}

void pickle_add(struct pickle_reader *r, struct pickle_value *dst, struct pickle_value *v)
{
    if (++r->places > VALUES) { /* a few bytes can copy a list */
        pickle_fail(r, "its lists have more than 16 million values");
        return;
    }
    if (dst->item.n == dst->item.cap) {
        size_t cap = dst->item.cap ? 2 * dst->item.cap : 4;
        struct pickle_value **more =
            arena_new(&r->p->mem, cap * sizeof(struct pickle_value *));

        if (dst->item.n)
            memcpy(more, dst->item.v, dst->item.n * sizeof(*more));
        dst->item.v = more;
        dst->item.cap = cap;
    }
    dst->item.v[dst->item.n++] = v;
}

void pickle_set_text(struct pickle_reader *r, struct pickle_value *v, const void *s,
                     size_t len)
{
    v->text.s = arena_new(&r->p->mem, len + 1);
    v->text.len = len;
    if (len)
        memcpy(v->text.s, s, len);
}

/* Pops the last mark and returns the stack height it recorded. */
size_t pickle_pop_mark(struct pickle_reader *r)
{
    if (r->nmark)
        return r->mark[--r->nmark];
    pickle_fail(r, "a mark is missing");
    return r->n;
}

void pickle_memo_put(struct pickle_reader *r, uint64_t i)
{
    struct pickle_value *v = pickle_top(r);

    /* Each entry takes at least one byte of the pickle, so a larger index is invalid. */
    if (i >= (uint64_t)(r->end - r->start)) {
        pickle_fail(r, "an entry of its memo is out of range");
        return;
    }
    while (r->nmemo <= i) {
        GROW(r->memo, r->nmemo, r->memo_cap);
        r->memo[r->nmemo++] = NULL;
    }
    r->memo[i] = v;
}

struct pickle_value *pickle_memo_get(struct pickle_reader *r, uint64_t i)
{
    if (i < r->nmemo && r->memo[i])
        return r->memo[i];
    pickle_fail(r, "an entry of its memo is missing");
    return NULL;
}
