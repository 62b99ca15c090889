#include "dataset/lmdb_library.h"

#include "base/dynlib.h"

#define SYMBOL(name)                                                                     \
    {                                                                                    \
        "mdb_" #name, offsetof(struct lmdb_library, name)                                \
    }

static const struct dynlib_symbol symbols[] = {
    SYMBOL(env_create),   SYMBOL(env_open),  SYMBOL(env_set_mapsize), SYMBOL(env_sync),
    SYMBOL(env_close),    SYMBOL(txn_begin), SYMBOL(txn_commit),      SYMBOL(txn_abort),
    SYMBOL(dbi_open),     SYMBOL(get),       SYMBOL(cursor_open),     SYMBOL(cursor_get),
    SYMBOL(cursor_close), SYMBOL(put),       SYMBOL(strerror),        {0}};

static const char *const names[] = {"liblmdb.so.0", "liblmdb.so", NULL};
static struct dynlib row = {.names = names, .package = "liblmdb0", .symbols = symbols};

const struct lmdb_library *lmdb_library(struct strbuf *why)
{
    static struct lmdb_library library;

    return dynlib_open(&row, &library, why) < 0 ? NULL : &library;
}
