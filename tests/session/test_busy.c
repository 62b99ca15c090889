/* The number of threads that a busy machine runs at once. */
#include "session/busy.h"
#include "tests/test.h"

static void threads_that_run_at_once(void **state)
{
    static const struct {
        double load;
        int cores, threads, fair;
    } rows[] = {
        {0, 2, 2, 2},   {8, 2, 2, 1},    {16, 16, 16, 8},
        {20, 16, 4, 3}, {1000, 8, 8, 1}, {0, 16, 2, 2},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        assert_int_equal(busy_fair_threads(rows[i].load, rows[i].cores, rows[i].threads),
                         rows[i].fair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_that_run_at_once)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
