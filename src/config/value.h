/*
 * A configuration value: None, bool, int, float, str, list or tuple, as yacs has them,
 * and a mapping of texts, which only an item of a list may be.
 * Everything lives in an arena that the caller names; values are never freed one by one.
 *
 * A scalar that was read from text keeps that text: what the text means depends on the
 * key's declared type, which is known only when the value is merged into the key
 * (config/coerce.h). `type` is what the text means where no type is declared.
 */
#ifndef CONFIG_VALUE_H
#define CONFIG_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/strbuf.h"

enum value_type {
    VALUE_NONE,
    VALUE_BOOL,
    VALUE_INT,
    VALUE_FLOAT,
    VALUE_STR,
    VALUE_LIST,
    VALUE_TUPLE,
    VALUE_MAP,   /* .list is key, value, key, value, ...: keys are VALUE_STR */
    VALUE_NODE,  /* only beside a node: a mapping, not a leaf */
    VALUE_OTHER, /* a Python dict, set, bytes or complex: no leaf may hold one */
};

struct value {
    enum value_type type;
    bool quoted;      /* `text` stood in quotes */
    const char *text; /* as written, quotes and escapes resolved; NULL: not from text */
    union {
        bool b;
        int64_t i;
        double f;
        const char *s;
        struct {
            struct value *item;
            int n;
        } list;
    };
};

struct value value_none(void);
struct value value_bool(bool b);
struct value value_int(int64_t i);
struct value value_float(double f);
struct value value_str(struct arena *a, const char *s);
struct value value_list(struct arena *a, enum value_type type, int n); /* n times None */
struct value value_copy(struct arena *a, const struct value *v);

/* Has it a .list: a list, a tuple or a mapping? */
bool value_has_items(const struct value *v);
/* What a mapping has for the key; NULL: nothing. */
const struct value *value_of_key(const struct value *map, const char *key);

/* Python's ==, but 1, 1.0 and True differ; NaN equals NaN. Texts are not looked at. */
bool value_equal(const struct value *a, const struct value *b);

const char *value_type_name(enum value_type type); /* "int", "NoneType", ... */

/* Python's repr: True, None, 1e-08, 'text', [1, 2], (1,). value_add_str: str(). */
void value_add_repr(struct strbuf *s, const struct value *v);
void value_add_str(struct strbuf *s, const struct value *v);

/* The shortest digits that read back as the same double: 1e-08, 0.0005, inf, nan. */
void value_add_double(struct strbuf *s, double f);

#endif
