/*
 * State of a pickle reader: its bytes, the stack of values with its marks, and the memo.
 * The first error is stored by pickle_fail() and ends the reading; the functions below
 * may still be called and then return NULL or do nothing.
 */
#ifndef IO_PICKLE_STACK_H
#define IO_PICKLE_STACK_H

#include <stdbool.h>

#include "io/pickle.h"

struct pickle_reader {
    struct pickle *p;
    const uint8_t *start, *pos, *end;
    struct pickle_value **stack;
    size_t n, cap;
    size_t *mark; /* stack heights */
    size_t nmark, mark_cap;
    struct pickle_value **memo;
    size_t nmemo, memo_cap;
    size_t values, places; /* values created; items in lists, tuples, and dicts */
    bool stopped;
    const char *wrong; /* first error, or NULL */
};

void pickle_fail(struct pickle_reader *r, const char *wrong);

/* Returns the next n bytes, or NULL if there are fewer. An int is little endian. */
const uint8_t *pickle_next(struct pickle_reader *r, uint64_t n);
uint64_t pickle_read_int(struct pickle_reader *r, int bytes);
/* Returns a line of text without its end, or NULL if the end is missing. */
const char *pickle_next_line(struct pickle_reader *r, size_t *len);

struct pickle_value *pickle_new(struct pickle_reader *r, enum pickle_kind kind);
void pickle_add(struct pickle_reader *r, struct pickle_value *dst,
                struct pickle_value *v);
void pickle_set_text(struct pickle_reader *r, struct pickle_value *v, const void *s,
                     size_t len);

/* Returns NULL if the stack is empty above the last mark. */
struct pickle_value *pickle_pop(struct pickle_reader *r);
struct pickle_value *pickle_top(struct pickle_reader *r);
struct pickle_value *pickle_push(struct pickle_reader *r, struct pickle_value *v);
/* Pops the last mark and returns the stack height it recorded. */
size_t pickle_pop_mark(struct pickle_reader *r);

/* Stores the top of the stack as number i; pickle_memo_get returns NULL if there is none. */
void pickle_memo_put(struct pickle_reader *r, uint64_t i);
struct pickle_value *pickle_memo_get(struct pickle_reader *r, uint64_t i);

#endif
