/*
 * liblmdb, loaded at run time when a data set needs it.
 *
 * DATA.DATASET lmdb: a folder with data.mdb, or a file, with the keys that are usual in
 * text recognition: "num-samples", a decimal number; "image-000000001" and so on, an
 * encoded image; "label-000000001" and so on, a class as a decimal number, or a label
 * map. Without "num-samples", each key that does not begin with "__" is a sample
 * (lmdb_value.h).
 */
#ifndef DATASET_LMDB_LIBRARY_H
#define DATASET_LMDB_LIBRARY_H

#include <lmdb.h>

#include "base/strbuf.h"

struct lmdb_library {
    int (*env_create)(MDB_env **env);
    int (*env_open)(MDB_env *env, const char *path, unsigned flags, mdb_mode_t mode);
    int (*env_set_mapsize)(MDB_env *env, size_t size);
    int (*env_sync)(MDB_env *env, int force);
    void (*env_close)(MDB_env *env);
    int (*txn_begin)(MDB_env *env, MDB_txn *parent, unsigned flags, MDB_txn **txn);
    int (*txn_commit)(MDB_txn *txn);
    void (*txn_abort)(MDB_txn *txn);
    int (*dbi_open)(MDB_txn *txn, const char *name, unsigned flags, MDB_dbi *dbi);
    int (*get)(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *data);
    int (*cursor_open)(MDB_txn *txn, MDB_dbi dbi, MDB_cursor **cursor);
    int (*cursor_get)(MDB_cursor *cursor, MDB_val *key, MDB_val *data, MDB_cursor_op op);
    void (*cursor_close)(MDB_cursor *cursor);
    int (*put)(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *data, unsigned flags);
    char *(*strerror)(int err);
};

/* Returns NULL and a reason if the library is missing. */
const struct lmdb_library *lmdb_library(struct strbuf *why);

#endif
