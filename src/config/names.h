/*
 * Keys whose values are names in a table that config does not know. In the schema they
 * are texts. The table's owner checks them for the verbs that read them, and `trainc help
 * KEY` lists the names (cmd/names.c).
 */
#ifndef CONFIG_NAMES_H
#define CONFIG_NAMES_H

#include "base/names.h"

struct config;
struct problems;
struct schema;

/*
 * Returns false and reports an error if the value of `key` is not one of the names.
 * Otherwise warns about keys that are set and that only other rows read.
 */
bool names_check(const struct names *names, const struct config *cfg, struct problems *p,
                 const char *key);

/* The same, if other keys also select rows: `also`, terminated by NULL. */
bool names_check_also(const struct names *names, const struct config *cfg,
                      struct problems *p, const char *key, const char *const *also);

/* Gets the names that a key's value may have. Returns false if it is not such a key. */
typedef bool names_of_key(const char *key, struct names *names);

/* As schema_add_type, with the names; names_of may be NULL. */
void names_add_type(struct strbuf *s, const struct schema *row, names_of_key *names_of);

#endif
