/*
 * Keys whose values are the names of a table's rows, where config does not see the table.
 * In the schema they are texts; the table's owner checks them for the verbs that read
 * them, and `trainc help KEY` lists the rows (cmd/names.c).
 */
#ifndef CONFIG_NAMES_H
#define CONFIG_NAMES_H

#include "base/names.h"

struct config;
struct problems;
struct schema;

/*
 * Is what `key` has one of the names? If not, blames the key. If so, warns of the keys
 * that are set and that other rows read and this one does not.
 */
bool names_check(const struct names *names, const struct config *cfg, struct problems *p,
                 const char *key);

/* The same where other rows read keys beside that one: `also`, names up to a NULL. */
bool names_check_also(const struct names *names, const struct config *cfg,
                      struct problems *p, const char *key, const char *const *also);

/* The names of a key's values; false: it is no such key. */
typedef bool names_of_key(const char *key, struct names *names);

/* What the key may be, as schema_add_type, names included; names_of may be NULL. */
void names_add_type(struct strbuf *s, const struct schema *row, names_of_key *names_of);

#endif
