/*
 * A value read by the declared type of the key that it is for. Deviates from yacs where
 * yacs guesses: a str key takes the text as written ('5' and 010 stay texts; one layer
 * of quotes is dropped), a float key takes an int that a double holds exactly, a bool
 * key takes the words of YAML and Python but no number, list items follow the same
 * rules. None is taken for any key; whether a key may keep it, the schema says. A None in
 * quotes is a text to keys of texts, to others as good as one without. A list of mappings
 * from the command line is YAML: [{at: epoch, run: ./push}].
 */
#ifndef CONFIG_COERCE_H
#define CONFIG_COERCE_H

#include "config/value.h"

struct schema;

/* What a key may hold. */
struct decl {
    enum value_type type;
    enum value_type item, item2; /* of lists, and lists of lists */
    const char *word;            /* a text that VALUE_INT takes too and keeps, or NULL */
    bool words;                  /* a list: a text without quotes is kept as it is */
    bool single;                 /* a list of floats: 15 is [15] */
    bool numbers;                /* a list of texts: [1, 2] in it is the text "1 2" */
    const struct schema *record; /* of VALUE_MAP: a row for each key that it may have */
};

/*
 * Reads `in` as `d` into *out (which keeps in->text). false: *out is untouched and `why`
 * gets "an int, not 3.5": what is wanted and what came.
 */
bool coerce(struct arena *a, const struct decl *d, const struct value *in,
            struct value *out, struct strbuf *why);

#endif
