/* Containers with impossible numbers of samples, bytes, or pixels: one line says so, or
 * the sample is unreadable; no memory of that size is allocated. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <xxhash.h>

#include "base/alloc.h"
#include "base/crc32c.h"
#include "base/file.h"
#include "dataset/hdf5_library.h"
#include "dataset/lmdb_library.h"
#include "tests/child.h"
#include "tests/dataset/golden_containers.h"
#include "tests/dataset/open_storage.h"
#include "tests/make_folder.h"
#include "tests/pack/pack_dir.h"
#include "tests/test.h"

enum { ROOM = 256 << 20 }; /* bytes */

/* Limits further allocations of this process to ROOM (except under a sanitizer, which
 * needs more). */
static void limit_memory(void)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    long long pages = 0;
    struct rlimit r;
    FILE *f = fopen("/proc/self/statm", "re");

    if (!f || fscanf(f, "%lld", &pages) != 1)
        _exit(98);
    (void)fclose(f);
    r.rlim_cur = r.rlim_max = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + ROOM;
    if (setrlimit(RLIMIT_AS, &r) < 0)
        _exit(98);
#endif
}

struct opened {
    const char *storage, *dir;
    bool label_maps;
};

/* Opens the storage and reads all samples; prints reasons of failures to stderr. */
static void read_all(void *arg)
{
    const struct opened *o = arg;
    struct dataset_source s = pack_source(o->dir, o->label_maps);
    struct dataset_bytes bytes = {0};
    struct dataset *d;

    limit_memory();
    d = dataset_open(o->storage, &s);
    for (int64_t i = 0; i < d->n; i++) {
        struct strbuf why = STRBUF_INIT;

        if (dataset_read(d, i, 64 << 20, &bytes, &why) < 0)
            (void)fprintf(stderr, "sample %lld: %s\n", (long long)i, why.buf);
        strbuf_release(&why);
    }
    dataset_bytes_release(&bytes);
    dataset_close(d);
}

/* ---- HDF5 ---- */

struct numbers {
    const char *name;
    int rank;
    hdf5_size dims[6];
    char type; /* element type: 'i' int64, 'r' double, 0 uint8 */
};

/* Adds a dataset without data: the library reads absent chunks as zeros. */
static void add_dataset(const struct hdf5_library *lib, hdf5_id file,
                        const struct numbers *n)
{
    hdf5_size chunk[6] = {1, 1, 1, 1, 1, 1};
    hdf5_id space = lib->Screate_simple(n->rank, n->dims, NULL);
    hdf5_id list = lib->Pcreate(*lib->dataset_create);
    hdf5_id type = n->type == 'i'   ? *lib->int64
                   : n->type == 'r' ? *lib->real64
                                    : *lib->uint8;
    hdf5_id data;

    assert_true(lib->Pset_chunk(list, n->rank, chunk) >= 0);
    data = lib->Dcreate2(file, n->name, type, space, 0, list, 0);
    assert_true(data >= 0);
    (void)lib->Dclose(data);
    (void)lib->Pclose(list);
    (void)lib->Sclose(space);
}

#define MANY ((hdf5_size)1 << 40)
static const struct hdf5_row {
    struct numbers data[3];
    bool label_maps;
    int code; /* of the process */
    const char *why;
} hdf5_rows[] = {
    {{{"images", 4, {MANY, 2, 2, 3}, 0}},
     false,
     1,
     "'images' has 1099511627776 rows, more than the file has bytes"},
    {{{"images", 4, {2, 2, 2, 3}, 0}, {"labels", 1, {MANY}, 0}},
     false,
     1,
     "'labels' is [1099511627776] of uint8: 2 classes are expected, numbers, strings or "
     "one-hot rows"},
    {{{"images", 4, {2, 2, 2, 3}, 0}, {"labels", 2, {2, 3}, 'i'}},
     false,
     1,
     "its label has 3 values that are not one-hot"},
    {{{"images", 4, {2, 2, 2, 3}, 'r'}, {"labels", 1, {2}, 0}},
     false,
     1,
     "'images' is [2, 2, 2, 3] of floats: files"},
    {{{"images", 4, {2, 2, 2, 3}, 0}, {"label_maps", 3, {2, 2, 2}, 'i'}},
     true,
     1,
     "'label_maps' is [2, 2, 2] of integers: files"},
    {{{"images", 4, {2, 2, 2, 3}, 0}, {"label_maps", 4, {2, 2, 2, 3}, 0}},
     true,
     1,
     "'label_maps' is [2, 2, 2, 3] of uint8: files"},
    {{{"images", 4, {2, 2, 2, 3}, 0}, {"label_maps", 3, {MANY, 2, 2}, 0}},
     true,
     1,
     "'label_maps' has 1099511627776 rows, and 'images' has 2"},
    {{{"images", 2, {5, MANY}, 0}},
     false,
     1,
     "'images' is [5, 1099511627776] of uint8: files"},
    {{{"images", 6, {5, 4, 3, 2, 2, 3}, 0}},
     false,
     1,
     "'images' is 6 dimensions of uint8: files"},
    {{{"images", 4, {5, 4, 4, MANY}, 0}},
     false,
     1,
     "'images' is [5, 4, 4, 1099511627776] of uint8: files"},
    {{{"images", 4, {2, MANY, MANY, 3}, 0}, {"labels", 1, {2}, 0}},
     false,
     0,
     "sample 1: 1099511627776 x 1099511627776 pixels"},
    {{{"images", 4, {2, 1 << 19, 1 << 19, 3}, 0}, {"labels", 1, {2}, 0}},
     false,
     0,
     "sample 0: 824633720872 bytes, more than the limit of 67108864"},
};

static void hdf5_numbers(void **state)
{
    struct strbuf why = STRBUF_INIT;
    const struct hdf5_library *lib = hdf5_library(&why);

    (void)state;
    assert_non_null(lib);
    for (size_t r = 0; r < sizeof(hdf5_rows) / sizeof(hdf5_rows[0]); r++) {
        char *dir = make_temp_dir(), *path = path_join(dir, "train.h5");
        struct opened o = {"hdf5", dir, hdf5_rows[r].label_maps};
        hdf5_id file = lib->Fcreate(path, HDF5_TRUNCATE, 0, 0);

        for (int i = 0; i < 3 && hdf5_rows[r].data[i].name; i++)
            add_dataset(lib, file, &hdf5_rows[r].data[i]);
        assert_true(lib->Fclose(file) >= 0);
        check_leaves(read_all, &o, hdf5_rows[r].code, hdf5_rows[r].why);
        free(path);
        remove_temp_dir(dir);
    }
}

/* ---- the others ---- */

static void expect(const char *storage, const char *name, const void *data, size_t len,
                   int code, const char *why)
{
    char *dir = make_temp_dir();
    struct opened o = {storage, dir, false};

    make_file(dir, name, data, len);
    check_leaves(read_all, &o, code, why);
    remove_temp_dir(dir);
}

/* Lengths beyond the file, with a valid checksum. */
static void tfrecord_numbers(void **state)
{
    struct {
        uint64_t len;
        uint32_t crc;
        char data[20];
    } __attribute__((packed)) record = {.len = UINT64_MAX - 3};

    (void)state;
    for (; record.len > sizeof(record); record.len /= 8) {
        record.crc = crc32c_masked(&record.len, sizeof(record.len));
        expect("tfrecord", "train.tfrecord", &record, sizeof(record), 0,
               "sample 0: truncated: the file ends within the record");
    }
}

/* An example whose feature claims 2 GiB. */
static void example_numbers(void **state)
{
    static const char example[] = "\x0a\x80\x80\x80\x80\x08";
    struct {
        uint64_t len;
        uint32_t crc;
        char data[sizeof(example) - 1];
        uint32_t sum;
    } __attribute__((packed)) record = {.len = sizeof(record.data)};

    (void)state;
    memcpy(record.data, example, sizeof(record.data));
    record.crc = crc32c_masked(&record.len, sizeof(record.len));
    record.sum = crc32c_masked(record.data, sizeof(record.data));
    expect("tfrecord", "train.tfrecord", &record, sizeof(record), 0,
           "sample 0: the record is not a tf.train.Example");
}

static void tar_header(char head[512], const char *name, const char *size)
{
    unsigned sum = 0;

    memset(head, 0, 512);
    memcpy(head, name, strlen(name));
    memcpy(head + 100, "0000644", 7);
    memcpy(head + 124, size, 12);
    memset(head + 148, ' ', 8);
    head[156] = '0';
    memcpy(head + 257,
           "ustar\0"
           "00",
           8);
    for (int i = 0; i < 512; i++)
        sum += (uint8_t)head[i];
    snprintf(head + 148, 8, "%06o", sum);
}

static void tar_numbers(void **state)
{
    char head[512], text[2 * 512] = {0};

    (void)state;
    tar_header(head, "a/b.png", "77777777777");
    expect("tar", "train.tar", head, sizeof(head), 0,
           "sample 0: 8589934591 bytes, more than the limit of 67108864");
    tar_header(head, "a/b.png", "\x80\0\0\0\0\x10\0\0\0\0\0\0"); /* 2^52 */
    expect("tar", "train.tar", head, sizeof(head), 0,
           "sample 0: 4503599627370496 bytes, more than the limit of 67108864");
    tar_header(head, "a/b.cls", "77777777777");
    expect("tar", "train.tar", head, sizeof(head), 0,
           "sample 0: a header of the archive is damaged, or what follows is cut off");
    tar_header(text, "a/b.cls", "00000000020");
    expect("tar", "train.tar", text, sizeof(text), 1,
           "skipping classes and label maps without an image (1), such as 'a/b.cls'");
}

static void recordio_numbers(void **state)
{
    static const char *const cursor[] = {"18446744073709551615", "9223372036854775807",
                                         "99999999999999999999999999"};
    uint32_t record[8] = {0xced7230a, (1u << 29) - 1}; /* its length */

    (void)state;
    expect("recordio", "train.rec", record, sizeof(record), 0,
           "sample 0: 536870911 bytes, more than the limit of 67108864");
    for (size_t i = 0; i < sizeof(cursor) / sizeof(cursor[0]); i++) {
        char *dir = make_temp_dir(), *index = xasprintf("0\t%s\n", cursor[i]);
        struct opened o = {"recordio", dir, false};

        make_file(dir, "train.rec", record, sizeof(record));
        make_file(dir, "train.idx", index, strlen(index));
        check_leaves(read_all, &o, 0, "sample 0: truncated: the file has 32 bytes");
        free(index);
        remove_temp_dir(dir);
    }
}

/* An LMDB with these keys and values; NULL ends the list. */
struct entry {
    const char *key, *value;
    size_t key_len, value_len; /* 0: strlen() */
};

static void make_lmdb(const char *dir, const struct entry *e)
{
    struct strbuf why = STRBUF_INIT;
    const struct lmdb_library *lib = lmdb_library(&why);
    char *path = path_join(dir, "train.lmdb");
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;

    assert_int_equal(lib->env_create(&env), 0);
    assert_int_equal(lib->env_open(env, path, MDB_NOSUBDIR, 0600), 0);
    assert_int_equal(lib->txn_begin(env, NULL, 0, &txn), 0);
    assert_int_equal(lib->dbi_open(txn, NULL, 0, &dbi), 0);
    for (; e->key; e++) {
        MDB_val key = {e->key_len ? e->key_len : strlen(e->key),
                       (void *)(uintptr_t)e->key};
        MDB_val value = {e->value_len ? e->value_len : strlen(e->value),
                         (void *)(uintptr_t)e->value};

        assert_int_equal(lib->put(txn, dbi, &key, &value, 0), 0);
    }
    assert_int_equal(lib->txn_commit(txn), 0);
    lib->env_close(env);
    free(path);
}

#define PNG "\x89PNG\r\n\x1a\n"
/* A Datum of one gray pixel and class 2, and one that claims 2^31 - 1 pixels. */
#define DATUM "\x08\x01\x10\x01\x18\x01\x22\x01x\x28\x02"
#define LARGE "\x08\x01\x10\xff\xff\xff\xff\x07\x18\x01\x22\x01x\x28\x02"

static void lmdb_numbers(void **state)
{
    static const struct {
        struct entry entry[4];
        int code;
        const char *why;
    } rows[] = {
        {{{"num-samples", "999999999", 0, 0}},
         1,
         "'num-samples' is 999999999, but there are 1 keys"},
        {{{"num-samples", "9999999999", 0, 0}}, 1, "'num-samples' is not a number"},
        {{{"num-samples", "-1", 0, 0}}, 1, "'num-samples' is not a number"},
        {{{"1", "text", 0, 0}},
         1,
         "no key 'num-samples', and its values are neither images nor Caffe's Datum\n"},
        {{{"1", LARGE, 0, 0}}, 1, "its values are neither images nor Caffe's Datum\n"},
        {{{"1", "\x80\x04\x4b\x01.", 0, 0}}, 1, "but Python objects (pickle)"},
        {{{"\0\1", PNG, 2, 0}}, 1, "its keys are not text"},
        {{{"__len__", "2", 0, 0}}, 1, "' has no samples"},
        {{{"image-000000001", PNG, 0, 0}}, 1, "'num-samples': MDB_NOTFOUND"},
        {{{"1", PNG, 0, 0}}, 1, "train.lmdb: 1' has no class"},
        {{{"1", DATUM, 0, 0}, {"2", LARGE, 0, 0}, {"__keys__", "x", 0, 0}},
         0,
         "sample 1: it is neither an image nor a caffe.Datum with one"},
        {{{"a/1", PNG, 0, 0}, {"b/2", "text", 0, 0}}, 0, ""},
    };

    (void)state;
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        char *dir = make_temp_dir();
        struct opened o = {"lmdb", dir, false};

        make_lmdb(dir, rows[r].entry);
        check_leaves(read_all, &o, rows[r].code, rows[r].why);
        remove_temp_dir(dir);
    }
}

/* An index with a valid checksum that claims 2^61 more samples (of 40 bytes each, 0
 * modulo 2^64) or bytes of names is rebuilt. */
static void index_numbers(void **state)
{
    (void)state;
    for (size_t field = 16; field <= 24; field += 8) {
        char *dir = golden_copy("tar"), *name, *path, *data;
        struct opened o = {"tar", dir, false};
        uint64_t many, sum;
        size_t len;

        make_old(dir, "train-00.tar", 100);
        make_old(dir, "train-01.tar", 100);
        check_leaves(read_all, &o, 0, "");
        name = index_in(dir);
        assert_non_null(name);
        path = path_join(dir, name);
        data = file_read(path, &len);
        memcpy(&many, data + field, sizeof(many));
        many += (uint64_t)1 << 61;
        memcpy(data + field, &many, sizeof(many));
        sum = XXH3_64bits(data + 16, len - 16);
        memcpy(data + 8, &sum, sizeof(sum));
        make_file(dir, name, data, len);
        check_leaves(read_all, &o, 0, "is damaged: rebuilding the index");
        free(data);
        free(path);
        free(name);
        remove_temp_dir(dir);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hdf5_numbers),     cmocka_unit_test(tfrecord_numbers),
        cmocka_unit_test(example_numbers),  cmocka_unit_test(tar_numbers),
        cmocka_unit_test(recordio_numbers), cmocka_unit_test(lmdb_numbers),
        cmocka_unit_test(index_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
