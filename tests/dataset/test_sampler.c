/* The order of an epoch: a permutation, a function of its key, and a fair one. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "dataset/sampler.h"
#include "tests/test.h"

static void every_sample_once(void **state)
{
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 16, 17, 64, 65, 1000, 4096, 50000};

    (void)state;
    for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        struct sampler s = {7, 3, sizes[k], true, 0};
        uint8_t *seen = xcalloc((size_t)s.n, 1);

        for (int64_t p = 0; p < s.n; p++) {
            int64_t i = sampler_at(&s, p);

            assert_true(i >= 0 && i < s.n && !seen[i]);
            seen[i] = 1;
        }
        free(seen);
    }
}

static int differing(const struct sampler *a, const struct sampler *b)
{
    int n = 0;

    for (int64_t p = 0; p < a->n; p++)
        n += sampler_at(a, p) != sampler_at(b, p);
    return n;
}

static void the_key_is_seed_and_epoch(void **state)
{
    struct sampler s = {1, 1, 1000, true, 0}, seed = s, epoch = s, plain = s, high = s;

    (void)state;
    seed.seed = 2;
    epoch.epoch = 2;
    plain.shuffle = false;
    high.seed = 1 | (uint64_t)1 << 40;
    assert_int_equal(differing(&s, &s), 0);
    assert_true(differing(&s, &seed) > 980);
    assert_true(differing(&s, &epoch) > 980);
    assert_true(differing(&s, &plain) > 980);
    assert_true(differing(&s, &high) > 980);
    assert_int_equal(sampler_at(&plain, 123), 123);
}

/* Copies side by side, as many positions as before but whole groups of 256, and n / r of
 * the samples. */
static void samples_are_repeated(void **state)
{
    struct sampler s = {7, 3, 1000, true, 3}, once = s, few = s;
    int seen[1000] = {0}, different = 0;

    (void)state;
    once.repeats = 0;
    few.n = 10;
    assert_int_equal(sampler_len(&once), 1000);
    assert_int_equal(sampler_len(&few), 10);
    assert_int_equal(sampler_len(&s), 768);
    for (int64_t p = 0; p < 768; p++) {
        assert_int_equal(sampler_at(&s, p), sampler_at(&once, p / 3));
        assert_int_equal(sampler_copy(&s, p), p % 3);
        assert_int_equal(sampler_copy(&once, p), 0);
        different += seen[sampler_at(&s, p)]++ == 0;
    }
    assert_int_equal(different, 256);
}

/* The same order for ever: a resumed run depends on it. */
static void the_order_is_fixed(void **state)
{
    static const int64_t want[] = {85499, 400141, 83139, 45303, 1006892};
    struct sampler s = {42, 5, 1281167, true, 0};

    (void)state;
    for (int i = 0; i < 5; i++)
        assert_int_equal(sampler_at(&s, i), want[i]);
}

/* Over many epochs every sample is equally often at every place, and every neighbour of
 * every sample equally frequent: chi-square, far tail. */
static void orders_are_fair(void **state)
{
    enum { N = 12, EPOCHS = 24000 };
    static double place[N][N], after[N][N];
    double chi_place = 0, chi_after = 0, want = EPOCHS / (double)N;
    double want_after = EPOCHS / (double)N; /* (N - 1) neighbours over N (N - 1) pairs */

    (void)state;
    for (uint64_t e = 0; e < EPOCHS; e++) {
        struct sampler s = {9, e, N, true, 0};

        for (int64_t p = 0; p < N; p++) {
            int64_t i = sampler_at(&s, p);

            place[p][i]++;
            if (p > 0)
                after[sampler_at(&s, p - 1)][i]++;
        }
    }
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++) {
            chi_place += (place[i][k] - want) * (place[i][k] - want) / want;
            if (i != k)
                chi_after +=
                    (after[i][k] - want_after) * (after[i][k] - want_after) / want_after;
        }
    assert_true(chi_place < 190); /* 121 degrees of freedom: 4.4 sigma */
    assert_true(chi_after < 200); /* about 131 */
}

/* All 120 orders of five samples occur. */
static void all_orders_occur(void **state)
{
    static uint8_t seen[3125];
    int orders = 0;

    (void)state;
    for (uint64_t e = 0; e < 3000; e++) {
        struct sampler s = {1, e, 5, true, 0};
        int code = 0;

        for (int p = 0; p < 5; p++)
            code = code * 5 + (int)sampler_at(&s, p);
        orders += seen[code]++ == 0;
    }
    assert_int_equal(orders, 120);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sample_once),
        cmocka_unit_test(the_key_is_seed_and_epoch),
        cmocka_unit_test(samples_are_repeated),
        cmocka_unit_test(the_order_is_fixed),
        cmocka_unit_test(orders_are_fair),
        cmocka_unit_test(all_orders_occur),
    };

    return cmocka_run_group_tests_name("dataset_sampler", tests, NULL, NULL);
}
