/*
 * The cache of decoded images: it returns what was put, and its contents stay within its
 * limit.
 */
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "dataset/cache.h"
#include "tests/test.h"

enum { SAMPLES = 200, W = 24, H = 16, SIDE = 40, LIMIT = 100000, THREADS = 4 };

static uint8_t shade(int64_t sample, int64_t i)
{
    return (uint8_t)(sample * 37 + i % 251);
}

/* Puts sample i, whose stride is larger than its rows; some samples are smaller. */
static void put(struct cache *c, int64_t sample, bool labels)
{
    enum { STRIDE = SIDE * 3 };
    uint8_t pixel[STRIDE * H + IMAGE_SLACK], label[W * H];
    int w = sample % 3 ? W : W / 2;

    for (int i = 0; i < (int)sizeof(pixel); i++)
        pixel[i] = shade(sample, i);
    memset(label, (int)sample, sizeof(label));
    cache_put(
        c, sample,
        &(struct image){.w = w, .h = H, .channels = 3, .stride = STRIDE, .pixel = pixel},
        labels ? label : NULL);
}

/* Returns the bytes of pixels and labels in the cache, after comparing them with what was
 * put. */
static int64_t held(struct cache *c, int64_t *n)
{
    int64_t bytes = 0;

    *n = 0;
    for (int64_t sample = 0; sample < SAMPLES; sample++) {
        const uint8_t *label;
        struct image m;

        if (!cache_get(c, sample, &m, &label))
            continue;
        assert_true(m.w == (sample % 3 ? W : W / 2) && m.h == H);
        for (int y = 0; y < m.h; y++)
            for (int x = 0; x < m.w * 3; x++)
                assert_int_equal(m.pixel[(size_t)y * m.stride + (size_t)x],
                                 shade(sample, y * SIDE * 3 + x));
        for (int i = 0; label && i < m.w * m.h; i++)
            assert_int_equal(label[i], (uint8_t)sample);
        bytes += m.w * m.h * (label ? 4 : 3);
        ++*n;
    }
    return bytes;
}

static void test_limit(void **state)
{
    (void)state;
    for (int labels = 0; labels < 2; labels++) {
        struct cache *c = cache_new(SAMPLES, LIMIT);
        int64_t n, bytes;

        for (int64_t i = 0; i < SAMPLES; i++)
            put(c, i, labels);
        bytes = held(c, &n);
        assert_in_range(bytes, LIMIT * 8 / 10, LIMIT); /* the rest is the overhead of
                                                        * items */
        assert_in_range(cache_used(c), bytes, LIMIT);
        assert_int_equal(cache_count(c), n);
        assert_in_range(n, 1, SAMPLES - 1);
        cache_free(c);
    }
}

/* An image that does not fit leaves the space to smaller ones. */
static void test_too_large(void **state)
{
    struct cache *c = cache_new(SAMPLES, W / 2 * H * 3 + 150);
    int64_t n;

    (void)state;
    for (int i = 0; i < 5; i++)
        put(c, 1, false);
    assert_int_equal(held(c, &n), 0);
    assert_int_equal(cache_used(c), 0);
    put(c, 3, false);
    assert_int_equal(held(c, &n), W / 2 * H * 3);
    cache_free(c);
}

/* Putting an image again takes no more space. */
static void test_twice(void **state)
{
    struct cache *c = cache_new(SAMPLES, LIMIT);
    int64_t n, used;

    (void)state;
    put(c, 7, true);
    used = cache_used(c);
    for (int i = 0; i < SAMPLES; i++)
        put(c, 7, true);
    assert_int_equal(cache_used(c), used);
    assert_int_equal(cache_count(c), 1);
    assert_int_equal(held(c, &n), W * H * 4);
    cache_free(c);
}

static void *put_all(void *arg)
{
    for (int64_t i = 0; i < SAMPLES; i++)
        put(arg, i, true);
    return NULL;
}

static void test_threads(void **state)
{
    struct cache *c = cache_new(SAMPLES, LIMIT);
    pthread_t thread[THREADS];
    int64_t n, bytes;

    (void)state;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, put_all, c), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    bytes = held(c, &n);
    assert_in_range(bytes, 1, LIMIT);
    assert_in_range(cache_used(c), bytes, LIMIT);
    assert_int_equal(cache_count(c), n);
    cache_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_twice),
        cmocka_unit_test(test_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
