/*
 * Is the file of an LMDB sound? liblmdb trusts what it reads: a page that points outside
 * the file, or a node outside its page, ends the program. So the whole tree of the one
 * table is walked before the library looks into it: its branch and leaf pages, some tens
 * of bytes per sample, not the images.
 *
 * The format is that of liblmdb 0.9 (mdb.c, "Database Internals"), of this machine's byte
 * order and word size. Private to src/dataset.
 */
#ifndef DATASET_LMDB_CHECK_H
#define DATASET_LMDB_CHECK_H

#include <stdint.h>

#include "base/strbuf.h"

/* `path` as liblmdb has it: a folder with data.mdb, or a file. -1 and a reason; else
 * *entries is how many keys there are. */
int lmdb_walk(const char *path, uint64_t *entries, struct strbuf *why);

#endif
