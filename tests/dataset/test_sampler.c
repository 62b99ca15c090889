/* The order of an epoch is a permutation, a function of seed and epoch, and fair. */
#include <math.h>
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
        struct sampler s = {7, 3, sizes[k], true, 0, NULL, NULL, 0, 0};
        uint8_t *seen = xcalloc((size_t)s.n, 1);

        for (int64_t p = 0; p < s.n; p++) {
            int64_t i = sampler_index(&s, p);

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
        n += sampler_index(a, p) != sampler_index(b, p);
    return n;
}

static void the_key_is_seed_and_epoch(void **state)
{
    struct sampler s = {1, 1, 1000, true, 0, NULL, NULL, 0, 0}, seed = s, epoch = s,
                   plain = s, high = s;

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
    assert_int_equal(sampler_index(&plain, 123), 123);
}

/* With r repeats, copies are consecutive; an epoch has complete groups of 256 positions,
 * as many as fit its length (all if there are fewer), so it uses 1 / r of the samples. */
static void samples_are_repeated(void **state)
{
    struct sampler s = {7, 3, 1000, true, 3, NULL, NULL, 0, 0}, once = s, few = s;
    int seen[1000] = {0}, different = 0;

    (void)state;
    once.repeats = 0;
    few.n = 10;
    assert_int_equal(sampler_len(&once), 1000);
    assert_int_equal(sampler_len(&few), 10);
    assert_int_equal(sampler_len(&s), 768);
    for (int64_t p = 0; p < 768; p++) {
        assert_int_equal(sampler_index(&s, p), sampler_index(&once, p / 3));
        assert_int_equal(sampler_copy(&s, p), p % 3);
        assert_int_equal(sampler_copy(&once, p), 0);
        different += seen[sampler_index(&s, p)]++ == 0;
    }
    assert_int_equal(different, 256);
}

/* Each rank has every world-th sample once per epoch, the same ones in each epoch, in an
 * order that differs between epochs and ranks. */
static void parts_stay_with_their_rank(void **state)
{
    enum { N = 1001, WORLD = 3 };
    int same_epoch = 0, same_rank = 0;

    (void)state;
    for (int rank = 0; rank < WORLD; rank++) {
        struct sampler s = {
            .seed = 7, .n = N, .shuffle = true, .rank = rank, .world = WORLD};
        struct sampler next = s, first = s;
        int seen[N] = {0}, len = (N - rank + WORLD - 1) / WORLD;

        next.epoch = 1;
        first.rank = 0;
        assert_int_equal(sampler_len(&s), len);
        for (int64_t p = 0; p < len; p++) {
            int64_t i = sampler_index(&s, p);

            assert_true(i >= 0 && i < N);
            assert_int_equal(i % WORLD, rank);
            assert_int_equal(seen[i]++, 0);
            same_epoch += sampler_index(&next, p) == i;
            same_rank += rank > 0 && sampler_index(&first, p) / WORLD == i / WORLD;
        }
    }
    assert_true(same_epoch < 30);
    assert_true(same_rank < 30);
}

/* The order must never change: resumed runs depend on it. */
static void the_order_is_fixed(void **state)
{
    static const int64_t want[] = {85499, 400141, 83139, 45303, 1006892};
    struct sampler s = {42, 5, 1281167, true, 0, NULL, NULL, 0, 0};

    (void)state;
    for (int i = 0; i < 5; i++)
        assert_int_equal(sampler_index(&s, i), want[i]);
}

/* Over many epochs every sample is at every position equally often, and follows every
 * other one equally often: chi-square, far tail. */
static void orders_are_fair(void **state)
{
    enum { N = 12, EPOCHS = 24000 };
    static double place[N][N], after[N][N];
    double chi_place = 0, chi_after = 0, want = EPOCHS / (double)N;
    double want_after = EPOCHS / (double)N; /* (N - 1) neighbors over N (N - 1) pairs */

    (void)state;
    for (uint64_t e = 0; e < EPOCHS; e++) {
        struct sampler s = {9, e, N, true, 0, NULL, NULL, 0, 0};

        for (int64_t p = 0; p < N; p++) {
            int64_t i = sampler_index(&s, p);

            place[p][i]++;
            if (p > 0)
                after[sampler_index(&s, p - 1)][i]++;
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
        struct sampler s = {1, e, 5, true, 0, NULL, NULL, 0, 0};
        int code = 0;

        for (int p = 0; p < 5; p++)
            code = code * 5 + (int)sampler_index(&s, p);
        orders += seen[code]++ == 0;
    }
    assert_int_equal(orders, 120);
}

/* First sample of each shard, then the end: shards of several sizes, one empty. */
static const int64_t first[] = {0, 5, 5, 30, 31, 60, 61, 100, 240, 250, 251};

enum { SHARDS = sizeof(first) / sizeof(first[0]) - 1 };

static int64_t shard_of(int64_t i)
{
    int64_t k = 0;

    while (first[k + 1] <= i)
        k++;
    return k;
}

/* Each sample occurs once, and no position has more shards in progress than the
 * window. */
static void windows_mix_some_shards(void **state)
{
    (void)state;
    for (int shards = 1; shards < SHARDS + 2; shards++) {
        struct sampler_windows w;
        struct sampler s = {7, 3, first[SHARDS], true, 0, &w, NULL, 0, 0};
        int seen[251] = {0}, in_order = 0;
        int64_t last[SHARDS], start[SHARDS], overlaps = 0;

        sampler_windows_init(&w, first, SHARDS, shards);
        sampler_windows_order(&w, s.seed, s.epoch);
        for (int k = 0; k < SHARDS; k++)
            start[k] = last[k] = -1;
        for (int64_t p = 0; p < s.n; p++) {
            int64_t i = sampler_index(&s, p), k = shard_of(i);

            seen[i]++;
            in_order += p > 0 && i == sampler_index(&s, p - 1) + 1;
            start[k] = start[k] < 0 ? p : start[k];
            last[k] = p;
        }
        for (int64_t i = 0; i < s.n; i++)
            assert_int_equal(seen[i], 1);
        assert_true(in_order < 25);
        for (int64_t p = 0; p < s.n; p++) {
            int open = 0;

            for (int k = 0; k < SHARDS; k++)
                open += start[k] >= 0 && start[k] <= p && p <= last[k];
            assert_true(open <= shards);
            overlaps += open > 1;
        }
        assert_int_equal(overlaps > 0, shards > 1);
        sampler_windows_release(&w);
    }
}

static void windows_differ_by_epoch(void **state)
{
    struct sampler_windows w[3];
    struct sampler s[3];
    uint64_t epoch[3] = {3, 3, 4};

    (void)state;
    for (int i = 0; i < 3; i++) {
        s[i] = (struct sampler){7, epoch[i], first[SHARDS], true, 0, &w[i], NULL, 0, 0};
        sampler_windows_init(&w[i], first, SHARDS, 3);
        sampler_windows_order(&w[i], 7, 9);
        sampler_windows_order(&w[i], 7, epoch[i]);
    }
    assert_int_equal(differing(&s[0], &s[1]), 0);
    assert_true(differing(&s[0], &s[2]) > 200);
    assert_memory_not_equal(w[0].shard, w[2].shard, sizeof(int64_t) * SHARDS);
    for (int i = 0; i < 3; i++)
        sampler_windows_release(&w[i]);
}

/* Weighted sampling: frequencies match the weights within three standard deviations;
 * positions and epochs are independent, so every rank and every restart draws the
 * same. */
static void weights_are_frequencies(void **state)
{
    static const double weight[] = {1, 0, 3, 0.5, 5.5, 0};
    enum { N = 6, EPOCHS = 20000 };
    double sum[N], total = 0, drawn = (double)N * EPOCHS;
    int64_t count[N] = {0}, same = 0;

    (void)state;
    for (int i = 0; i < N; i++)
        sum[i] = total += weight[i];
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        struct sampler s = {
            .seed = 3, .epoch = epoch, .n = N, .shuffle = true, .weights = sum};
        struct sampler again = s;

        for (int64_t p = 0; p < N; p++) {
            int64_t i = sampler_index(&s, p);

            assert_true(i >= 0 && i < N && weight[i] > 0);
            assert_int_equal(sampler_index(&again, p), i);
            count[i]++;
            same += p && i == sampler_index(&s, p - 1);
        }
        assert_int_equal(sampler_len(&s), N);
        assert_true(sampler_copy(&s, 0) != sampler_copy(&s, 1));
    }
    for (int i = 0; i < N; i++) {
        double p = weight[i] / total, off = (double)count[i] - p * drawn;

        assert_true(fabs(off) <= 3 * sqrt(drawn * p * (1 - p)));
    }
    /* Neighbors are independent: they are equal with the sum of p squared, 0.405. */
    assert_true(fabs((double)same / (5.0 * EPOCHS) - 0.405) < 0.01);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_mix_some_shards),
        cmocka_unit_test(windows_differ_by_epoch),
        cmocka_unit_test(every_sample_once),
        cmocka_unit_test(the_key_is_seed_and_epoch),
        cmocka_unit_test(parts_stay_with_their_rank),
        cmocka_unit_test(weights_are_frequencies),
        cmocka_unit_test(samples_are_repeated),
        cmocka_unit_test(the_order_is_fixed),
        cmocka_unit_test(orders_are_fair),
        cmocka_unit_test(all_orders_occur),
    };

    return cmocka_run_group_tests_name("dataset_sampler", tests, NULL, NULL);
}
