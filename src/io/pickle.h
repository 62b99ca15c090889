/*
 * Reads Python's pickles as data. Nothing in them is called or constructed: a call of a
 * class or function becomes an object with its name and arguments. Protocols 2 to 5 (PEP
 * 307, 3154, 574; opcodes as in CPython's Lib/pickletools.py), without out-of-band
 * buffers.
 *
 *   struct pickle p;
 *   if (pickle_read(&p, data, len, &why)) ...      p.root, p.used
 *   pickle_release(&p);                            also after a failed read
 *
 * As in Python, values may contain themselves, so recursive code must limit the depth.
 */
#ifndef IO_PICKLE_H
#define IO_PICKLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/strbuf.h"

enum pickle_kind {
    PICKLE_NONE,
    PICKLE_BOOL,   /* number */
    PICKLE_INT,    /* number */
    PICKLE_LONG,   /* text: an int beyond 64 bits, little-endian bytes */
    PICKLE_FLOAT,  /* real */
    PICKLE_TEXT,   /* text */
    PICKLE_BYTES,  /* text */
    PICKLE_LIST,   /* item; also for a set */
    PICKLE_TUPLE,  /* item */
    PICKLE_DICT,   /* item: key, value, key, value; also for an OrderedDict */
    PICKLE_GLOBAL, /* text: "collections OrderedDict" */
    PICKLE_REF,    /* item: one, the persistent id */
    PICKLE_OBJECT  /* item: the function, the tuple of its arguments, and its state, if
                    * any */
};

struct pickle_value {
    enum pickle_kind kind;
    union {
        int64_t number;
        double real;
        struct {
            char *s; /* NUL-terminated */
            size_t len;
        } text;
        struct {
            struct pickle_value **v;
            size_t n, cap;
        } item;
    };
};

struct pickle {
    struct arena mem;
    const struct pickle_value *root;
    size_t used;                     /* bytes read from the data */
    const struct pickle_value **ref; /* every PICKLE_REF, in order */
    size_t nref, ref_cap;
};

/* Returns -1 and appends a reason if the pickle is damaged or has more than 16 million
 * values. */
int pickle_read(struct pickle *p, const void *data, size_t len, struct strbuf *why);
void pickle_release(struct pickle *p);

/* Returns the value of a text key, or NULL if there is none or d is not a dict. d may be
 * NULL. */
const struct pickle_value *pickle_get(const struct pickle_value *d, const char *key);
/* Returns item i of a list, a tuple, or an object, or NULL if there is none. */
const struct pickle_value *pickle_item(const struct pickle_value *v, size_t i);
/* Returns the text of a text or a global, else NULL. */
const char *pickle_text(const struct pickle_value *v);
const char *pickle_global(const struct pickle_value *v);

#endif
