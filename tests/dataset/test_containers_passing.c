/*
 * Temporary disk failures are not damage, neither of a sample nor of what is listed at
 * the start. This file's pread() replaces the C library's.
 */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/failure.h"
#include "dataset/lmdb_library.h"
#include "tests/child.h"
#include "tests/dataset/golden_containers.h"
#include "tests/dataset/open_storage.h"
#include "tests/make_folder.h"
#include "tests/pack/pack_dir.h"
#include "tests/test.h"

static atomic_int reads, failing = -1; /* number of the read that fails, or -1 */

ssize_t pread(int fd, void *dst, size_t len, off_t pos)
{
    if (reads++ == failing) {
        errno = EIO;
        return -1;
    }
    return syscall(SYS_pread64, fd, dst, len, pos);
}

static const char *const storages[] = {"tfrecord", "recordio"};
enum { STORAGES = sizeof(storages) / sizeof(storages[0]) };

static void a_sample_is_read_again(void **state)
{
    (void)state;
    for (int f = 0; f < STORAGES; f++) {
        char *dir = golden_copy(storages[f]);
        struct dataset_source s = pack_source(dir, false);
        struct dataset *d = dataset_open(storages[f], &s);
        struct dataset_bytes bytes = {0};
        struct strbuf why = STRBUF_INIT;
        int n, rc;

        reads = 0;
        assert_int_equal(dataset_read(d, 1, GOLDEN_LIMIT, &bytes, &why), 0);
        n = reads;
        assert_true(n > 1);
        for (failing = 0; failing < n; failing++) {
            reads = 0;
            rc = dataset_read(d, 1, GOLDEN_LIMIT, &bytes, &why);
            assert_int_equal(rc, FAILURE_MACHINE);
            assert_non_null(strstr(why.buf, strerror(EIO)));
            strbuf_reset(&why);
        }
        failing = -1;
        golden_expect_image(d, 1);
        dataset_bytes_release(&bytes);
        strbuf_release(&why);
        dataset_close(d);
        remove_temp_dir(dir);
    }
}

static void open_it(void *arg)
{
    reads = 0;
    open_and_close(arg);
}

/* No matter which read fails at the start, it ends the program and leaves no list of
 * damaged samples. */
static void a_list_is_not_made_of_it(void **state)
{
    (void)state;
    for (int f = 0; f < STORAGES; f++) {
        char *dir = golden_copy(storages[f]);
        struct opening o = {storages[f], pack_source(dir, false)};

        for (failing = 0; failing < GOLDEN_N; failing++) {
            check_dies(open_it, &o, strerror(EIO));
            assert_null(index_in(dir));
        }
        failing = -1;
        open_it(&o);
        remove_temp_dir(dir);
    }
}

/* libhdf5 caches what it reads: only the first read of a sample reaches the disk. */
static void a_row_is_read_again(void **state)
{
    static const char *const folders[] = {"hdf5", "hdf5_pixels"};

    (void)state;
    for (int f = 0; f < 2; f++) {
        char *dir = golden_copy(folders[f]);
        struct dataset_source s = pack_source(dir, false);
        struct dataset *d = dataset_open("hdf5", &s);
        struct dataset_bytes bytes = {0};
        struct strbuf why = STRBUF_INIT;

        reads = failing = 0;
        assert_int_equal(dataset_read(d, 1, GOLDEN_LIMIT, &bytes, &why), FAILURE_MACHINE);
        assert_non_null(strstr(why.buf, strerror(EIO)));
        failing = -1;
        golden_expect_image(d, 1);
        dataset_bytes_release(&bytes);
        strbuf_release(&why);
        dataset_close(d);
        remove_temp_dir(dir);
    }
}

static int gets, get_failing = -1, get_code; /* like reads, failing, and errno */
static int (*library_get)(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *data);

static int get_or_fail(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *data)
{
    return gets++ == get_failing ? get_code : library_get(txn, dbi, key, data);
}

static int begin_fails(MDB_env *env, MDB_txn *parent, unsigned flags, MDB_txn **txn)
{
    (void)env;
    (void)parent;
    (void)flags;
    (void)txn;
    return ENOMEM;
}

static const struct {
    int code, failure;
} codes[] = {
    {EIO, FAILURE_MACHINE},
    {ENOMEM, FAILURE_MACHINE},
    {EACCES, FAILURE_MACHINE},
    {MDB_MAP_FULL, FAILURE_MACHINE},
    {MDB_MAP_RESIZED, FAILURE_MACHINE},
    {MDB_BAD_TXN, FAILURE_MACHINE},
    {MDB_NOTFOUND, FAILURE_DATA},
    {MDB_CORRUPTED, FAILURE_DATA},
    {MDB_PAGE_NOTFOUND, FAILURE_DATA},
};
enum { CODES = sizeof(codes) / sizeof(codes[0]) };

static void open_lmdb(void *arg)
{
    gets = 0;
    dataset_close(dataset_open("lmdb", arg));
}

/* liblmdb maps its file, so failures show only in its return codes. */
static void not_all_of_lmdb_is_damage(void **state)
{
    struct strbuf why = STRBUF_INIT;
    struct lmdb_library *lib = (struct lmdb_library *)(uintptr_t)lmdb_library(&why);
    int (*begin)(MDB_env *, MDB_txn *, unsigned, MDB_txn **) = lib->txn_begin;
    char *dir = golden_copy("lmdb");
    struct dataset_source s = pack_source(dir, false);
    struct dataset_bytes bytes = {0};
    struct dataset *d;

    (void)state;
    library_get = lib->get;
    lib->get = get_or_fail;
    for (int i = 0; i < CODES; i++) {
        get_code = codes[i].code;
        for (get_failing = 0; get_failing <= 2 * GOLDEN_N; get_failing++)
            if (codes[i].failure == FAILURE_MACHINE || get_failing == 0)
                check_dies(open_lmdb, &s, lib->strerror(get_code));
        get_failing = 1; /* the first image */
        if (codes[i].failure == FAILURE_DATA)
            open_lmdb(&s);
    }
    get_failing = -1;
    d = dataset_open("lmdb", &s);
    for (int i = 0; i < CODES; i++) {
        gets = get_failing = 0;
        get_code = codes[i].code;
        assert_int_equal(dataset_read(d, 1, GOLDEN_LIMIT, &bytes, &why),
                         codes[i].failure);
        assert_non_null(strstr(why.buf, lib->strerror(get_code)));
        strbuf_reset(&why);
        get_failing = -1;
        golden_expect_image(d, 1);
    }
    lib->txn_begin = begin_fails;
    assert_int_equal(dataset_read(d, 1, GOLDEN_LIMIT, &bytes, &why), FAILURE_MACHINE);
    lib->txn_begin = begin;
    lib->get = library_get;
    dataset_close(d);
    dataset_bytes_release(&bytes);
    strbuf_release(&why);
    remove_temp_dir(dir);
}

/* A pack does not drop a sample either. */
static void a_pack_reads_again(void **state)
{
    char *dir = golden_copy("recordio"), *out = make_temp_dir();
    struct dataset_source s = pack_source(dir, false), packed = pack_source(out, false);
    struct dataset *d = dataset_open("recordio", &s);
    struct pack_result made;

    (void)state;
    reads = 0;
    failing = 3;
    made = pack_to("tar", d, out, 0, NULL);
    failing = -1;
    assert_int_equal(made.samples, GOLDEN_N);
    assert_int_equal(made.left_out, 0);
    dataset_close(d);
    d = dataset_open("tar", &packed);
    for (int i = 0; i < GOLDEN_N; i++)
        golden_expect_image(d, i);
    dataset_close(d);
    remove_temp_dir(dir);
    remove_temp_dir(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sample_is_read_again),
        cmocka_unit_test(a_row_is_read_again),
        cmocka_unit_test(not_all_of_lmdb_is_damage),
        cmocka_unit_test(a_pack_reads_again),
        cmocka_unit_test(a_list_is_not_made_of_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
