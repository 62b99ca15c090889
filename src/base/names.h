/*
 * The names of a table's rows, for a text that must be one of them: lookup, listing, and
 * error messages.
 *
 *   static struct named sort_at(const void *table, int i)
 *   {
 *      const struct sort *row = (const struct sort *)table + i;
 *
 *      return (struct named){row->name, row->help};
 *   }
 *   const struct names sort_names = {.at = sort_at, .table = sort_table};
 */
#ifndef BASE_NAMES_H
#define BASE_NAMES_H

#include <stdbool.h>

#include "base/strbuf.h"

struct named {
    const char *name; /* NULL after the last row */
    const char *help; /* one line; the same pointer for names of one row; or NULL */
    const char *const *reads; /* keys that only some rows read, ended by NULL; or NULL */
    bool pattern; /* stands for texts that names.more accepts, such as cuda:N; no valid
                   * text itself */
    const char *refuse; /* reason to refuse a known name, appended to the name */
};

struct names {
    struct named (*entry)(const void *table, int i);
    const void *table;
    bool (*more)(
        const char *text); /* accepts texts that are no row's name, such as cuda:1; or
                            * NULL */
    bool any_case;         /* ADAMW means adamw */
    bool empty;            /* the empty text is valid, too, but no name */
};

/* Appends "a, b, c", without refused names; '' for an empty name. */
void names_add(struct strbuf *s, const struct names *names);

/* Returns the index for at(), or -1 if there is none. */
int names_find(const struct names *names, const char *name);

/* Returns false and appends "must be one of a, b, c, not 'x' (did you mean a?)" to `why`
 * if the name is unknown. */
bool names_known(const struct names *names, const char *name, struct strbuf *why);

bool named_reads(const struct named *row, const char *key);

#endif
