/* The loader's cache in memory: it changes no pixel, and stores what fits. */
#include <stdint.h>

#include "tests/dataset/loader_run.h"
#include "tests/dataset/open_storage.h"
#include "tests/make_folder.h"
#include "tests/test.h"

/* Runs two epochs twice, with a cache of at most `bytes`. */
static void run_cached(struct dataset *d, int64_t bytes, double gap, uint64_t got[2][8])
{
    struct loader_options o = training_options(2);
    struct loader *l;
    uint64_t again[8];

    o.cache_bytes = bytes;
    o.transform.shrink_gap = gap;
    o.transform.scale[0] = 0.9;
    l = loader_open(d, &o);
    for (int e = 0; e < 4; e++) {
        run_epoch(l, (uint64_t)e % 2, 0, e < 2 ? got[e] : again);
        if (e >= 2)
            assert_memory_equal(again, got[e % 2], 4 * sizeof(again[0]));
    }
    assert_true(loader_stats(l).cached_bytes <= bytes);
    assert_true(bytes == 0 || loader_stats(l).cached_bytes > 10000);
    loader_close(l);
}

/* No cache, a cache for some images, and one for all. */
static void the_cache_changes_nothing(void **state)
{
    char *dir = make_images();
    struct dataset *d;
    uint64_t none[2][8], some[2][8], all[2][8];

    (void)state;
    damage_images(dir);
    d = open_folder(dir);
    run_cached(d, 0, 0, none);
    run_cached(d, 50000, 0, some);
    run_cached(d, 1 << 20, 0, all);
    for (int e = 0; e < 2; e++) {
        assert_memory_equal(some[e], none[e], 4 * sizeof(none[0][0]));
        assert_memory_equal(all[e], none[e], 4 * sizeof(none[0][0]));
    }
    dataset_close(d);
    remove_temp_dir(dir);
}

/* JPEGs that are decoded at reduced size are cached like this, and no pixel depends on
 * which images were cached. */
static void the_cache_keeps_shrunken_images(void **state)
{
    char *dir = make_images();
    struct dataset *d = open_folder(dir);
    struct loader_options o = training_options(1);
    struct loader *l;
    uint64_t some[2][8], all[2][8];
    int64_t whole;

    (void)state;
    run_cached(d, 15000, 1, some);
    run_cached(d, 1 << 20, 1, all);
    for (int e = 0; e < 2; e++)
        assert_memory_equal(some[e], all[e], 4 * sizeof(all[0][0]));
    o.cache_bytes = 1 << 20;
    for (int gap = 0; gap < 2; gap++) {
        o.transform.shrink_gap = gap;
        o.transform.scale[0] = 0.9;
        l = loader_open(d, &o);
        run_epoch(l, 0, 0, some[0]);
        run_epoch(l, 1, 0, some[0]);
        if (gap)
            assert_true(loader_stats(l).cached_bytes < whole);
        whole = loader_stats(l).cached_bytes;
        loader_close(l);
    }
    dataset_close(d);
    remove_temp_dir(dir);
}

/* A transform without random numbers: its results are cached instead of the images. */
static void the_cache_keeps_results(void **state)
{
    char *dir = make_images();
    struct dataset *d = open_folder(dir);
    uint64_t want[8], got[8];

    (void)state;
    for (int64_t bytes = 0; bytes <= 1 << 20; bytes += 1 << 20) {
        struct loader_options o = training_options(2);
        struct loader *l;

        o.transform = transform_for_evaluation(SIDE, SIDE + 4);
        o.cache_bytes = bytes;
        l = loader_open(d, &o);
        run_epoch(l, 0, 0, bytes ? got : want);
        if (bytes)
            assert_memory_equal(got, want, 4 * sizeof(want[0]));
        run_epoch(l, 0, 0, got);
        assert_memory_equal(got, want, 4 * sizeof(want[0]));
        assert_true(loader_stats(l).cached_bytes <= d->n * (3 * SIDE * SIDE + 200));
        loader_close(l);
    }
    dataset_close(d);
    remove_temp_dir(dir);
}

static void a_full_cache_needs_no_files(void **state)
{
    char *dir = make_images();
    struct dataset *d = open_folder(dir);
    struct loader_options o = training_options(1);
    struct loader *l;
    uint64_t want[8], got[8];

    (void)state;
    o.drop_last = false;
    o.cache_bytes = 1 << 20;
    l = loader_open(d, &o);
    run_epoch(l, 0, 0, want);
    remove_temp_dir(dir);
    run_epoch(l, 0, 0, got);
    assert_memory_equal(got, want, 5 * sizeof(got[0]));
    assert_int_equal(loader_stats(l).bad_files, 0);
    loader_close(l);
    dataset_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cache_changes_nothing),
        cmocka_unit_test(the_cache_keeps_shrunken_images),
        cmocka_unit_test(the_cache_keeps_results),
        cmocka_unit_test(a_full_cache_needs_no_files),
    };

    return cmocka_run_group_tests_name("loader cache", tests, NULL, NULL);
}
