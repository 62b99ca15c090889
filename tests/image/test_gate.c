/* Decoding memory of all threads: when threads wait, and what is rejected. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "image/gate.h"
#include "tests/test.h"

enum { MIB = 1 << 20 };

static atomic_int running, most_running, entered;

/* Occupies the lane for a while. */
static void *large(void *arg)
{
    struct strbuf why = STRBUF_INIT;
    int now, seen;

    (void)arg;
    if (image_gate_enter((size_t)65 * MIB, &why))
        return NULL;
    atomic_fetch_add(&entered, 1);
    now = atomic_fetch_add(&running, 1) + 1;
    seen = atomic_load(&most_running);
    while (now > seen && !atomic_compare_exchange_weak(&most_running, &seen, now))
        ;
    (void)image_gate_enter((size_t)70 * MIB, &why); /* already in the lane */
    (void)nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    atomic_fetch_sub(&running, 1);
    image_gate_leave();
    return NULL;
}

static void test_one_large_at_a_time(void **state)
{
    pthread_t thread[4];

    (void)state;
    image_gate_plan(4, (size_t)1024 * MIB); /* shares of 64 MiB */
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, large, NULL), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(atomic_load(&entered), 4);
    assert_int_equal(atomic_load(&most_running), 1);
    image_gate_plan(-4, (size_t)1024 * MIB);
}

static void test_limits(void **state)
{
    struct strbuf why = STRBUF_INIT;

    (void)state;
    image_gate_plan(4, (size_t)1024 * MIB);
    assert_int_equal(image_gate_enter((size_t)64 * MIB, &why), 0);
    assert_false(image_gate_inside());
    assert_int_equal(image_gate_enter((size_t)513 * MIB, &why), -1);
    assert_non_null(strstr(why.buf, "513.0 MiB"));
    assert_false(image_gate_inside());
    assert_int_equal(image_gate_enter((size_t)512 * MIB, &why), 0);
    assert_true(image_gate_inside());
    image_gate_leave();
    image_gate_plan(-4, (size_t)1024 * MIB);
    assert_int_equal(image_gate_enter(SIZE_MAX, &why), 0); /* without a plan */
    assert_false(image_gate_inside());
    strbuf_release(&why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_large_at_a_time),
        cmocka_unit_test(test_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
