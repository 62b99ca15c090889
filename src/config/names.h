/*
 * Keys whose values are the names of a table's rows, where config does not see the table:
 * MODEL.TYPE, ... In the schema they are texts. The owner of the table describes it by a
 * struct names, with which it checks the key for the verbs that read it, and which
 * `trainc help KEY` lists.
 */
#ifndef CONFIG_NAMES_H
#define CONFIG_NAMES_H

#include <stdbool.h>

#include "base/strbuf.h"

struct config;
struct problems;
struct schema;

struct names {
    const char *(*at)(const void *table,
                      int i); /* name of row i; NULL: beyond the last */
    const void *table;
};

/* The names of a key's values; false: it is no such key. */
typedef bool names_of_key(const char *key, struct names *names);

/* "a, b, c"; the empty name is ''. */
void names_add(struct strbuf *s, const struct names *names);
/* The row of that name; -1: none. */
int names_find(const struct names *names, const char *name);

/* What the key may be, as schema_add_type, names included; names_of may be NULL. */
void names_add_type(struct strbuf *s, const struct schema *row, names_of_key *names_of);

/*
 * Is `value`, which `key` has, one of the names? If not, blames the key: "KEY must be one
 * of a, b, c, not 'x' (did you mean a?)".
 */
bool names_check(const struct names *names, const struct config *cfg, struct problems *p,
                 const char *key, const char *value);

#endif
