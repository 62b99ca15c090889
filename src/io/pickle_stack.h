/*
 * What reads a pickle: its bytes, the stack of values with its marks, and the memo. What
 * goes wrong is noted once, by pickle_fail(), and ends the reading; the functions below
 * may be called after it, and give NULL or nothing then.
 */
#ifndef IO_PICKLE_STACK_H
#define IO_PICKLE_STACK_H

#include <stdbool.h>

#include "io/pickle.h"

struct pickle_reader {
    struct pickle *p;
    const uint8_t *start, *at, *end;
    struct pickle_value **stack;
    size_t n, cap;
    size_t *mark; /* heights of the stack */
    size_t nmark, mark_cap;
    struct pickle_value **memo;
    size_t nmemo, memo_cap;
    size_t values, places; /* made; in lists, tuples and dicts */
    bool stopped;
    const char *wrong; /* NULL: nothing is */
};

void pickle_fail(struct pickle_reader *r, const char *wrong);

/* The next n bytes; NULL: there are not so many. An int is little-endian. */
const uint8_t *pickle_take(struct pickle_reader *r, uint64_t n);
uint64_t pickle_take_int(struct pickle_reader *r, int bytes);
/* A line of text without its end; NULL: there is no end. */
const char *pickle_take_line(struct pickle_reader *r, size_t *len);

struct pickle_value *pickle_new(struct pickle_reader *r, enum pickle_kind kind);
void pickle_add(struct pickle_reader *r, struct pickle_value *to, struct pickle_value *v);
void pickle_set_text(struct pickle_reader *r, struct pickle_value *v, const void *s,
                     size_t len);

/* NULL: there is none, or none above the last mark. */
struct pickle_value *pickle_pop(struct pickle_reader *r);
struct pickle_value *pickle_top(struct pickle_reader *r);
struct pickle_value *pickle_push(struct pickle_reader *r, struct pickle_value *v);
/* The height of the stack at the last mark, which is gone then. */
size_t pickle_pop_mark(struct pickle_reader *r);

/* The top of the stack gets number i; NULL: nothing has it. */
void pickle_memo_put(struct pickle_reader *r, uint64_t i);
struct pickle_value *pickle_memo_get(struct pickle_reader *r, uint64_t i);

#endif
