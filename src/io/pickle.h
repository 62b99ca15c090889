/*
 * Python's pickles as data. Nothing in them is called or built: where a pickle calls a
 * class or a function, we keep an object that says what is called and with which
 * arguments. Protocols 2 to 5 (PEP 307, 3154, 574; the opcodes are those of
 * CPython's Lib/pickletools.py), without buffers outside of the stream.
 *
 *   struct pickle p;
 *   if (pickle_read(&p, data, len, &why)) ...      p.root, p.used
 *   pickle_release(&p);                            also after a failed read
 *
 * Values may contain themselves, as in Python: code that descends must limit the depth.
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
    PICKLE_LONG,   /* text: an int beyond 64 bits, its bytes, little-endian */
    PICKLE_FLOAT,  /* real */
    PICKLE_TEXT,   /* text */
    PICKLE_BYTES,  /* text */
    PICKLE_LIST,   /* item: also of a set */
    PICKLE_TUPLE,  /* item */
    PICKLE_DICT,   /* item: key, value, key, value; also of an OrderedDict */
    PICKLE_GLOBAL, /* text: "collections OrderedDict" */
    PICKLE_REF,    /* item: one, the persistent id */
    PICKLE_OBJECT  /* item: what is called, and the tuple of its arguments */
};

struct pickle_value {
    enum pickle_kind kind;
    union {
        int64_t number;
        double real;
        struct {
            char *s; /* with a NUL after it */
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
    size_t used;                     /* bytes of the data that were read */
    const struct pickle_value **ref; /* every PICKLE_REF, as they come */
    size_t nref, ref_cap;
};

/* -1 with the reason appended: a damaged pickle, or more than 16 million values. */
int pickle_read(struct pickle *p, const void *data, size_t len, struct strbuf *why);
void pickle_release(struct pickle *p);

/* The value of a text key; NULL: there is none, or d (which may be NULL) is no dict. */
const struct pickle_value *pickle_get(const struct pickle_value *d, const char *key);
/* Item i of a list, a tuple or an object; NULL: there is none. */
const struct pickle_value *pickle_item(const struct pickle_value *v, size_t i);
/* The text of a text or a global, else NULL. */
const char *pickle_text(const struct pickle_value *v);
const char *pickle_global(const struct pickle_value *v);

#endif
