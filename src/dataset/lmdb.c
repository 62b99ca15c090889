/*
 * See lmdb_library.h. Nothing is locked: data sets are not written while they are read.
 * A read is a transaction of its own, since one must not be shared by threads.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "dataset/lmdb_check.h"
#include "dataset/lmdb_library.h"
#include "dataset/pairs.h"
#include "dataset/samples.h"

struct lmdb {
    const struct lmdb_library *lib;
    MDB_env *env;
    MDB_dbi dbi;
    uint64_t entries; /* keys, of which two are a sample's */
};

static void lmdb_close(void *file)
{
    struct lmdb *f = file;

    f->lib->env_close(f->env);
    free(f);
}

/* The handle of the one table. */
static int lmdb_find_table(struct lmdb *f)
{
    MDB_txn *txn;
    int rc = f->lib->txn_begin(f->env, NULL, MDB_RDONLY, &txn);

    if (rc)
        return rc;
    rc = f->lib->dbi_open(txn, NULL, 0, &f->dbi);
    if (rc) {
        f->lib->txn_abort(txn);
        return rc;
    }
    return f->lib->txn_commit(txn);
}

static void *lmdb_open(const char *path, struct strbuf *why)
{
    const struct lmdb_library *lib = lmdb_library(why);
    unsigned flags = MDB_RDONLY | MDB_NOLOCK | MDB_NOTLS | MDB_NORDAHEAD;
    struct lmdb *f;
    int rc;

    if (!lib)
        return NULL;
    f = xcalloc(1, sizeof(*f));
    f->lib = lib;
    if (lmdb_walk(path, &f->entries, why) < 0) {
        free(f);
        return NULL;
    }
    rc = lib->env_create(&f->env);
    if (rc == 0)
        rc = lib->env_open(f->env, path, flags | (file_is_dir(path) ? 0 : MDB_NOSUBDIR),
                           0);
    if (rc == 0)
        rc = lmdb_find_table(f);
    if (rc == 0)
        return f;
    strbuf_addf(why, "%s", lib->strerror(rc));
    lmdb_close(f);
    return NULL;
}

/* The value of a key, good until the transaction ends; -1 and a reason. */
static int lmdb_get(const struct lmdb *f, MDB_txn *txn, const char *name, MDB_val *value,
                    struct strbuf *why)
{
    MDB_val key = {strlen(name), (void *)(uintptr_t)name};
    int rc = f->lib->get(txn, f->dbi, &key, value);

    if (rc == 0)
        return 0;
    strbuf_addf(why, "'%s': %s", name, f->lib->strerror(rc));
    return -1;
}

/* A decimal number of at most nine digits; -1: it is none. */
static int32_t lmdb_number(const MDB_val *value)
{
    const char *p = value->mv_data;
    int32_t v = 0;

    if (value->mv_size == 0 || value->mv_size > 9)
        return -1;
    for (size_t i = 0; i < value->mv_size; i++) {
        if (p[i] < '0' || p[i] > '9')
            return -1;
        v = v * 10 + p[i] - '0';
    }
    return v;
}

static void lmdb_key(char key[32], const char *kind, uint64_t i)
{
    snprintf(key, 32, "%s-%09llu", kind, (unsigned long long)i + 1);
}

/* Sample i. What is not there is damaged, and found so when it is read. */
static void lmdb_add(const struct lmdb *f, MDB_txn *txn, struct samples *s, uint64_t i)
{
    struct strbuf unused = STRBUF_INIT;
    MDB_val value;
    char key[32];
    struct sample *to;

    lmdb_key(key, "image", i);
    to = samples_add(s, key);
    to->image.at = to->label_map.at = i;
    to->label = SAMPLE_DAMAGED;
    if (lmdb_get(f, txn, key, &value, &unused) == 0) {
        to->image.len = value.mv_size;
        to->label = -1;
    }
    lmdb_key(key, "label", i);
    if (to->image.len && lmdb_get(f, txn, key, &value, &unused) == 0) {
        to->label_map.len = value.mv_size;
        to->label = lmdb_number(&value);
    }
    strbuf_release(&unused);
}

static int lmdb_list(void *file, struct samples *s, struct strbuf *why)
{
    struct lmdb *f = file;
    MDB_txn *txn;
    MDB_val value;
    int rc = f->lib->txn_begin(f->env, NULL, MDB_RDONLY, &txn);
    int32_t n = -1;

    if (rc) {
        strbuf_addf(why, "%s", f->lib->strerror(rc));
        return -1;
    }
    rc = lmdb_get(f, txn, "num-samples", &value, why);
    if (rc == 0 && (n = lmdb_number(&value)) < 0)
        strbuf_addstr(why, "'num-samples' is no number");
    if (n > 0 && (uint64_t)n > f->entries) {
        strbuf_addf(why, "'num-samples' is %d, and there are %llu keys", n,
                    (unsigned long long)f->entries);
        n = -1;
    }
    for (int32_t i = 0; i < n; i++)
        lmdb_add(f, txn, s, (uint64_t)i);
    f->lib->txn_abort(txn);
    return n < 0 ? -1 : 0;
}

static int lmdb_read(void *file, const struct sample *at, bool label_map, int64_t limit,
                     struct dataset_bytes *out, struct strbuf *why)
{
    const struct lmdb *f = file;
    MDB_txn *txn;
    MDB_val value;
    char key[32];
    int rc = f->lib->txn_begin(f->env, NULL, MDB_RDONLY, &txn);

    if (rc) {
        strbuf_addf(why, "%s", f->lib->strerror(rc));
        return -1;
    }
    lmdb_key(key, label_map ? "label" : "image", at->image.at);
    rc = lmdb_get(f, txn, key, &value, why);
    if (rc == 0 && value.mv_size > (uint64_t)limit) {
        strbuf_addf(why, "%zu bytes, more than the limit of %lld", value.mv_size,
                    (long long)limit);
        rc = -1;
    } else if (rc == 0) {
        dataset_bytes_room(out, value.mv_size);
        out->len = value.mv_size;
        memcpy(out->data, value.mv_data, value.mv_size);
    }
    f->lib->txn_abort(txn);
    return rc;
}

const struct container container_lmdb = {
    .name = "lmdb",
    .ending = ".lmdb",
    .open = lmdb_open,
    .list = lmdb_list,
    .read = lmdb_read,
    .close = lmdb_close,
};

CONTAINER_STORAGE(lmdb, "LMDB, SPLIT.lmdb or SPLIT-*.lmdb: num-samples, image-000000001, "
                        "label-000000001 (a class or a label map), ...");
