/*
 * Checkpoints under failure: each system call of a write fails once, or the process dies
 * there, and afterwards the file must be the complete old or new one. This file defines
 * the calls, in front of the C library's, to intercept them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/file.h"
#include "io/input.h"
#include "io/safetensors.h"
#include "tests/child.h"
#include "tests/test.h"

enum { DEATH = 99 }; /* the exit code of MODE_DIE */

enum mode { MODE_OFF, MODE_COUNT, MODE_FAIL, MODE_DIE, MODE_SHORT, MODE_EINTR };

static struct {
    enum mode mode;
    int call, calls, err;
    char trace[64]; /* one letter per call */
} fault;

/* True if this call fails. Dies here in MODE_DIE. */
static bool hit(char letter)
{
    bool now;

    if (fault.mode == MODE_OFF)
        return false;
    if (fault.calls < (int)sizeof(fault.trace) - 1)
        fault.trace[fault.calls] = letter;
    now = fault.calls++ == fault.call;
    if (now && fault.mode == MODE_DIE)
        _exit(DEATH);
    errno = fault.err;
    return now && fault.mode == MODE_FAIL;
}

int open(const char *path, int flags, ...)
{
    va_list ap;
    int mode;

    va_start(ap, flags);
    mode = flags & O_CREAT ? va_arg(ap, int) : 0;
    va_end(ap);
    return hit('o') ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

/* Every other write is interrupted (MODE_EINTR) or writes only one byte. */
static ssize_t write_faulty(long number, int fd, const void *data, size_t len,
                            off_t offset)
{
    if (hit('w'))
        return -1;
    if (fault.mode == MODE_EINTR && fault.calls % 2) {
        errno = EINTR;
        return -1;
    }
    if (fault.mode == MODE_SHORT && len > 1)
        len = 1;
    return syscall(number, fd, data, len, offset);
}

ssize_t write(int fd, const void *data, size_t len)
{
    return write_faulty(SYS_write, fd, data, len, 0);
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t offset)
{
    return write_faulty(SYS_pwrite64, fd, data, len, offset);
}

int fsync(int fd)
{
    return hit('s') ? -1 : (int)syscall(SYS_fsync, fd);
}

/* A failing close has still closed, as on Linux. */
int close(int fd)
{
    int rc = (int)syscall(SYS_close, fd);

    return hit('c') ? -1 : rc;
}

int rename(const char *src, const char *dst)
{
    return hit('r') ? -1 : (int)syscall(SYS_rename, src, dst);
}

static char dir[] = "/tmp/trainc-test-XXXXXX";
static char *file, *tmp;

/* Writes a checkpoint whose tensors and metadata are all `value`. */
static int save(int64_t value, struct strbuf *why)
{
    struct safetensors_writer w = {0};
    int64_t data[300], dims[] = {300};
    int rc;

    for (int i = 0; i < 300; i++)
        data[i] = value;
    safetensors_writer_meta(&w, "value", value ? "new" : "old");
    safetensors_writer_add(&w, "a", SAFETENSORS_I64, 1, dims, data);
    safetensors_writer_add(&w, "b", SAFETENSORS_I64, 1, dims, data);
    rc = safetensors_writer_commit(&w, file, why);
    safetensors_writer_release(&w);
    return rc;
}

/* Checks file and checksum: returns 0 for old, 1 for new, -1 for neither. */
static int load(void)
{
    struct strbuf why = STRBUF_INIT;
    struct safetensors s;
    int64_t data[300];
    int rc = -1;

    if (!safetensors_open(&s, file, &why) && !safetensors_verify(&s, &why) &&
        !safetensors_read(&s, safetensors_find(&s, "b"), data, &why))
        rc = data[0] == 1 && data[299] == 1 &&
                     !strcmp(safetensors_meta(&s, "value"), "new")
                 ? 1
             : !data[0] && !data[299] && !strcmp(safetensors_meta(&s, "value"), "old")
                 ? 0
                 : -1;
    safetensors_close(&s);
    strbuf_release(&why);
    return rc;
}

/* Runs save(1) over an old file with fault `mode` at call `pos`; returns its result. */
static int save_with(enum mode mode, int pos, int err, struct strbuf *why)
{
    int rc;

    memset(&fault, 0, sizeof(fault));
    fault.call = pos;
    fault.err = err;
    fault.mode = mode;
    rc = save(1, why);
    fault.mode = MODE_OFF;
    return rc;
}

static void put_old(void)
{
    struct strbuf why = STRBUF_INIT;

    if (save(0, &why))
        fail_msg("%s", why.buf);
    assert_int_equal(load(), 0);
    strbuf_release(&why);
}

static int count_calls(void)
{
    struct strbuf why = STRBUF_INIT;

    put_old();
    assert_int_equal(save_with(MODE_COUNT, -1, 0, &why), 0);
    assert_int_equal(load(), 1);
    strbuf_release(&why);
    return fault.calls;
}

/* Data reach the disk before the name, and the name before save returns. */
static void test_order(void **state)
{
    (void)state;
    assert_true(count_calls() > 8);
    /* open; length, header, two tensors, checksum; fsync, close, rename; the directory */
    assert_string_equal(fault.trace, "owwwwwscrosc");
}

static void test_each_call_fails(void **state)
{
    static const int errors[] = {ENOSPC, EIO, EDQUOT, EROFS, EACCES};
    struct strbuf why = STRBUF_INIT;
    int calls = count_calls(), renamed = (int)(strchr(fault.trace, 'r') - fault.trace);

    (void)state;
    for (int pos = 0; pos < calls; pos++) {
        int err = errors[pos % 5], rc;

        put_old();
        strbuf_reset(&why);
        rc = save_with(MODE_FAIL, pos, err, &why);
        if (pos == calls - 1) /* closing the directory: nothing was lost */
            assert_int_equal(rc, 0);
        else if (rc != -1 || !strstr(why.buf, strerror(err)) || !strstr(why.buf, file))
            fail_msg("call %d: %d '%s'", pos, rc, why.buf);
        assert_int_equal(load(), pos > renamed);
        assert_false(file_exists(tmp));
    }
    strbuf_release(&why);
}

static void save_and_die(void *ptr)
{
    struct strbuf why = STRBUF_INIT;

    (void)save_with(MODE_DIE, *(const int *)ptr, 0, &why);
}

static void test_death_at_each_call(void **state)
{
    struct strbuf why = STRBUF_INIT;
    int calls = count_calls(), seen[2] = {0, 0};

    (void)state;
    for (int pos = 0; pos < calls; pos++) {
        int got;

        put_old();
        check_leaves(save_and_die, &pos, DEATH, "");
        got = load();
        assert_true(got == 0 || got == 1);
        seen[got]++;
        /* files of the dead process do no harm */
        assert_int_equal(save(1, &why), 0);
        assert_int_equal(load(), 1);
        assert_false(file_exists(tmp));
    }
    assert_true(seen[0] > 5 && seen[1] > 1);
    strbuf_release(&why);
}

static void test_short_writes(void **state)
{
    struct strbuf why = STRBUF_INIT;

    (void)state;
    put_old();
    assert_int_equal(save_with(MODE_SHORT, -1, 0, &why), 0);
    assert_int_equal(load(), 1);
    assert_true(fault.calls > 4800);
    put_old();
    assert_int_equal(save_with(MODE_EINTR, -1, 0, &why), 0);
    assert_int_equal(load(), 1);
    assert_true(fault.calls > 12); /* more than without interruption */
    strbuf_release(&why);
}

static int read_fails; /* errno of the next pread; 0: success */

ssize_t pread(int fd, void *data, size_t len, off_t offset)
{
    if (read_fails) {
        errno = read_fails;
        read_fails = 0;
        return -1;
    }
    return syscall(SYS_pread64, fd, data, len, offset);
}

/* A read error of the machine does not mean that the file is damaged. */
static void test_read_fails(void **state)
{
    static const struct {
        int err;
        bool machine;
    } rows[] = {{EIO, true}, {ESTALE, true}, {EACCES, false}, {0, false}};

    (void)state;
    put_old();
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct strbuf why = STRBUF_INIT;
        struct safetensors s;
        long before = input_machine_failures();

        if (!rows[i].err) /* damaged: cut off */
            assert_int_equal(truncate(file, 20), 0);
        read_fails = rows[i].err;
        assert_int_equal(safetensors_open(&s, file, &why), -1);
        safetensors_close(&s);
        assert_int_equal(input_machine_failures() - before, rows[i].machine);
        strbuf_release(&why);
    }
}

static void test_no_directory(void **state)
{
    struct strbuf why = STRBUF_INIT;
    struct atomic_file f;

    (void)state;
    atomic_open(&f, "/nonexistent/x");
    atomic_write(&f, "x", 1);
    assert_int_equal(atomic_commit(&f, &why), -1);
    assert_int_equal(errno, ENOENT);
    assert_string_equal(why.buf,
                        "cannot create '/nonexistent/x': No such file or directory");
    strbuf_release(&why);
}

static int setup(void **state)
{
    (void)state;
    if (!mkdtemp(dir))
        return -1;
    file = path_join(dir, "last.safetensors");
    tmp = xasprintf("%s.tmp", file);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    (void)unlink(file);
    free(file);
    free(tmp);
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_each_call_fails),
        cmocka_unit_test(test_death_at_each_call),
        cmocka_unit_test(test_short_writes),
        cmocka_unit_test(test_no_directory),
        cmocka_unit_test(test_read_fails),
    };

    return cmocka_run_group_tests(test, setup, teardown);
}
