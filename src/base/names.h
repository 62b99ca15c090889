/*
 * The names of the rows of a table, for a text that must be one of them: to look it up,
 * to list them, to say what is wrong.
 *
 *   static struct named sort_at(const void *table, int i)
 *   {
 *       const struct sort *row = (const struct sort *)table + i;
 *
 *       return (struct named){row->name, row->help};
 *   }
 *   const struct names sort_names = {.at = sort_at, .table = sort_table};
 */
#ifndef BASE_NAMES_H
#define BASE_NAMES_H

#include <stdbool.h>

#include "base/strbuf.h"

struct named {
    const char *name; /* NULL: beyond the last row */
    const char *help; /* a line; the same pointer for names of one row; NULL: none */
    const char *const *reads; /* keys that some rows read and others do not, NULL at the
                               * end; NULL: none */
    bool pattern; /* stands for texts that names.more knows, cuda:N: is none itself */
    const char *refuse; /* the name is known and not supported: why, after the name */
};

struct names {
    struct named (*at)(const void *table, int i);
    const void *table;
    bool (*more)(
        const char *text); /* good texts that no row is called: cuda:1; or NULL */
    bool any_case;         /* ADAMW is adamw */
    bool empty;            /* the empty text is good, too, and no name */
};

/* "a, b, c", without those that are refused; '' for an empty name. */
void names_add(struct strbuf *s, const struct names *names);

/* The index for at(); -1: none. */
int names_find(const struct names *names, const char *name);

/* Else "must be one of a, b, c, not 'x' (did you mean a?)" is appended to `why`. */
bool names_known(const struct names *names, const char *name, struct strbuf *why);

bool named_reads(const struct named *row, const char *key);

#endif
