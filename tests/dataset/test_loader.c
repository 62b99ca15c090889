/* The loader: the same batches for any number of workers, resume, shutdown. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "tests/dataset/loader_run.h"
#include "tests/dataset/open_storage.h"
#include "tests/make_folder.h"
#include "tests/test.h"

/* Replaces the C library's clock: real time, or a clock that advances by a second per
 * call, of any thread or of all threads except the consumer. */
static atomic_int looks, ticks;
static pthread_t consumer;
enum { LOOKS_REAL, LOOKS_OF_ALL, LOOKS_OF_OTHERS };

int clock_gettime(clockid_t id, struct timespec *t)
{
    int kind = atomic_load(&looks);

    if (kind == LOOKS_REAL || id != CLOCK_MONOTONIC)
        return (int)syscall(SYS_clock_gettime, id, t);
    if (kind == LOOKS_OF_ALL || !pthread_equal(pthread_self(), consumer))
        atomic_fetch_add(&ticks, 1);
    *t = (struct timespec){.tv_sec = atomic_load(&ticks)};
    return 0;
}

static void batches_do_not_depend_on_workers(void **state)
{
    char *dir = make_images();
    struct dataset *d = open_folder(dir);
    uint64_t want[3][8], got[8];

    (void)state;
    for (int workers = 0; workers <= 4; workers += workers + 1) { /* 0, 1, 3 */
        struct loader_options o = training_options(workers);
        struct loader *l;

        o.prefetch = 1 + workers;
        l = loader_open(d, &o);
        assert_int_equal(loader_batches(l), 4);
        for (uint64_t e = 0; e < 3; e++) {
            assert_int_equal(run_epoch(l, e, 0, got), 4);
            if (workers == 0)
                memcpy(want[e], got, sizeof(got));
            assert_memory_equal(got, want[e], 4 * sizeof(got[0]));
        }
        assert_int_equal(loader_stats(l).samples, 3 * 4 * 8);
        loader_close(l);
    }
    assert_true(want[0][0] != want[1][0]);
    dataset_close(d);
    remove_temp_dir(dir);
}

static void an_epoch_resumes_in_the_middle(void **state)
{
    char *dir = make_images();
    struct dataset *d = open_folder(dir);
    struct loader_options o = training_options(2);
    struct loader *l = loader_open(d, &o);
    uint64_t want[8], got[8];

    (void)state;
    run_epoch(l, 5, 0, want);
    loader_start_epoch(l, 9, 0); /* abandoned at once */
    loader_start_epoch(l, 4, 1); /* after one batch */
    loader_release_batch(l, loader_next(l));
    for (int64_t first = 0; first <= 4; first++) {
        assert_int_equal(run_epoch(l, 5, first, got), 4 - first);
        assert_memory_equal(got, want + first, (size_t)(4 - first) * sizeof(got[0]));
    }
    loader_start_epoch(l, 5, 0); /* while a batch is in use */
    const struct batch *held = loader_next(l);
    loader_start_epoch(l, 5, 2);
    assert_true(hash_batch(held) == want[0]);
    const struct batch *b = loader_next(l);
    assert_true(hash_batch(b) == want[2]);
    loader_release_batch(l, b);
    loader_release_batch(l, held);
    loader_close(l);
    dataset_close(d);
    remove_temp_dir(dir);
}

/* AUG.REPEATS: copies of a sample are consecutive and augmented differently. */
static void copies_look_different(void **state)
{
    struct loader_options o = training_options(2);
    char *dir = make_images();
    struct dataset *d = open_folder(dir);
    const struct batch *b;
    struct loader *l;
    int pairs = 0;

    (void)state;
    o.repeats = 2;
    l = loader_open(d, &o);
    loader_start_epoch(l, 3, 0);
    while ((b = loader_next(l))) {
        size_t size = (size_t)o.transform.w * (size_t)o.transform.h * 3;

        for (int i = 0; i + 1 < b->size; i += 2, pairs++) {
            assert_int_equal(b->sample[i], b->sample[i + 1]);
            assert_int_equal(b->label[i], b->label[i + 1]);
            assert_memory_not_equal(b->pixel + (size_t)i * size,
                                    b->pixel + ((size_t)i + 1) * size, size);
        }
        loader_release_batch(l, b);
    }
    assert_true(pairs >= 16);
    loader_close(l);
    dataset_close(d);
    remove_temp_dir(dir);
}

/* Validation: every sample once, in order; the rest of the last batch is zero. */
static void the_last_batch_is_padded(void **state)
{
    char *dir = make_images();
    struct dataset *d = open_folder(dir);
    struct loader_options o = {.transform = transform_for_evaluation(SIDE, 28),
                               .batch = 8,
                               .workers = 2,
                               .prefetch = 3};
    struct loader *l = loader_open(d, &o);
    const struct batch *b;
    int64_t pos = 0;

    (void)state;
    assert_int_equal(loader_batches(l), 5);
    loader_start_epoch(l, 0, 0);
    while ((b = loader_next(l))) {
        assert_int_equal(b->valid, b->number == 4 ? 5 : 8);
        for (int i = 0; i < 8; i++) {
            const uint8_t *p = b->pixel + i * SIDE * SIDE * 3;

            if (pos < IMAGES) {
                assert_int_equal(b->sample[i], pos);
                assert_int_equal(b->label[i], dataset_label(d, pos++));
                continue;
            }
            assert_int_equal(b->sample[i], -1);
            assert_int_equal(b->label[i], -1);
            for (int k = 0; k < SIDE * SIDE * 3; k++)
                assert_int_equal(p[k], 0);
        }
        loader_release_batch(l, b);
    }
    assert_int_equal(pos, IMAGES);
    assert_int_equal(loader_stats(l).samples, IMAGES);
    loader_close(l);
    dataset_close(d);
    remove_temp_dir(dir);
}

/* Stores for each position of an epoch the sample, or -1, and a hash of its pixels.
 * Returns their number. */
static int places_of(struct loader *l, int64_t *sample, uint64_t *pixels)
{
    const struct batch *b;
    int n = 0;

    loader_start_epoch(l, 3, 0);
    while ((b = loader_next(l))) {
        for (int i = 0; i < b->size; i++, n++) {
            sample[n] = b->sample[i];
            pixels[n] = XXH3_64bits(b->pixel + i * SIDE * SIDE * 3, SIDE * SIDE * 3);
        }
        loader_release_batch(l, b);
    }
    return n;
}

/* Two processes with batches of 4 see alternating samples of one process with batches of
 * 8. */
static void ranks_share_an_epoch(void **state)
{
    char *dir = make_images();
    struct dataset *d = open_folder(dir);
    struct loader_options o = training_options(1);
    int64_t sample[3][64];
    uint64_t pixels[3][64];

    (void)state;
    o.drop_last = false;
    for (int rank = -1; rank < 2; rank++) {
        struct loader *l;

        o.batch = rank < 0 ? 8 : 4;
        o.rank = rank < 0 ? 0 : rank;
        o.world = rank < 0 ? 1 : 2;
        l = loader_open(d, &o);
        assert_int_equal(loader_batches(l), 5);
        assert_int_equal(places_of(l, sample[rank + 1], pixels[rank + 1]), 5 * o.batch);
        loader_close(l);
    }
    for (int k = 0; k < 40; k++) {
        assert_int_equal(sample[0][k], sample[1 + k % 2][k / 2]);
        assert_true(pixels[0][k] == pixels[1 + k % 2][k / 2]);
    }
    dataset_close(d);
    remove_temp_dir(dir);
}

/* Abandoned epochs do not affect the next one. */
static void abandoned_epochs_leave_no_trace(void **state)
{
    char *dir = make_images();
    struct dataset *d = open_folder(dir);
    struct loader_options o = training_options(3);
    struct loader *l = loader_open(d, &o);
    uint64_t want[8], got[8];

    (void)state;
    run_epoch(l, 5, 0, want);
    for (unsigned i = 0; i < 150; i++) {
        loader_start_epoch(l, 6 + i, 0);
        usleep(i * 7 % 250);
        assert_int_equal(run_epoch(l, 5, i % 4, got), 4 - (int)(i % 4));
        assert_memory_equal(got, want + i % 4, (4 - i % 4) * sizeof(got[0]));
    }
    loader_close(l);
    dataset_close(d);
    remove_temp_dir(dir);
}

static int allocated;

static void *count_alloc(size_t size, void *arg)
{
    assert_ptr_equal(arg, &allocated);
    allocated++;
    return xmalloc(size);
}

static void count_free(void *p, void *arg)
{
    assert_ptr_equal(arg, &allocated);
    allocated--;
    free(p);
}

/* Closed while working, with batches ready, or before the start. */
static void closing_stops_at_once(void **state)
{
    char *dir = make_images();
    struct dataset *d = open_folder(dir);
    struct loader_options o = training_options(4);

    (void)state;
    o.alloc = count_alloc;
    o.free = count_free;
    o.arg = &allocated;
    for (int i = 0; i < 30; i++) {
        struct loader *l = loader_open(d, &o);

        assert_int_equal(allocated, 9); /* three slots: pixels, labels, and keys */
        if (i % 3 > 0)
            loader_start_epoch(l, 0, 0);
        if (i % 3 > 1)
            assert_non_null(loader_next(l));
        if (i % 2)
            usleep(300);
        loader_close(l);
        assert_int_equal(allocated, 0);
    }
    loader_close(NULL);
    dataset_close(d);
    remove_temp_dir(dir);
}

static atomic_int seen; /* finished samples */

static void count_sight(const struct loader_event *s, void *arg)
{
    (void)s;
    (void)arg;
    atomic_fetch_add(&seen, 1);
}

/* Measures the consumer's wait with a clock that advances by a second when a thread that
 * makes samples reads it. */
static void waiting_is_measured(void **state)
{
    char *dir = make_images();
    struct dataset *d = open_folder(dir);
    struct loader_options o = training_options(0);
    struct loader *l;
    double waited;
    uint64_t hash[8];

    (void)state;
    consumer = pthread_self();
    o.observe = count_sight;
    l = loader_open(d, &o);
    atomic_store(&looks, LOOKS_OF_ALL); /* the consumer makes samples itself */
    run_epoch(l, 0, 0, hash);
    waited = loader_stats(l).wait_seconds;
    assert_true(waited >= 4 * (1 + 2 * 8) && waited < 4 * 8 * 20);
    loader_close(l);

    atomic_store(&looks, LOOKS_OF_OTHERS);
    atomic_store(&seen, 0);
    o.workers = 1;
    l = loader_open(d, &o);
    loader_start_epoch(l, 1, 2); /* two batches, two slots */
    while (atomic_load(&seen) < 2 * 8)
        usleep(100);
    for (int i = 0; i < 2; i++)
        loader_release_batch(l, loader_next(l));
    assert_true(loader_stats(l).wait_seconds == 0);
    loader_close(l);
    atomic_store(&looks, LOOKS_REAL);
    dataset_close(d);
    remove_temp_dir(dir);
}

/* Stages add up to the threads' work; cached images are neither read nor decoded. */
static void stages_are_measured(void **state)
{
    char *dir = make_images();
    struct dataset *d = open_folder(dir);
    uint64_t hash[8];

    (void)state;
    for (int workers = 0; workers < 3; workers += 2) {
        struct loader_options o = training_options(workers);
        struct stage_times first, second;
        struct loader *l;
        double start;

        o.cache_bytes = 1 << 24;
        o.drop_last = false;
        l = loader_open(d, &o);
        start = clock_now();
        run_epoch(l, 0, 0, hash);
        first = loader_stats(l).stages;
        for (int i = 0; i < STAGE_COPY; i++)
            assert_true(first.seconds[i] > 0);
        assert_true(first.seconds[STAGE_COPY] == 0); /* set by the caller */
        loader_add_copy(l, 0.5);
        assert_true(loader_stats(l).stages.seconds[STAGE_COPY] == 0.5);
        assert_true(stage_times_sum(&first) <=
                    8 * (clock_now() - start) * (workers ? workers : 1));
        run_epoch(l, 1, 0, hash);
        second = loader_stats(l).stages;
        assert_true(second.seconds[STAGE_READ] == first.seconds[STAGE_READ]);
        assert_true(second.seconds[STAGE_DECODE] == first.seconds[STAGE_DECODE]);
        assert_true(second.seconds[STAGE_RESIZE] > first.seconds[STAGE_RESIZE]);
        loader_close(l);
    }
    dataset_close(d);
    remove_temp_dir(dir);
}

/* Returns the number of resident pages of this process. */
static long resident(void)
{
    long all = 0, pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    assert_non_null(f);
    assert_int_equal(fscanf(f, "%ld %ld", &all, &pages), 2);
    fclose(f);
    return pages;
}

/* Starts after the first epochs, in which buffers grow. */
static void memory_does_not_grow(void **state)
{
    char *dir;
    struct dataset *d;
    struct loader_options o = training_options(2);
    struct loader *l;
    uint64_t hash[8];
    long before = 0, after;

    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* sanitizers delay free() */
#endif
    dir = make_images();
    d = open_folder(dir);
    l = loader_open(d, &o);
    for (uint64_t epoch = 0; epoch < 30; epoch++) {
        run_epoch(l, epoch, 0, hash);
        before = epoch == 9 ? resident() : before;
    }
    after = resident();
    if (!((double)after <= 1.02 * (double)before))
        fail_msg("%ld pages after 10 epochs, %ld after 30", before, after);
    loader_close(l);
    dataset_close(d);
    remove_temp_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_do_not_depend_on_workers),
        cmocka_unit_test(an_epoch_resumes_in_the_middle),
        cmocka_unit_test(copies_look_different),
        cmocka_unit_test(the_last_batch_is_padded),
        cmocka_unit_test(ranks_share_an_epoch),
        cmocka_unit_test(abandoned_epochs_leave_no_trace),
        cmocka_unit_test(closing_stops_at_once),
        cmocka_unit_test(waiting_is_measured),
        cmocka_unit_test(stages_are_measured),
        cmocka_unit_test(memory_does_not_grow),
    };

    return cmocka_run_group_tests_name("loader", tests, NULL, NULL);
}
