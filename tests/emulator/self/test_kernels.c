/* Kernels on the emulator: each kind of bug that it detects is planted. */
#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

#include "tests/child.h"
#include "tests/emulator/counters.h"
#include "tests/emulator/self/fixture.h"
#include "tests/emulator/self/kernels.h"
#include "tests/test.h"

/* ---- bugs that must stop the program ---- */

struct death {
    void (*fn)(int);
    int arg;
};

static void run_death(void *arg)
{
    const struct death *d = arg;

    d->fn(d->arg);
}

static void expect_death(void (*fn)(int), int arg, const char *text)
{
    int code;
    char *said = child_run(run_death, &(struct death){fn, arg}, &code);

    if (!code || !strstr(said, text))
        fail_msg("expected '%s', got (status %d): %s", text, code, said);
    free(said);
}

static void run_shared(int bug)
{
    struct fixture f;

    fixture_init(&f);
    test_sum_shared(&f.dev, f.x, f.y, BLOCKS, (enum bug)bug);
}

static void run_warp(int bug)
{
    struct fixture f;

    fixture_init(&f);
    test_sum_warp(&f.dev, f.x, f.y, BLOCKS, (enum bug)bug);
}

static void run_launch(int index)
{
    struct fixture f;

    fixture_init(&f);
    if (index == 0)
        test_launch(&f.dev, 1, 1025, 0, 0);
    else if (index == 1)
        test_launch(&f.dev, 65536, 1, 0, 0);
    else if (index == 2)
        test_launch(&f.dev, 1, 32, 49153, 0);
    else
        test_launch(&f.dev, 1, 32, 60000, 59000);
}

static void run_pointer(int index)
{
    struct fixture f;
    float *other;

    fixture_init(&f);
    OK(cudaMalloc((void **)&other, 64));
    if (index == 0) {
        test_increment(&f.dev, f.host, f.y, N);
    } else if (index == 1) {
        OK(cudaFree(other));
        test_increment(&f.dev, f.x, other, 16);
    } else if (index == 2) {
        test_increment(&f.dev, f.x, other, 17); /* one too many */
        OK(cudaFree(other));
    } else if (index == 3) {
        test_increment(&f.dev, f.x, other, 4096);
    } else {
        OK(cudaFree(other));
        ((volatile float *)other)[0] = 1;
    }
}

static void test_deaths(void **state)
{
    (void)state;
    expect_death(run_shared, BUG_HALF_BARRIER, "barriers in lines");
    expect_death(run_shared, BUG_OTHER_BARRIER, "barriers in lines");
    expect_death(run_shared, BUG_EARLY_RETURN, "has returned");
    expect_death(run_shared, BUG_EARLY_RETURN, "sum_shared<BUG_EARLY_RETURN>");
    expect_death(run_warp, BUG_OUTSIDE_MASK, "not in its own mask");
    expect_death(run_warp, BUG_MISSING_LANE, "for its warp");
    expect_death(run_launch, 0, "a block of (1025,1,1) threads");
    expect_death(run_launch, 1, "a grid of (1,65536,1)");
    expect_death(run_launch, 2, "49153 bytes of dynamic shared memory");
    expect_death(run_launch, 3, "it may have 59000");
    expect_death(run_pointer, 0, "argument 1");
    expect_death(run_pointer, 1, "freed device memory");
    expect_death(run_pointer, 2, "after 64 bytes of device memory");
    expect_death(run_pointer, 3, "increment touched the space between");
    expect_death(run_pointer, 4, "host code touched freed device memory");
    expect_death(run_shared, BUG_PAST_END, "");
}

/* ---- bugs that must change the result ---- */

static double expected(int block, int size)
{
    double first = block * size + 1;

    return size * (first + first + size - 1) / 2;
}

static int sums_wrong(struct fixture *f, int size)
{
    int wrong = 0;

    fixture_fetch(f, f->y);
    for (int b = 0; b < BLOCKS; b++)
        wrong += !(f->host[b] == expected(b, size));
    return wrong;
}

typedef void sum_fn(struct device *dev, const float *x, float *y, int blocks,
                    enum bug bug);

/* Returns how many of a kernel's sums of `size` elements are wrong with this thread
 * order. */
static int wrong(sum_fn *sum, int size, const char *order, enum bug bug)
{
    struct fixture f;
    int n;

    emulator_order(order);
    fixture_init(&f);
    sum(&f.dev, f.x, f.y, BLOCKS, bug);
    n = sums_wrong(&f, size);
    fixture_release(&f);
    emulator_order("forward");
    return n;
}

static int shared_wrong(const char *order, enum bug bug)
{
    return wrong(test_sum_shared, 64, order, bug);
}

static void test_results(void **state)
{
    static const char *const order[] = {"forward", "reverse", "shuffle:1", "shuffle:2",
                                        "ahead"};

    (void)state;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(shared_wrong(order[i], BUG_NONE), 0);
        assert_int_equal(wrong(test_sum_twice, 64, order[i], BUG_NONE), 0);
        assert_int_equal(wrong(test_sum_warp, 40, order[i], BUG_NONE), 0);
    }
    assert_true(shared_wrong("forward", BUG_NO_BARRIER) > 0);
    assert_true(shared_wrong("reverse", BUG_NO_BARRIER) > 0 ||
                shared_wrong("shuffle:1", BUG_NO_BARRIER) > 0);
    assert_int_equal(wrong(test_sum_twice, 64, "ahead", BUG_REUSE), BLOCKS);
    assert_int_equal(shared_wrong("forward", BUG_UNWRITTEN), BLOCKS);
    assert_int_equal(shared_wrong("forward", BUG_UNWRITTEN_BLOCK), BLOCKS - 1);
}

static float race(const char *order)
{
    struct fixture f;
    float v;

    emulator_order(order);
    fixture_init(&f);
    OK(cudaMemsetAsync(f.y, 0, sizeof(f.host), f.dev.stream));
    test_sum_shared(&f.dev, f.x, f.y, BLOCKS, BUG_RACE);
    fixture_fetch(&f, f.y);
    v = f.host[0];
    fixture_release(&f);
    emulator_order("forward");
    return v;
}

static void test_orders(void **state)
{
    (void)state;
    assert_true(race("forward") == race("forward"));
    assert_true(race("forward") != race("reverse"));
    assert_true(race("shuffle:1") != race("shuffle:5"));
}

static void test_warp_values(void **state)
{
    static const int ptr[] = {0,  1,  2,  10, 11, 12, 13, 14,
                              15, 16, 17, 18, 19, 20, 21, 24};
    static const int want[] = {
        2016, 63, 48, (int)0xaaaaaaaau, 5, 11, 10, 1, 1, 23, 0, 1, 31, 36, 35, 32};
    static const char *const order[] = {"forward", "reverse", "shuffle:3", "ahead"};
    int *host;
    struct fixture f;

    (void)state;
    for (int i = 0; i < 4; i++) {
        emulator_order(order[i]);
        fixture_init(&f);
        test_integers(&f.dev, (int *)(void *)f.y);
        fixture_fetch(&f, f.y);
        host = (int *)(void *)f.host;
        for (int k = 0; k < (int)(sizeof(ptr) / sizeof(ptr[0])); k++)
            if (host[ptr[k]] != want[k])
                fail_msg("element %d is %d, not %d", ptr[k], host[ptr[k]], want[k]);
        assert_int_equal(host[3], host[4]);
        fixture_release(&f);
    }
    emulator_order("forward");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deaths),
        cmocka_unit_test(test_results),
        cmocka_unit_test(test_orders),
        cmocka_unit_test(test_warp_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
