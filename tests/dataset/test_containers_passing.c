/*
 * Containers whose disk fails for a moment: that is no damage, neither of a sample nor of
 * what is listed at the start. The reads are caught by defining pread here, in front of the
 * C library's.
 */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/failure.h"
#include "tests/child.h"
#include "tests/dataset/golden_containers.h"
#include "tests/dataset/open_storage.h"
#include "tests/make_folder.h"
#include "tests/pack/pack_dir.h"
#include "tests/test.h"

static int reads, failing = -1; /* the number of the read that fails; -1: none */

ssize_t pread(int fd, void *to, size_t len, off_t at)
{
    if (reads++ == failing) {
        errno = EIO;
        return -1;
    }
    return syscall(SYS_pread64, fd, to, len, at);
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

struct opened {
    const char *storage;
    struct dataset_source source;
};

static void open_it(void *arg)
{
    const struct opened *o = arg;

    reads = 0;
    dataset_close(dataset_open(o->storage, &o->source));
}

/* Whichever read of the start fails: it ends, and no list of damaged samples stays. */
static void a_list_is_not_made_of_it(void **state)
{
    (void)state;
    for (int f = 0; f < STORAGES; f++) {
        char *dir = golden_copy(storages[f]);
        struct opened o = {storages[f], pack_source(dir, false)};

        for (failing = 0; failing < GOLDEN_N; failing++) {
            check_dies(open_it, &o, strerror(EIO));
            assert_null(index_in(dir));
        }
        failing = -1;
        open_it(&o);
        remove_temp_dir(dir);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sample_is_read_again),
        cmocka_unit_test(a_list_is_not_made_of_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
