/* The loader: the same batches whatever the workers, resume, damage, the cache, shutdown.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "child.h"
#include "dataset/loader.h"
#include "make_folder.h"

enum { N = 37, SIDE = 24 };

/* 37 pictures of three classes and several sizes. */
static char *make_data(void)
{
    char *dir = make_temp_dir();

    for (int i = 0; i < N; i++) {
        char *name = xasprintf("class%d/%02d.jpg", i % 3, i);

        make_picture(dir, name, 30 + i % 5 * 12, 26 + i % 4 * 14, i);
        free(name);
    }
    return dir;
}

static struct loader_options training(int workers)
{
    struct loader_options o = {.transform = transform_for_training(SIDE),
                               .batch = 8,
                               .workers = workers,
                               .prefetch = 2,
                               .seed = 11,
                               .shuffle = true,
                               .drop_last = true,
                               .max_bad_share = 0.5};

    o.transform.jitter[0] = o.transform.jitter[1] = o.transform.jitter[2] = 0.4;
    return o;
}

static uint64_t mix_bytes(uint64_t h, const void *data, size_t len)
{
    const uint8_t *p = data;

    for (size_t i = 0; i < len; i++)
        h = (h ^ p[i]) * 1099511628211u;
    return h;
}

static uint64_t hash_batch(const struct batch *b)
{
    size_t n = (size_t)b->size;
    uint64_t h = mix_bytes(14695981039346656037u, b->pixel, n * SIDE * SIDE * 3);

    h = mix_bytes(h, b->label, n * sizeof(*b->label));
    return mix_bytes(h, b->sample, n * sizeof(*b->sample));
}

/* Hashes of an epoch's batches from `first` on, in order; returns how many. */
static int run_epoch(struct loader *l, uint64_t epoch, int64_t first, uint64_t *hash)
{
    const struct batch *b;
    int n = 0;

    loader_start_epoch(l, epoch, first);
    while ((b = loader_next(l))) {
        assert_int_equal(b->number, first + n);
        assert_int_equal(b->epoch, epoch);
        hash[n++] = hash_batch(b);
        loader_release_batch(l, b);
    }
    assert_null(loader_next(l));
    return n;
}

static void batches_do_not_depend_on_workers(void **state)
{
    char *dir = make_data();
    struct dataset *d = folder_open(dir);
    uint64_t want[3][8], got[8];

    (void)state;
    for (int workers = 0; workers <= 4; workers += workers + 1) { /* 0, 1, 3 */
        struct loader_options o = training(workers);
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
    char *dir = make_data();
    struct dataset *d = folder_open(dir);
    struct loader_options o = training(2);
    struct loader *l = loader_open(d, &o);
    uint64_t want[8], got[8];

    (void)state;
    run_epoch(l, 5, 0, want);
    loader_start_epoch(l, 9, 0); /* abandoned at once, */
    loader_start_epoch(l, 4, 1); /* after one batch, */
    loader_release_batch(l, loader_next(l));
    for (int64_t first = 0; first <= 4; first++) {
        assert_int_equal(run_epoch(l, 5, first, got), 4 - first);
        assert_memory_equal(got, want + first, (size_t)(4 - first) * sizeof(got[0]));
    }
    loader_start_epoch(l, 5, 0); /* and with a batch still held */
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

/* Validation: every sample once, in order, the rest of the last batch empty. */
static void the_last_batch_is_padded(void **state)
{
    char *dir = make_data();
    struct dataset *d = folder_open(dir);
    struct loader_options o = {.transform = transform_for_evaluation(SIDE, 28),
                               .batch = 8,
                               .workers = 2,
                               .prefetch = 3};
    struct loader *l = loader_open(d, &o);
    const struct batch *b;
    int64_t at = 0;

    (void)state;
    assert_int_equal(loader_batches(l), 5);
    loader_start_epoch(l, 0, 0);
    while ((b = loader_next(l))) {
        assert_int_equal(b->valid, b->number == 4 ? 5 : 8);
        for (int i = 0; i < 8; i++) {
            const uint8_t *p = b->pixel + i * SIDE * SIDE * 3;

            if (at < N) {
                assert_int_equal(b->sample[i], at);
                assert_int_equal(b->label[i], dataset_label(d, at++));
                continue;
            }
            assert_int_equal(b->sample[i], -1);
            assert_int_equal(b->label[i], -1);
            for (int k = 0; k < SIDE * SIDE * 3; k++)
                assert_int_equal(p[k], 0);
        }
        loader_release_batch(l, b);
    }
    assert_int_equal(at, N);
    assert_int_equal(loader_stats(l).samples, N);
    loader_close(l);
    dataset_close(d);
    remove_temp_dir(dir);
}

/* Two ranks see together what one sees alone, batch by batch. */
static void ranks_share_an_epoch(void **state)
{
    char *dir = make_data();
    struct dataset *d = folder_open(dir);
    struct loader_options o = training(1);
    uint64_t one[8], two[2][8];

    (void)state;
    o.drop_last = false;
    for (int rank = -1; rank < 2; rank++) {
        struct loader *l;

        o.rank = rank < 0 ? 0 : rank;
        o.world = rank < 0 ? 1 : 2;
        l = loader_open(d, &o);
        assert_int_equal(run_epoch(l, 3, 0, rank < 0 ? one : two[rank]),
                         rank < 0 ? 5 : 3);
        loader_close(l);
    }
    for (int k = 0; k < 5; k++)
        assert_true(one[k] == two[k % 2][k / 2]);
    dataset_close(d);
    remove_temp_dir(dir);
}

static void damage(const char *dir)
{
    make_file(dir, "class0/00.jpg", "", 0);
    make_file(dir, "class0/03.jpg", "this is a text", 14);
}

static void damaged_files_are_left_out(void **state)
{
    char *dir = make_data();
    struct dataset *d;
    uint64_t want[8], got[8];

    (void)state;
    damage(dir);
    d = folder_open(dir);
    for (int workers = 0; workers < 3; workers += 2) {
        struct loader_options o = training(workers);
        struct loader *l;
        const struct batch *b;
        int bad = 0;

        o.drop_last = false;
        l = loader_open(d, &o);
        run_epoch(l, 0, 0, got);
        if (workers == 0)
            memcpy(want, got, sizeof(got));
        assert_memory_equal(want, got, 5 * sizeof(got[0]));
        loader_start_epoch(l, 1, 0);
        while ((b = loader_next(l))) {
            int labelled = 0;

            for (int i = 0; i < b->size; i++) {
                bad += b->sample[i] >= 0 && b->label[i] < 0;
                labelled += b->label[i] >= 0;
                if (b->label[i] < 0)
                    assert_int_equal(b->pixel[i * SIDE * SIDE * 3 + 77], 0);
            }
            assert_int_equal(b->valid, labelled);
            loader_release_batch(l, b);
        }
        assert_int_equal(bad, 2);
        assert_int_equal(loader_stats(l).bad_files, 2); /* each counted once */
        assert_int_equal(loader_stats(l).samples, 2 * N);
        loader_close(l);
    }
    dataset_close(d);
    remove_temp_dir(dir);
}

struct child_epoch {
    const char *dir;
    struct loader_options options;
};

static void run_child_epoch(void *arg)
{
    const struct child_epoch *e = arg;
    struct dataset *d = folder_open(e->dir);
    struct loader *l = loader_open(d, &e->options);
    uint64_t hash[8];

    run_epoch(l, 0, 0, hash);
    loader_close(l);
    dataset_close(d);
}

/* Runs one epoch in a child; what it says on stderr, and its exit code. */
static char *child_epoch(const char *dir, const struct loader_options *o, int *code)
{
    return child_run(run_child_epoch, &(struct child_epoch){dir, *o}, code);
}

/* Whatever thread finds what first: messages come in the order of the batches. */
static void damage_is_told_in_order(void **state)
{
    char *dir = make_data(), *want = NULL;
    struct loader_options o = training(0);

    (void)state;
    for (int i = 0; i < N; i += 2) {
        char *name = xasprintf("class%d/%02d.jpg", i % 3, i);

        make_file(dir, name, "GIF89a", i % 4 ? 2 : 6); /* one costs more time */
        free(name);
    }
    o.max_bad_share = 0.3;
    for (int i = 0; i < 12; i++) {
        int code;
        char *text;

        o.workers = i;
        text = child_epoch(dir, &o, &code);
        assert_int_equal(code, 1);
        if (i == 0)
            want = text;
        assert_string_equal(text, want);
        if (i > 0)
            free(text);
    }
    free(want);
    remove_temp_dir(dir);
}

/* Epochs abandoned at any time leave no trace in the next one. */
static void abandoned_epochs_leave_no_trace(void **state)
{
    char *dir = make_data();
    struct dataset *d = folder_open(dir);
    struct loader_options o = training(3);
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

static void too_much_damage_ends_the_run(void **state)
{
    char *dir = make_data(), *text;
    struct loader_options o = training(2);
    int code;

    (void)state;
    damage(dir);
    o.drop_last = false;
    o.max_bad_share = 2.0 / N;
    text = child_epoch(dir, &o, &code);
    assert_int_equal(code, 0);
    assert_non_null(strstr(text, "class0/00.jpg', left out: the file is empty"));
    assert_non_null(strstr(text, "class0/03.jpg', left out: not a picture"));
    free(text);
    o.max_bad_share = 1.0 / N;
    text = child_epoch(dir, &o, &code);
    assert_int_equal(code, 1);
    assert_non_null(
        strstr(text, "2 of 37 files are damaged, more than the share of 0.027027"));
    free(text);
    o.max_bad_share = 1;
    o.on_error = LOADER_FAIL;
    text = child_epoch(dir, &o, &code);
    assert_int_equal(code, 1);
    assert_non_null(strstr(text, "cannot decode '"));
    assert_null(strstr(text, "left out"));
    free(text);
    remove_temp_dir(dir);
}

static void the_cache_changes_nothing(void **state)
{
    char *dir = make_data();
    struct dataset *d;
    uint64_t want[2][8], got[8];

    (void)state;
    damage(dir);
    d = folder_open(dir);
    /* some pictures may be shrunken, so not cached; no cache, one for some of the
     * pictures, one for all */
    for (int64_t bytes = 0; bytes <= 1 << 20;
         bytes += bytes ? (1 << 20) - bytes : 50000) {
        struct loader_options o = training(2);
        struct loader *l;

        o.cache_bytes = bytes;
        o.transform.shrink_gap = 1;
        l = loader_open(d, &o);
        for (uint64_t e = 0; e < 4; e++) {
            run_epoch(l, e % 2, 0, got);
            if (bytes == 0)
                memcpy(want[e % 2], got, sizeof(got));
            assert_memory_equal(got, want[e % 2], 4 * sizeof(got[0]));
        }
        assert_true(loader_stats(l).cached_bytes <= bytes);
        assert_true(bytes == 0 || loader_stats(l).cached_bytes > 40000);
        loader_close(l);
        if (bytes == 1 << 20)
            break;
    }
    dataset_close(d);
    remove_temp_dir(dir);
}

static void a_full_cache_needs_no_files(void **state)
{
    char *dir = make_data();
    struct dataset *d = folder_open(dir);
    struct loader_options o = training(1);
    struct loader *l;
    uint64_t want[8], got[8];

    (void)state;
    o.drop_last = false;
    o.cache_bytes = 1 << 20;
    o.transform.shrink_gap = 0; /* else the largest pictures stay out */
    l = loader_open(d, &o);
    run_epoch(l, 0, 0, want);
    remove_temp_dir(dir);
    run_epoch(l, 0, 0, got);
    assert_memory_equal(got, want, 5 * sizeof(got[0]));
    assert_int_equal(loader_stats(l).bad_files, 0);
    loader_close(l);
    dataset_close(d);
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

/* Closed with work under way, with batches ready, or never started. */
static void closing_stops_at_once(void **state)
{
    char *dir = make_data();
    struct dataset *d = folder_open(dir);
    struct loader_options o = training(4);

    (void)state;
    o.alloc = count_alloc;
    o.free = count_free;
    o.arg = &allocated;
    for (int i = 0; i < 30; i++) {
        struct loader *l = loader_open(d, &o);

        assert_int_equal(allocated, 6); /* three slots: pixels and labels */
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

/* The consumer's wait is measured. */
static void waiting_is_measured(void **state)
{
    char *dir = make_data();
    struct dataset *d = folder_open(dir);
    struct loader_options o = training(1);
    struct loader *l = loader_open(d, &o);
    uint64_t hash[8];
    double first;

    (void)state;
    run_epoch(l, 0, 0, hash);
    first = loader_stats(l).wait_seconds;
    assert_true(first > 0 && first < 60);
    loader_start_epoch(l, 1, 2); /* two batches, two slots: ready in a while */
    usleep(200000);
    for (int i = 0; i < 2; i++)
        loader_release_batch(l, loader_next(l));
    assert_true(loader_stats(l).wait_seconds - first < 0.1);
    loader_close(l);
    dataset_close(d);
    remove_temp_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_do_not_depend_on_workers),
        cmocka_unit_test(an_epoch_resumes_in_the_middle),
        cmocka_unit_test(the_last_batch_is_padded),
        cmocka_unit_test(ranks_share_an_epoch),
        cmocka_unit_test(damaged_files_are_left_out),
        cmocka_unit_test(damage_is_told_in_order),
        cmocka_unit_test(abandoned_epochs_leave_no_trace),
        cmocka_unit_test(too_much_damage_ends_the_run),
        cmocka_unit_test(the_cache_changes_nothing),
        cmocka_unit_test(a_full_cache_needs_no_files),
        cmocka_unit_test(closing_stops_at_once),
        cmocka_unit_test(waiting_is_measured),
    };

    return cmocka_run_group_tests_name("loader", tests, NULL, NULL);
}
