/*
 * Validates an LMDB file. liblmdb trusts the file: a page outside the file or a node
 * outside its page crashes the program. So the whole tree of the only table is checked
 * before the library opens it: branch and leaf pages (some tens of bytes per sample), not
 * the images.
 *
 * The format is that of liblmdb 0.9 (mdb.c, "Database Internals") with this machine's
 * byte order and word size. Private to src/dataset.
 */
#ifndef DATASET_LMDB_CHECK_H
#define DATASET_LMDB_CHECK_H

#include <stdint.h>

#include "base/strbuf.h"

/* `path` is as for liblmdb: a folder with data.mdb, or a file. Returns -1 and a reason on
 * failure; otherwise sets *entries to the number of keys. */
int lmdb_walk(const char *path, uint64_t *entries, struct strbuf *why);

#endif
