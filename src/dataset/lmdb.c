/*
 * See lmdb_library.h. There is no locking, since data sets are not written while they are
 * read. Each read is a separate transaction, because threads must not share one.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/failure.h"
#include "base/file.h"
#include "dataset/class_value.h"
#include "dataset/lmdb_check.h"
#include "dataset/lmdb_library.h"
#include "dataset/lmdb_value.h"
#include "dataset/pairs.h"
#include "dataset/samples.h"

struct lmdb {
    const struct lmdb_library *lib;
    MDB_env *env;
    MDB_dbi dbi;
    uint64_t entries; /* number of keys; a sample with a label has two */
};

static void lmdb_close(void *file)
{
    struct lmdb *f = file;

    f->lib->env_close(f->env);
    free(f);
}

/* Opens the handle of the only table. */
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

/* Returns a failure of base/failure.h: FAILURE_DATA for errors of the file,
 * FAILURE_MACHINE for all others, including system errors. */
static int lmdb_failure(int rc)
{
    static const int of_file[] = {MDB_NOTFOUND,    MDB_PAGE_NOTFOUND,    MDB_CORRUPTED,
                                  MDB_INVALID,     MDB_VERSION_MISMATCH, MDB_INCOMPATIBLE,
                                  MDB_CURSOR_FULL, MDB_BAD_VALSIZE};

    for (size_t i = 0; i < sizeof(of_file) / sizeof(of_file[0]); i++)
        if (rc == of_file[i])
            return FAILURE_DATA;
    return FAILURE_MACHINE;
}

static int lmdb_begin(const struct lmdb *f, MDB_txn **txn, struct strbuf *why)
{
    int rc = f->lib->txn_begin(f->env, NULL, MDB_RDONLY, txn);

    if (rc == 0)
        return 0;
    strbuf_addf(why, "%s", f->lib->strerror(rc));
    return lmdb_failure(rc);
}

/* Gets the value of a key, valid until the transaction ends. Returns a failure and a
 * reason. */
static int lmdb_get(const struct lmdb *f, MDB_txn *txn, const char *name, MDB_val *value,
                    struct strbuf *why)
{
    MDB_val key = {strlen(name), (void *)(uintptr_t)name};
    int rc = f->lib->get(txn, f->dbi, &key, value);

    if (rc == 0)
        return 0;
    strbuf_addf(why, "'%s': %s", name, f->lib->strerror(rc));
    return lmdb_failure(rc);
}

/* Parses a decimal number of at most nine digits. Returns -1 for anything else. */
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

/* Sets the label from a number or a name, or to SAMPLE_NO_LABEL if it is neither (a label
 * map). */
static void lmdb_label(struct samples *s, struct sample *dst, const MDB_val *value)
{
    dst->label = lmdb_number(value);
    if (dst->label < 0 && !s->label_maps)
        class_of_text(s, dst, value->mv_data, value->mv_size, "its label");
    if (dst->label == SAMPLE_DAMAGED)
        dst->label = SAMPLE_NO_LABEL;
}

static void lmdb_key(char key[32], const char *kind, uint64_t i)
{
    snprintf(key, 32, "%s-%09llu", kind, (unsigned long long)i);
}

/* Adds sample i. A missing image is marked as damaged and reported when it is read.
 * Returns FAILURE_MACHINE and a reason if the database cannot be read now. */
static int lmdb_add(const struct lmdb *f, MDB_txn *txn, struct samples *s, uint64_t i,
                    struct strbuf *why)
{
    MDB_val value;
    char key[32];
    struct sample *dst;
    int rc;

    lmdb_key(key, "image", i);
    dst = samples_add(s, key);
    dst->image.offset = dst->label_map.offset = i;
    dst->label = SAMPLE_DAMAGED;
    rc = lmdb_get(f, txn, key, &value, why);
    if (rc == 0) {
        dst->image.len = value.mv_size;
        dst->label = -1;
        lmdb_key(key, "label", i);
        rc = dst->image.len ? lmdb_get(f, txn, key, &value, why) : 0;
    }
    if (rc == 0 && dst->image.len) {
        dst->label_map.len = value.mv_size;
        lmdb_label(s, dst, &value);
    }
    if (rc == FAILURE_MACHINE)
        return rc;
    strbuf_reset(why);
    return 0;
}

/* Returns 1 if image i has a key, else 0. Returns FAILURE_MACHINE and a reason on
 * failure. */
static int lmdb_has_image(const struct lmdb *f, MDB_txn *txn, uint64_t i,
                          struct strbuf *why)
{
    char name[32];
    MDB_val value;
    int rc;

    lmdb_key(name, "image", i);
    rc = lmdb_get(f, txn, name, &value, why);
    if (rc == FAILURE_MACHINE)
        return rc;
    strbuf_reset(why);
    return rc == 0;
}

/* Lists the samples of a database with num-samples (its value is `count`), numbered from
 * image-000000000 or image-000000001. */
static int lmdb_list_numbered(const struct lmdb *f, MDB_txn *txn, const MDB_val *count,
                              struct samples *s, struct strbuf *why)
{
    int32_t n = lmdb_number(count);
    int zero = lmdb_has_image(f, txn, 0, why), rc = 0;

    if (zero < 0)
        return zero;
    if (n < 0)
        strbuf_addstr(why, "'num-samples' is not a number");
    if (n > 0 && (uint64_t)n > f->entries) {
        strbuf_addf(why, "'num-samples' is %d, but there are %llu keys", n,
                    (unsigned long long)f->entries);
        n = -1;
    }
    for (int32_t i = 0; i < n && rc == 0; i++)
        rc = lmdb_add(f, txn, s, (uint64_t)i + !zero, why);
    return n < 0 ? FAILURE_DATA : rc;
}

/* Adds the sample of a key and stores the value's form in image.sum. Returns FAILURE_DATA
 * and a reason if the key is not text. */
static int lmdb_add_key(struct samples *s, const MDB_val *key, const MDB_val *value,
                        struct strbuf *why)
{
    struct sample *dst;
    char name[512]; /* keys have at most 511 bytes */
    int32_t label;

    if (key->mv_size >= sizeof(name) || memchr(key->mv_data, '\0', key->mv_size)) {
        strbuf_addstr(why, "its keys are not text");
        return FAILURE_DATA;
    }
    memcpy(name, key->mv_data, key->mv_size);
    name[key->mv_size] = '\0';
    if (strncmp(name, "__", 2) == 0)
        return 0;
    dst = samples_add(s, name);
    dst->image.len = value->mv_size;
    dst->image.sum = lmdb_value_form(value->mv_data, value->mv_size, &label);
    dst->label = dst->image.sum == LMDB_UNKNOWN ? SAMPLE_DAMAGED : label;
    return 0;
}

/* Without any caffe.Datum, unknown values are damaged images, whose keys may still give
 * their class. Returns false if there is neither an image nor a datum. */
static bool lmdb_judge(struct samples *s, int64_t first)
{
    int64_t n[LMDB_UNKNOWN + 1] = {0};

    for (int64_t i = first; i < s->base.n; i++)
        n[s->sample[i].image.sum]++;
    for (int64_t i = first; n[LMDB_DATUM] == 0 && i < s->base.n; i++) {
        s->sample[i].image.sum = LMDB_IMAGE;
        s->sample[i].label = -1;
    }
    return n[LMDB_IMAGE] || n[LMDB_DATUM];
}

/* Adds one sample per key, in key order. */
static int lmdb_list_keys(const struct lmdb *f, MDB_txn *txn, struct samples *s,
                          struct strbuf *why)
{
    int64_t first = s->base.n;
    MDB_cursor *cursor;
    MDB_val key, value;
    int rc = 0, end = f->lib->cursor_open(txn, f->dbi, &cursor);

    if (end) {
        strbuf_addf(why, "%s", f->lib->strerror(end));
        return lmdb_failure(end);
    }
    while (rc == 0 && !(end = f->lib->cursor_get(cursor, &key, &value, MDB_NEXT)))
        rc = lmdb_add_key(s, &key, &value, why);
    if (rc == 0 && end != MDB_NOTFOUND) {
        strbuf_addf(why, "%s", f->lib->strerror(end));
        rc = lmdb_failure(end);
    } else if (rc == 0 && s->base.n > first && !lmdb_judge(s, first)) {
        (void)f->lib->cursor_get(cursor, &key, &value, MDB_LAST);
        lmdb_value_describe(value.mv_data, value.mv_size, why);
        rc = FAILURE_DATA;
    }
    f->lib->cursor_close(cursor);
    return rc;
}

static int lmdb_list(void *file, struct samples *s, struct strbuf *why)
{
    struct lmdb *f = file;
    char name[] = "num-samples";
    MDB_txn *txn;
    MDB_val value, key = {strlen(name), name};
    int rc = lmdb_begin(f, &txn, why);

    if (rc < 0)
        return rc;
    rc = f->lib->get(txn, f->dbi, &key, &value);
    if (rc == 0) {
        rc = lmdb_list_numbered(f, txn, &value, s, why);
    } else if (rc == MDB_NOTFOUND && lmdb_has_image(f, txn, 0, why) == 0 &&
               lmdb_has_image(f, txn, 1, why) == 0) {
        rc = lmdb_list_keys(f, txn, s, why);
    } else {
        strbuf_reset(why);
        strbuf_addf(why, "'%s': %s", name, f->lib->strerror(rc));
        rc = lmdb_failure(rc);
    }
    f->lib->txn_abort(txn);
    return rc;
}

/* Copies a value, or the image of a datum, to `out`. */
static int lmdb_read_value(const MDB_val *value, enum lmdb_form form, int64_t limit,
                           struct dataset_bytes *out, struct strbuf *why)
{
    if (form == LMDB_UNKNOWN) {
        strbuf_addstr(why, "it is neither an image nor a caffe.Datum with one");
        return FAILURE_DATA;
    }
    if (value->mv_size > (uint64_t)limit) {
        strbuf_addf(why, "%zu bytes, more than the limit of %lld", value->mv_size,
                    (long long)limit);
        return FAILURE_DATA;
    }
    if (form == LMDB_DATUM)
        return lmdb_value_image(value->mv_data, value->mv_size, limit, out, why);
    dataset_bytes_reserve(out, value->mv_size);
    out->len = value->mv_size;
    memcpy(out->data, value->mv_data, value->mv_size);
    return 0;
}

static int lmdb_read(void *file, const struct sample *sample, bool label_map,
                     int64_t limit, struct dataset_bytes *out, struct strbuf *why)
{
    const struct lmdb *f = file;
    MDB_txn *txn;
    MDB_val value;
    char key[32];
    enum lmdb_form form = label_map ? LMDB_NUMBERED : (enum lmdb_form)sample->image.sum;
    int rc = lmdb_begin(f, &txn, why);

    if (rc < 0)
        return rc;
    lmdb_key(key, label_map ? "label" : "image", sample->image.offset);
    rc = lmdb_get(f, txn, form == LMDB_NUMBERED ? key : sample->name, &value, why);
    if (rc == 0)
        rc = lmdb_read_value(&value, form, limit, out, why);
    f->lib->txn_abort(txn);
    return rc;
}

const struct container container_lmdb = {
    .name = "lmdb",
    .ending = ".lmdb",
    .other_endings = {"_lmdb"},
    .inside = "data.mdb",
    .open = lmdb_open,
    .list = lmdb_list,
    .read = lmdb_read,
    .close = lmdb_close,
};

CONTAINER_STORAGE(lmdb,
                  "LMDB, SPLIT.lmdb or SPLIT-*.lmdb: num-samples, image-000000001, "
                  "label-000000001 (a class or a label map), ...; or Caffe's Datum "
                  "under any keys; or images under paths, whose folders are classes");
