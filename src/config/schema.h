/*
 * The schema: one row a key, and everything that is known about the key. YAML, flags,
 * checks, --help, `trainc config` and the saved config.yaml are made from it.
 *
 * A row without FIELD is a key that once existed: with .deprecated it is skipped with a
 * warning. Tests have tables of their own; the program's is schema_table.
 */
#ifndef CONFIG_SCHEMA_H
#define CONFIG_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/coerce.h"
#include "config/config.h"

enum schema_type {
    SCHEMA_GONE,
    SCHEMA_BOOL,
    SCHEMA_INT,
    SCHEMA_FLOAT,
    SCHEMA_STR,
    SCHEMA_CHOICE, /* an int field; .choices maps words to its values */
    SCHEMA_BOOL_OPT,
    SCHEMA_FLOAT_OPT,
    SCHEMA_INT_LIST,
    SCHEMA_FLOAT_LIST,
    SCHEMA_STR_LIST,
    SCHEMA_INT_TABLE,
};

struct choice {
    const char *name; /* NULL ends the array */
    int value;
    const char *refuse; /* a word that is known and not supported: why */
};

struct schema {
    const char *key;
    const char *field; /* the C field as text; lower case of the key, a test checks */
    size_t offset;
    enum schema_type type;
    int len;                      /* items of a list, if fixed */
    double min, max;              /* of each number; both 0: no limit */
    bool above, nullable;         /* min itself is out; may be None */
    const char *word;             /* an int key: a text that it takes too, */
    int64_t word_value;           /* and what is then in the field, outside of min..max */
    const char *def;              /* in YAML; NULL: the empty text */
    const struct choice *choices; /* also for texts: the words that are allowed; for a
                                   * list of floats: instead of a list */
    const char *(*check)(const char *text); /* NULL if good, else what it must be */
    const char *flag;    /* "--epochs", or "-b, --batch-size": all its names */
    const char *no_flag; /* another name of its --no- form */
    const char *metavar; /* of the flag; NULL: made from the type */
    const char *help;
    const char *renamed_from; /* the old key: forwarded with a warning */
    const char *deprecated;   /* a warning when it is given: why it will go */
    const char *no_effect;    /* a warning when it differs from the default: why */
    const char *unsupported;  /* an error when it differs from the default: why */
};

/* .type and .offset both come from the field, so the row and the struct cannot differ. */
#define FIELD_OF(s, f)                                                                   \
    .field = #f, .offset = offsetof(s, f),                                               \
    .type = _Generic(((s *)0)->f,                                                        \
                     bool: SCHEMA_BOOL,                                                  \
                     int: SCHEMA_CHOICE,                                                 \
                     int64_t: SCHEMA_INT,                                                \
                     double: SCHEMA_FLOAT,                                               \
                     const char *: SCHEMA_STR,                                           \
                     struct bool_opt: SCHEMA_BOOL_OPT,                                   \
                     struct float_opt: SCHEMA_FLOAT_OPT,                                 \
                     struct int_list: SCHEMA_INT_LIST,                                   \
                     struct float_list: SCHEMA_FLOAT_LIST,                               \
                     struct str_list: SCHEMA_STR_LIST,                                   \
                     struct int_table: SCHEMA_INT_TABLE)
#define FIELD(f) FIELD_OF(struct config, f)

extern const struct schema schema_table[]; /* a row without key ends it */

const struct schema *schema_find(const struct schema *table, const char *key);

/* What the key may hold, for coerce(); choices are texts until they are bound. */
struct decl schema_decl(const struct schema *row);

/* The default, as a value of schema_decl's type. */
struct value schema_default(const struct schema *row, struct arena *a);

/* Whether `v`, of schema_decl's type, is allowed; else `why` gets "must be in [0, 1],
 * not 7". */
bool schema_check(const struct schema *row, const struct value *v, struct strbuf *why);

/* Writes a checked value into the field; texts and lists are copied to `mem`. */
void schema_bind(const struct schema *row, const struct value *v, void *config,
                 struct arena *mem);

/* The field's value, of schema_decl's type; texts are not copied. */
struct value schema_read(const struct schema *row, const void *config, struct arena *mem);

/* The words of a key, "a, b, c"; the nearest of them, or NULL. */
void schema_add_choices(struct strbuf *s, const struct choice *choices);
const char *schema_near_choice(const struct choice *choices, const char *word);

/* "int", "float or None", "list of int", "one of a, b": for help and comments. */
void schema_add_type(struct strbuf *s, const struct schema *row);

/* The upper limit is so far off that only those who meet it are told. */
bool schema_is_open(const struct schema *row);
/* "[0, 1]", "(0, 10]", "at least 1"; nothing if there is no limit. */
void schema_add_range(struct strbuf *s, const struct schema *row);

#endif
