/* io/jsonl and io/csv: contents of the files, and the lines that a resumed run keeps. */
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/error.h"
#include "base/file.h"
#include "io/csv.h"
#include "io/jsonl.h"
#include "tests/child.h"
#include "tests/test.h"

static char dir[] = "/tmp/trainc-test-XXXXXX";
static char *file;

static const char *const column[] = {"epoch", "train_loss", "val_top1"};

static void check(const char *want)
{
    char *got = file_read(file, NULL);

    assert_non_null(got);
    assert_string_equal(got, want);
    free(got);
}

static void put(const char *text)
{
    assert_int_equal(atomic_write_file(file, text, strlen(text)), 0);
}

static void add_step(struct jsonl *j, int64_t step, float loss)
{
    struct json_writer *w = jsonl_begin(j);

    json_put_int(w, "step", step);
    json_put_float(w, "loss", loss);
    jsonl_end(j);
}

static void test_jsonl(void **state)
{
    struct jsonl j;

    (void)state;
    put("{\"step\":77}\n"); /* from an earlier run */
    jsonl_open(&j, file, "step", -1);
    add_step(&j, 1, 2.3f);
    check("{\"step\":1,\"loss\":2.3}\n"); /* written immediately */
    add_step(&j, 2, NAN);
    jsonl_close(&j);
    check("{\"step\":1,\"loss\":2.3}\n{\"step\":2,\"loss\":null}\n");
    jsonl_open(&j, file, "step", 1);
    add_step(&j, 2, 1);
    jsonl_close(&j);
    check("{\"step\":1,\"loss\":2.3}\n{\"step\":2,\"loss\":1}\n");
}

static void test_jsonl_damaged(void **state)
{
    struct jsonl j;

    (void)state;
    put("{\"step\":1}\n{\"step\":1,\"step\":1}\nx\n\n{\"x\":1}\n{\"step\":1.0}\n[]\n"
        "{\"step\":4}\n{\"step\":2,\"tag\":\"val\"}\n{\"step\":2}");
    jsonl_open(&j, file, "step", 3);
    add_step(&j, 3, 3);
    jsonl_close(&j);
    check("{\"step\":1}\n{\"step\":2,\"tag\":\"val\"}\n{\"step\":3,\"loss\":3}\n");
    (void)unlink(file);
    jsonl_open(&j, file, "step", 3); /* the file is gone: starts a new one */
    add_step(&j, 4, 1);
    jsonl_close(&j);
    check("{\"step\":4,\"loss\":1}\n");
}

static void test_csv(void **state)
{
    struct csv c;

    (void)state;
    put("epoch,old\n1,2\n");
    csv_open(&c, file, column, 3, -1);
    check("epoch,train_loss,val_top1\n");
    csv_row(&c, (double[]){1, (double)2.3f, NAN});
    csv_row(&c, (double[]){2, 1e-3, 12.5});
    csv_row(&c, (double[]){10, 0.1, 1.0 / 3});
    csv_close(&c);
    check("epoch,train_loss,val_top1\n1,2.3,\n2,0.001,12.5\n10,0.1,0.3333333333333333\n");
    csv_open(&c, file, column, 3, 2);
    csv_row(&c, (double[]){3, 1, 1});
    csv_close(&c);
    check("epoch,train_loss,val_top1\n1,2.3,\n2,0.001,12.5\n3,1,1\n");
    csv_open(&c, file, column, 3, 0); /* one header, no rows */
    csv_close(&c);
    check("epoch,train_loss,val_top1\n");
}

/* Simulates a full disk: no file grows beyond `bytes`. */
static void limit_files(rlim_t bytes)
{
    struct rlimit limit;

    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Late values, two of them while the disk is full. */
static void test_csv_late(void **state)
{
    struct csv c;

    (void)state;
    csv_open(&c, file, column, 3, -1);
    for (int i = 1; i <= 3; i++)
        csv_row(&c, (double[]){i, 0.5, NAN});
    csv_amend(&c, (double[]){1, NAN, 10});
    csv_amend(&c, (double[]){7, NAN, 1}); /* no such row */
    limit_files(4);
    csv_amend(&c, (double[]){2, NAN, 20});
    csv_amend(&c, (double[]){3, 0.25, 30});
    check("epoch,train_loss,val_top1\n1,0.5,10\n2,0.5,\n3,0.5,\n");
    limit_files(RLIM_INFINITY);
    csv_row(&c, (double[]){4, 0.5, NAN});
    check("epoch,train_loss,val_top1\n1,0.5,10\n2,0.5,20\n3,0.25,30\n4,0.5,\n");
    limit_files(4);
    csv_amend(&c, (double[]){4, NAN, 40});
    limit_files(RLIM_INFINITY);
    csv_close(&c);
    check("epoch,train_loss,val_top1\n1,0.5,10\n2,0.5,20\n3,0.25,30\n4,0.5,40\n");
}

/* A header that a full disk refused is written before the first row. */
static void test_csv_header(void **state)
{
    struct csv c;

    (void)state;
    limit_files(4);
    csv_open(&c, file, column, 3, -1);
    csv_row(&c, (double[]){1, 2, 3}); /* lost */
    check("");
    limit_files(RLIM_INFINITY);
    csv_row(&c, (double[]){2, 3, 4});
    csv_close(&c);
    check("epoch,train_loss,val_top1\n2,3,4\n");
}

static void test_csv_damaged(void **state)
{
    struct csv c;

    (void)state;
    put("epoch,train_loss,val_top1\n1,2,3\nx,2,3\n2x,2,3\n\n2,2,3\n3,2");
    csv_open(&c, file, column, 3, 9);
    csv_close(&c);
    check("epoch,train_loss,val_top1\n1,2,3\n2,2,3\n");
    put("epoch,train_lo"); /* incomplete first line */
    csv_open(&c, file, column, 3, 9);
    csv_close(&c);
    check("epoch,train_loss,val_top1\n");
}

/* Class names may contain anything: they stay one cell of one line. */
static void test_csv_names(void **state)
{
    static const char *const odd[] = {"epoch", "a,b", "say \"x\"", "two\nlines"};
    struct csv c;

    (void)state;
    put("");
    csv_open(&c, file, odd, 4, -1);
    csv_row(&c, (double[]){1, 2, 3, 4});
    csv_close(&c);
    check("epoch,\"a,b\",\"say \"\"x\"\"\",two?lines\n1,2,3,4\n");
    csv_open(&c, file, odd, 4, 1); /* a resumed run recognizes its header */
    csv_close(&c);
    check("epoch,\"a,b\",\"say \"\"x\"\"\",two?lines\n1,2,3,4\n");
}

static void open_other_columns(void *arg)
{
    struct csv c;

    (void)arg;
    csv_open(&c, file, column, 3, 9);
}

static void test_csv_other_columns(void **state)
{
    char *says = xasprintf("'%s' has the columns 'epoch,old'", file);

    (void)state;
    put("epoch,old\n1,2\n");
    check_dies(open_other_columns, NULL, says);
    check("epoch,old\n1,2\n");
    free(says);
}

static int setup(void **state)
{
    (void)state;
    if (!mkdtemp(dir))
        return -1;
    file = path_join(dir, "x");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    (void)unlink(file);
    free(file);
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(test_jsonl),
        cmocka_unit_test(test_jsonl_damaged),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_csv_late),
        cmocka_unit_test(test_csv_header),
        cmocka_unit_test(test_csv_damaged),
        cmocka_unit_test(test_csv_other_columns),
        cmocka_unit_test(test_csv_names),
    };

    return cmocka_run_group_tests(test, setup, teardown);
}
