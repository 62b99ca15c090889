/* Divisions as multiplications (cuda/divide.h). */
#include "cuda/divide.h"

#include "tests/test.h"

static void check(unsigned divisor, unsigned i)
{
    unsigned got = divide(divider_of(divisor), i);

    if (got != i / divisor)
        fail_msg("%u / %u is %u and not %u", i, divisor, got, i / divisor);
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
        unsigned divisor = few[k], max = LARGEST / divisor;

        check(divisor, 0);
        check(divisor, LARGEST);
        for (unsigned times = 1; times <= max && times < 3000; times++) {
            check(divisor, times * divisor - 1);
            check(divisor, times * divisor);
            check(divisor, (max - times + 1) * divisor - 1);
            check(divisor, (max - times + 1) * divisor);
        }
    }
}

static void test_small(void **state)
{
    (void)state;
    for (unsigned divisor = 1; divisor < 2000; divisor++)
        for (unsigned i = 0; i < 2000; i++)
            check(divisor, i);
}

/* Threads of blocks up to the largest, whose items are beyond 2^32. */
static void test_items(void **state)
{
    static const unsigned divisor[] = {1,   2,   3,    24,    96,        255,
                                       256, 257, 1000, 65537, DIVIDE_MAX};
    static const unsigned block[] = {0, 1, 2, 255, 65536, 0x7ffffffe, 0x7fffffff};

    (void)state;
    for (size_t d = 0; d < sizeof(divisor) / sizeof(*divisor); d++)
        for (size_t b = 0; b < sizeof(block) / sizeof(*block); b++)
            for (unsigned thread = 0; thread < DIVIDE_BLOCK; thread++) {
                int64_t i = (int64_t)block[b] * DIVIDE_BLOCK + thread;
                struct quotient q = divide_item(divider_of(divisor[d]), block[b], thread);

                if (q.quotient != i / divisor[d] || q.rest != i % divisor[d])
                    fail_msg("%lld / %u is %lld, rest %d", (long long)i, divisor[d],
                             (long long)q.quotient, q.rest);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_items),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
