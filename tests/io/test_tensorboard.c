/* io/tensorboard: byte for byte the output of TensorBoard's own writer. */
#include <signal.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/file.h"
#include "base/log.h"
#include "io/tensorboard.h"
#include "tests/test.h"

/* Replaces the C library's: events get the time of the golden file. */
static double now = 1700000000.25;

time_t time(time_t *t)
{
    if (t)
        *t = (time_t)now;
    return (time_t)now;
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
    (void)clock;
    t->tv_sec = (time_t)now;
    t->tv_nsec = (long)((now - (double)t->tv_sec) * 1e9);
    return 0;
}

static char dir[] = "/tmp/trainc-test-XXXXXX";

/* RFC 3720, B.4, and the check value of CRC catalogues. */
static void test_crc(void **state)
{
    unsigned char block[32];

    (void)state;
    assert_int_equal(crc32c("", 0), 0);
    assert_int_equal(crc32c("123456789", 9), 0xe3069283u);
    memset(block, 0, sizeof(block));
    assert_int_equal(crc32c(block, 32), 0x8a9136aau);
    memset(block, 0xff, sizeof(block));
    assert_int_equal(crc32c(block, 32), 0x62a8ab43u);
    for (unsigned i = 0; i < 32; i++)
        block[i] = (unsigned char)i;
    assert_int_equal(crc32c(block, 32), 0x46dd794eu);
    for (unsigned i = 0; i < 32; i++)
        block[i] = (unsigned char)(31 - i);
    assert_int_equal(crc32c(block, 32), 0x113fdb5cu);
    assert_int_equal(crc32c_masked("123456789", 9),
                     ((0xe3069283u >> 15 | 0xe3069283u << 17) + 0xa282ead8u) &
                         0xffffffff);
}

static void test_golden(void **state)
{
    struct tensorboard_hparams h = {.metric = {"val/val_top1", "train/loss"}};
    struct tensorboard t;
    size_t want_len, got_len;
    char *want = file_read("tests/golden/io/events.bin", &want_len), *got, *path;
    char x[301] = {0};

    (void)state;
    memset(x, 'x', 300);
    tensorboard_open(&t, dir, 1000);
    tensorboard_scalar(&t, "train/loss", 0, 2.302585);
    tensorboard_scalar(&t, "train/loss", 1000, 0);
    tensorboard_scalar(&t, "train/lr", 3000000000, -1e-30);
    tensorboard_text(&t, "config", 1000, x);
    tensorboard_hparam_number(&h, "A.LR", 0.1);
    tensorboard_hparam_bool(&h, "B.ON", true);
    tensorboard_hparam_text(&h, "C.NAME", "sgd");
    tensorboard_hparams(&t, &h);
    path = strdup(t.path);
    assert_non_null(strstr(path, "/events.out.tfevents.1700000000."));
    tensorboard_close(&t);
    got = file_read(path, &got_len);
    assert_non_null(want);
    assert_non_null(got);
    assert_int_equal(got_len, want_len);
    assert_memory_equal(got, want, want_len);
    (void)unlink(path);
    free(path);
    free(got);
    free(want);
}

/* Event.step (2) is omitted only where it is 0. */
static void test_steps(void **state)
{
    static const char first[] = "\x10\x01\x2a";
    struct tensorboard t;
    char *data, *path;
    size_t len;

    (void)state;
    tensorboard_open(&t, dir, 0);
    path = strdup(t.path);
    tensorboard_scalar(&t, "a", 0, 1);
    tensorboard_flush(&t);
    data = file_read(path, &len);
    assert_null(memmem(data, len, first, 3));
    free(data);
    tensorboard_scalar(&t, "a", 1, 1);
    tensorboard_close(&t);
    data = file_read(path, &len);
    assert_non_null(memmem(data, len, first, 3));
    free(data);
    (void)unlink(path);
    free(path);
}

static size_t size_of(const char *path)
{
    size_t len = 0;

    free(file_read(path, &len));
    return len;
}

/* Buffered events are written after a limited time and size. */
static void test_flush(void **state)
{
    struct tensorboard t;
    size_t at_open, before;
    char *path;

    (void)state;
    tensorboard_open(&t, dir, 0);
    path = strdup(t.path);
    at_open = size_of(path);
    assert_true(at_open > 0);
    tensorboard_scalar(&t, "a", 1, 1);
    assert_int_equal(size_of(path), at_open);
    tensorboard_flush(&t);
    before = size_of(path);
    assert_true(before > at_open);
    tensorboard_scalar(&t, "a", 2, 1);
    assert_int_equal(size_of(path), before);
    now += 121;
    tensorboard_scalar(&t, "a", 3, 1);
    assert_true(size_of(path) > before);
    before = size_of(path);
    for (int i = 0; i < 2000; i++)
        tensorboard_scalar(&t, "a", 4 + i, 1);
    assert_true(size_of(path) > before + 32768);
    tensorboard_close(&t);
    (void)unlink(path);
    free(path);
}

/* Two writers of one process and second get two files; KEEP shows them to TensorBoard. */
static void test_resume(void **state)
{
    const char *keep = getenv("KEEP");
    struct tensorboard a, b;
    char *paths[2];

    (void)state;
    tensorboard_open(&a, keep ? keep : dir, 0);
    for (int i = 1; i <= 5; i++)
        tensorboard_scalar(&a, "loss", i, i);
    paths[0] = strdup(a.path);
    tensorboard_close(&a);
    now += keep ? 1 : 0;
    tensorboard_open(&b, keep ? keep : dir, 4);
    tensorboard_scalar(&b, "loss", 4, 104);
    tensorboard_scalar(&b, "loss", 5, 105);
    tensorboard_text(&b, "config", 5, "# a\n");
    paths[1] = strdup(b.path);
    tensorboard_close(&b);
    assert_string_not_equal(paths[0], paths[1]);
    for (int i = 0; i < 2; i++) {
        assert_true(size_of(paths[i]) > 100);
        if (!keep)
            (void)unlink(paths[i]);
        free(paths[i]);
    }
}

/* A full disk stops the events but not the run. */
static void test_disk_full(void **state)
{
    struct rlimit old, small = {200, 200};
    struct tensorboard t;
    char *path;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small.rlim_max = old.rlim_max;
    tensorboard_open(&t, dir, 0);
    path = strdup(t.path);
    assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    log_level_set(LOG_ERROR);
    for (int i = 0; i < 5000; i++)
        tensorboard_scalar(&t, "a", i, i);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    log_level_set(LOG_INFO);
    assert_int_equal(t.fd, -1);
    tensorboard_close(&t);
    assert_int_equal(size_of(path), 200);
    (void)unlink(path);
    free(path);
}

static int setup(void **state)
{
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(test_crc),       cmocka_unit_test(test_golden),
        cmocka_unit_test(test_flush),     cmocka_unit_test(test_resume),
        cmocka_unit_test(test_disk_full), cmocka_unit_test(test_steps),
    };

    return cmocka_run_group_tests(test, setup, teardown);
}
