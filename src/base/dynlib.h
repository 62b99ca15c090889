/*
 * An optional library, opened once when it is needed, so that the program starts without
 * it.
 *
 *   static struct lmdb_library { int (*env_create)(MDB_env **env); ... } lib;
 *   static const struct dynlib_symbol symbols[] = {
 *      {"mdb_env_create", offsetof(struct lmdb_library, env_create)}, ..., {0}};
 *   static const char *const names[] = {"liblmdb.so.0", NULL};
 *   static struct dynlib row = {
 *      .names = names, .package = "liblmdb0", .symbols = symbols};
 *   if (dynlib_open(&row, &lib, &why) < 0) ...
 *
 * Symbols are written into the struct at their offsets; a library stays open.
 * Thread-safe: calls during the opening wait for it.
 */
#ifndef BASE_DYNLIB_H
#define BASE_DYNLIB_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

struct dynlib_symbol {
    const char *name; /* NULL ends them */
    size_t offset;
};

struct dynlib {
    const char *const *names; /* tried in this order, ended by NULL */
    const char *package;      /* Debian's package, for the message */
    const struct dynlib_symbol *symbols;
    bool open; /* private to dynlib.c: completely opened */
};

/* Returns -1 with "liblmdb.so.0 cannot be opened, which Debian's liblmdb0 has". */
int dynlib_open(struct dynlib *lib, void *dst, struct strbuf *why);

/* Ends the program if it is missing: "AVIF cannot be read: ...", with `what` for AVIF. */
void dynlib_need(struct dynlib *lib, void *dst, const char *what);

#endif
