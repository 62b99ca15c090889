/* See dataset/lmdb_library.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "dataset/lmdb_library.h"
#include "pack/format.h"

enum { SAMPLES = 256 }; /* per transaction */

struct lmdb {
    const struct lmdb_library *lib;
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    char *path;
    int64_t n;
};

static void check(const struct lmdb *f, int rc)
{
    if (rc)
        die("cannot write '%s': %s", f->path, f->lib->strerror(rc));
}

static void begin(struct lmdb *f)
{
    check(f, f->lib->txn_begin(f->env, NULL, 0, &f->txn));
    check(f, f->lib->dbi_open(f->txn, NULL, 0, &f->dbi));
}

static void *lmdb_create(const char *dir, const char *stem, int64_t first)
{
    struct strbuf why = STRBUF_INIT;
    struct lmdb *f = xcalloc(1, sizeof(*f));

    (void)first;
    f->lib = lmdb_library(&why);
    if (!f->lib)
        die("%s", why.buf);
    f->path = xasprintf("%s/%s.lmdb", dir, stem);
    if (mkdir(f->path, 0777) < 0)
        die("cannot make the folder '%s': %s", f->path, strerror(errno));
    check(f, f->lib->env_create(&f->env));
    check(f, f->lib->env_set_mapsize(f->env, (size_t)1 << 40)); /* reserves no disk
                                                                 * space */
    check(f, f->lib->env_open(f->env, f->path, MDB_NOLOCK | MDB_NOSYNC, 0666));
    begin(f);
    return f;
}

static void put(struct lmdb *f, const char *name, const void *data, size_t len)
{
    MDB_val key = {strlen(name), (void *)(uintptr_t)name};
    MDB_val value = {len, (void *)(uintptr_t)data};

    check(f, f->lib->put(f->txn, f->dbi, &key, &value, 0));
}

static void lmdb_add(void *file, const struct pack_sample *s)
{
    struct lmdb *f = file;
    char key[32], text[16];
    int n = snprintf(text, sizeof(text), "%d", s->label);

    f->n++;
    snprintf(key, sizeof(key), "image-%09lld", (long long)f->n);
    put(f, key, s->image, s->len);
    snprintf(key, sizeof(key), "label-%09lld", (long long)f->n);
    if (s->label_map)
        put(f, key, s->label_map, s->label_map_len);
    else if (s->label >= 0)
        put(f, key, text, (size_t)n);
    if (f->n % SAMPLES == 0) {
        check(f, f->lib->txn_commit(f->txn));
        begin(f);
    }
}

static void lmdb_finish(void *file)
{
    struct lmdb *f = file;
    char text[24];
    int n = snprintf(text, sizeof(text), "%lld", (long long)f->n);

    put(f, "num-samples", text, (size_t)n);
    check(f, f->lib->txn_commit(f->txn));
    check(f, f->lib->env_sync(f->env, 1));
    f->lib->env_close(f->env);
    free(f->path);
    free(f);
}

const struct pack_format pack_lmdb = {
    .name = "lmdb",
    .help = "LMDB with the keys num-samples, image-000000001, label-000000001",
    .ending = ".lmdb",
    .create = lmdb_create,
    .add = lmdb_add,
    .finish = lmdb_finish,
};
