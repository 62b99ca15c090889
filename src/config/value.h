/*
 * A configuration value: None, bool, int, float, str, list, or tuple, as in yacs, and a
 * mapping with text keys, which must be an item of a list. All data are in an arena that
 * the caller provides; values are not freed individually.
 *
 * A scalar read from text keeps the text, since its meaning depends on the declared type
 * of the key, which is only known when the value is merged (config/coerce.h). `type` is
 * its meaning without a declared type.
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
    VALUE_MAP,   /* .list is key, value, key, value, ...; keys are VALUE_STR */
    VALUE_NODE,  /* a mapping that is a node, not a leaf */
    VALUE_OTHER, /* Python dict, set, bytes, or complex: not allowed in leaves */
};

struct value {
    enum value_type type;
    bool quoted;      /* `text` was quoted */
    int line;         /* in its file, from 1; 0: unknown */
    const char *text; /* as written, with quotes and escapes resolved; NULL: not from
                       * text */
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

/* True if the value has a .list: list, tuple, or mapping. */
bool value_has_items(const struct value *v);
/* Returns the value of a key in a mapping, or NULL. */
const struct value *value_of_key(const struct value *map, const char *key);

/* As Python's ==, except that 1, 1.0, and True differ, and NaN equals NaN. Ignores
 * .text. */
bool value_equal(const struct value *a, const struct value *b);

const char *value_type_name(enum value_type type); /* "int", "NoneType", ... */

/* As Python's repr(): True, None, 1e-08, 'text', [1, 2], (1,). value_add_str: as
 * str(). */
void value_add_repr(struct strbuf *s, const struct value *v);
void value_add_str(struct strbuf *s, const struct value *v);

/* Appends the shortest digits that read back as the same double: 1e-08, 0.0005, inf,
 * nan. */
void value_add_double(struct strbuf *s, double f);

#endif
