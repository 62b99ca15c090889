/*
 * The schema: one row per key, with everything known about it. YAML, flags, checks,
 * --help, `trainc config`, and the saved config.yaml are generated from it.
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
    SCHEMA_LAYERS,  /* a list of anything, which src/layers reads */
};

struct schema {
    const char *key;
    const char *field; /* name of the C field, the key in lower case (a test checks it);
                        * NULL: a key that only a model family reads, by name */
    size_t offset;
    enum schema_type type;
    int len;                      /* fixed length of a list, or 0 */
    double min, max;              /* range of each number; both 0: no limit */
    bool above, nullable;         /* above: excludes min; nullable: accepts None */
    const char *none;             /* what None stands for, a number or a text; NULL: None
                                   * is an error, unless nullable */
    const char *word;             /* for an int: a text that is also accepted, */
    int64_t word_value;           /* and the field's value for it, outside min..max */
    const char *def;              /* in YAML; NULL: empty text */
    const struct choice *choices; /* also for texts: the allowed words; for a list of
                                   * floats: words in place of a list */
    bool single;                  /* list of floats: accepts a single number */
    bool numbers;                 /* list of texts: an item [1, 2] is the text "1 2" */
    const char *(*check)(const char *text); /* returns NULL, or what the text must be */
    bool path;                              /* a text: ~/ is expanded to $HOME */
    const char *flag;    /* all its names: "--epochs", or "-b, --batch-size" */
    const char *no_flag; /* another name of the --no- form */
    const char *set_flag, *set_value; /* a flag without value, and what it sets this key
                                       * to */
    const char *bare;                 /* a text: meaning of its flag without a value */
    const char *metavar;              /* of the flag; NULL: derived from the type */
    const char *help;
    const char *no_effect;       /* why a value other than the default has no effect (a
                                  * warning), or NULL */
    const char *unsupported;     /* why a value other than the default is an error, or
                                  * NULL */
    const struct schema *record; /* SCHEMA_RECORDS: rows for the items' keys, without
                                  * dots, whose fields are in a struct of record_size
                                  * bytes; terminated by a row without key */
    size_t record_size;
    bool required; /* a key of a record without a default */
    bool neutral;  /* does not affect what is learned, only monitoring, storage, or input:
                    * a resumed run may change it */
};

extern const struct schema schema_table[]; /* terminated by a row without key */

const struct schema *schema_find(const struct schema *table, const char *key);

/* Returns the type for coerce(). Choices are texts until they are bound. */
struct decl schema_decl(const struct schema *row);

/* config_defaults returns all keys as a tree with default values: frozen, to be cloned.
 * config_default returns one of its values. */
const struct cfgnode *config_defaults(void);
const struct value *config_default(const char *key);

/*
 * Checks choices, ranges, and None, and reports values other than the default as the row
 * says (no effect, unsupported). A value that is invalid or still contains ${...} is
 * marked as bad and replaced by the default.
 */
void config_check(struct cfgnode *tree, struct problems *p);

/* Stores a checked value in a field, whose type is the row's. Copies lists to `mem`, but
 * not texts. */
void schema_bind(const struct schema *row, const struct value *v, void *field,
                 struct arena *mem);

/* Fills a record's struct with the defaults of its keys. */
void schema_bind_default(const struct schema *record, void *dst, struct arena *mem);

/* schema_add_choices appends a key's words, "a, b, c"; schema_near_choice returns the one
 * most similar to `word`, or NULL. */
void schema_add_choices(struct strbuf *s, const struct choice *choices);
const char *schema_near_choice(const struct choice *choices, const char *word);

/* Appends "int", "float or None", "list of int", or "one of a, b", for help and
 * comments. */
void schema_add_type(struct strbuf *s, const struct schema *row);

/* Returns "; no effect", "; not supported", or "", for help and comments. */
const char *schema_use(const struct schema *row);

/* True if the upper limit is so large that only errors mention it. */
bool schema_is_open(const struct schema *row);
/* Appends "[0, 1]", "(0, 10]", or "at least 1"; nothing without a limit. */
void schema_add_range(struct strbuf *s, const struct schema *row);

#endif
