/*
 * Converts a value to the declared type of its key. Differs from yacs where yacs guesses:
 * a str key keeps the text as written ('5' and 010 stay texts; one layer of quotes is
 * removed), a float key accepts an int that a double represents exactly, a bool key
 * accepts the words of YAML and Python but no numbers, and list items follow the same
 * rules. Any key accepts None; the schema says which may keep it. A quoted None is a text
 * for text keys, and None for others. A list of mappings on the command line is YAML:
 * [{at: epoch, run: ./push}].
 */
#ifndef CONFIG_COERCE_H
#define CONFIG_COERCE_H

#include "config/value.h"

struct schema;

/* The declared type of a key. */
struct decl {
    enum value_type type;
    enum value_type item, item2; /* of lists, and lists of lists; VALUE_OTHER: any */
    const char *word;            /* a text that VALUE_INT also accepts and keeps, or
                                  * NULL */
    bool words;                  /* for a list: accepts an unquoted text as it is */
    bool single;                 /* for a list of floats: 15 means [15] */
    bool numbers;                /* for a list of texts: an item [1, 2] means the text "1
                                  * 2" */
    const struct schema *record; /* of VALUE_MAP: one row per allowed key */
};

/*
 * Converts `in` to type `d` and stores it in *out, which keeps in->text. On failure
 * returns false, leaves *out unchanged, and appends the expected and the actual value:
 * "an int, not 3.5".
 */
bool coerce(struct arena *a, const struct decl *d, const struct value *in,
            struct value *out, struct strbuf *why);

#endif
