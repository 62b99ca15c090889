/*
 * The schema: a row per key, and everything that is known about the key. YAML, flags,
 * checks, --help, `trainc config` and the saved config.yaml are made from it.
 */
#ifndef CONFIG_SCHEMA_H
#define CONFIG_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/choices.h"
#include "config/coerce.h"

struct cfgnode;
struct config;
struct problems;

enum schema_type {
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
    SCHEMA_RECORDS, /* a list of mappings, each with the keys of .record */
};

struct schema {
    const char *key;
    const char *field; /* the C field as text; lower case of the key, a test checks;
                        * NULL: a key that a model family alone reads, by its name */
    size_t offset;
    enum schema_type type;
    int len;                      /* items of a list, if fixed */
    double min, max;              /* of each number; both 0: no limit */
    bool above, nullable;         /* min itself is out; may be None */
    const char *none;             /* what None stands for, a number or a text: NULL,
                                   * None is a mistake, or a value if nullable */
    const char *word;             /* an int key: a text that it takes too, */
    int64_t word_value;           /* and what is then in the field, outside of min..max */
    const char *def;              /* in YAML; NULL: the empty text */
    const struct choice *choices; /* also for texts: the words that are allowed; for a
                                   * list of floats: instead of a list */
    bool single;                  /* of a list of floats: a number is a list of one */
    bool numbers;                 /* of a list of texts: [1, 2] in it is the text "1 2" */
    const char *(*check)(const char *text); /* NULL if good, else what it must be */
    bool path;                              /* a text: ~/ is $HOME */
    const char *flag;    /* "--epochs", or "-b, --batch-size": all its names */
    const char *no_flag; /* another name of its --no- form */
    const char *set_flag, *set_value; /* a flag without a value that sets this one */
    const char *bare;                 /* a text: what its flag without a value means */
    const char *metavar;              /* of the flag; NULL: made from the type */
    const char *help;
    const char *no_effect;       /* a warning when it differs from the default: why */
    const char *unsupported;     /* an error when it differs from the default: why */
    const struct schema *record; /* of SCHEMA_RECORDS: keys without dots, and fields of a
                                  * struct of so many bytes; a row without key ends it */
    size_t record_size;
    bool required; /* a key of a record that has no default */
    bool neutral;  /* does not change what is learned, only how that is watched,
                              * stored or fed: a run may go on with another value */
};

extern const struct schema schema_table[]; /* a row without key ends it */

const struct schema *schema_find(const struct schema *table, const char *key);

/* What the key may hold, for coerce(); choices are texts until they are bound. */
struct decl schema_decl(const struct schema *row);

/* All keys as a tree, each at its default: frozen, to be cloned. One of its values. */
const struct cfgnode *config_defaults(void);
const struct value *config_default(const char *key);

/*
 * Choices, ranges, None, and what a row says of a value beside its default (no effect,
 * unsupported). A value that is not allowed, and one that has ${...} still, is marked as
 * bad and becomes the default.
 */
void config_check(struct cfgnode *tree, struct problems *p);

/* A checked value into a field, whose type is the row's; lists are copied to `mem`, texts
 * are not. */
void schema_bind(const struct schema *row, const struct value *v, void *field,
                 struct arena *mem);

/* A struct of a record with every key at its default. */
void schema_bind_default(const struct schema *record, void *to, struct arena *mem);

/* The words of a key, "a, b, c"; the nearest of them, or NULL. */
void schema_add_choices(struct strbuf *s, const struct choice *choices);
const char *schema_near_choice(const struct choice *choices, const char *word);

/* "int", "float or None", "list of int", "one of a, b": for help and comments. */
void schema_add_type(struct strbuf *s, const struct schema *row);

/* For help and comments: "; no effect", "; not supported", or nothing. */
const char *schema_use(const struct schema *row);

/* The upper limit is so far off that only those who meet it are told. */
bool schema_is_open(const struct schema *row);
/* "[0, 1]", "(0, 10]", "at least 1"; nothing if there is no limit. */
void schema_add_range(struct strbuf *s, const struct schema *row);

#endif
