/* Libraries that are opened on demand. */
#include "base/dynlib.h"

#include <math.h>
#include <pthread.h>

#include "tests/child.h"
#include "tests/test.h"

struct math {
    double (*cosine)(double);
};

static const struct dynlib_symbol symbols[] = {{"cos", offsetof(struct math, cosine)},
                                               {0}};
static const struct dynlib_symbol unknown[] = {{"cosin", offsetof(struct math, cosine)},
                                               {0}};
static const char *const names[] = {"libnowhere.so.1", "libm.so.6", NULL};
static const char *const nowhere[] = {"libnowhere.so.1", NULL};

static void *open_math(void *arg)
{
    static struct dynlib row = {.names = names, .package = "libc6", .symbols = symbols};
    static struct math lib;
    struct strbuf why = STRBUF_INIT;

    return dynlib_open(&row, &lib, &why) == 0 && lib.cosine(0) == 1 ? arg : NULL;
}

/* All threads arrive while it is being opened; each finds it complete. */
static void test_threads(void **state)
{
    enum { THREADS = 8 };
    pthread_t thread[THREADS];
    void *opened;
    char mark;

    (void)state;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, open_math, &mark), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(thread[i], &opened), 0);
        assert_ptr_equal(opened, &mark);
    }
}

/* The second call does not look up symbols again. */
static void test_once(void **state)
{
    struct dynlib row = {.names = names, .package = "libc6", .symbols = symbols};
    struct strbuf why = STRBUF_INIT;
    struct math lib = {0};

    (void)state;
    assert_int_equal(dynlib_open(&row, &lib, &why), 0);
    lib.cosine = sin;
    assert_int_equal(dynlib_open(&row, &lib, &why), 0);
    assert_true(lib.cosine == sin);
    assert_int_equal(why.len, 0);
}

static void test_missing(void **state)
{
    static const struct {
        const char *const *names;
        const struct dynlib_symbol *symbols;
        const char *why;
    } row[] = {
        {nowhere, symbols,
         "libnowhere.so.1 cannot be opened, which Debian's nowhere1 has"},
        {names + 1, unknown, "libm.so.6 has no cosin: another version is needed"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
        for (int again = 0; again < 2; again++) { /* a failed call does not count as
                                                   * open */
            struct dynlib lib = {
                .names = row[i].names, .package = "nowhere1", .symbols = row[i].symbols};
            struct strbuf why = STRBUF_INIT;
            struct math dst;

            if (again)
                (void)dynlib_open(&lib, &dst, &why);
            strbuf_release(&why);
            assert_int_equal(dynlib_open(&lib, &dst, &why), -1);
            assert_string_equal(why.buf, row[i].why);
            strbuf_release(&why);
        }
}

static void need_nowhere(void *arg)
{
    struct dynlib row = {.names = nowhere, .package = "nowhere1", .symbols = symbols};
    struct math lib;

    dynlib_need(&row, &lib, arg);
}

static void test_need(void **state)
{
    char what[] = "AVIF";

    (void)state;
    check_dies(need_nowhere, what,
               "AVIF cannot be read: libnowhere.so.1 cannot be opened, which Debian's "
               "nowhere1 has");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_need), /* first: no child may inherit threads */
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_once),
        cmocka_unit_test(test_missing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
