/* Divisions as multiplications (cuda/divide.h). */
#include "cuda/divide.h"

#include "tests/test.h"

static void check(unsigned by, unsigned i)
{
    unsigned got = divide(divider_of(by), i);

    if (got != i / by)
        fail_msg("%u / %u is %u and not %u", i, by, got, i / by);
}

/* Numbers around each multiple that a rounded factor could miss, up to the largest. */
static void test_edges(void **state)
{
    enum { LARGEST = 0x7fffffff };
    static const unsigned few[] = {1,    2,     3,     5,         6,           7,
                                   10,   48,    641,   1000,      4095,        4096,
                                   4097, 65535, 65537, 715827883, LARGEST - 1, LARGEST};

    (void)state;
    for (unsigned k = 0; k < sizeof(few) / sizeof(*few); k++) {
        unsigned by = few[k], most = LARGEST / by;

        check(by, 0);
        check(by, LARGEST);
        for (unsigned times = 1; times <= most && times < 3000; times++) {
            check(by, times * by - 1);
            check(by, times * by);
            check(by, (most - times + 1) * by - 1);
            check(by, (most - times + 1) * by);
        }
    }
}

static void test_small(void **state)
{
    (void)state;
    for (unsigned by = 1; by < 2000; by++)
        for (unsigned i = 0; i < 2000; i++)
            check(by, i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_small),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
