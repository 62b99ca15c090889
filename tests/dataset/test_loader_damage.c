/* Unreadable files: skipped or replaced, reported in an order that does not depend on the
 * workers, and too many of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/failure.h"
#include "base/file.h"
#include "base/mapped_fault.h"
#include "dataset/sampler.h"
#include "tests/child.h"
#include "tests/dataset/loader_run.h"
#include "tests/dataset/open_storage.h"
#include "tests/image/make_jpeg.h"
#include "tests/make_folder.h"
#include "tests/pack/pack_dir.h"
#include "tests/test.h"

/* Runs an epoch with two damaged images, which must not depend on the number of workers
 * (0 or 2), then calls `check` in a second epoch. */
static void with_damage(bool replace,
                        void (*check)(const struct dataset *d,
                                      const struct loader_options *o, struct loader *l))
{
    char *dir = make_images();
    struct dataset *d;
    uint64_t want[8], got[8];

    damage_images(dir);
    d = open_folder(dir);
    for (int workers = 0; workers < 3; workers += 2) {
        struct loader_options o = training_options(workers);
        struct loader *l;

        o.replace = replace;
        o.drop_last = false;
        l = loader_open(d, &o);
        run_epoch(l, 0, 0, got);
        if (workers == 0)
            memcpy(want, got, sizeof(got));
        assert_memory_equal(want, got, 5 * sizeof(got[0]));
        loader_start_epoch(l, 1, 0);
        check(d, &o, l);
        assert_int_equal(loader_stats(l).bad_files, 2); /* each counted once */
        loader_close(l);
    }
    dataset_close(d);
    remove_temp_dir(dir);
}

static void check_left_out(const struct dataset *d, const struct loader_options *o,
                           struct loader *l)
{
    const struct batch *b;
    int bad = 0;

    (void)d, (void)o;
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
    assert_int_equal(loader_stats(l).samples, 2 * IMAGES);
}

static void damaged_files_are_left_out(void **state)
{
    (void)state;
    with_damage(false, check_left_out);
}

static void check_replaced(const struct dataset *d, const struct loader_options *o,
                           struct loader *l)
{
    struct sampler order = {
        .seed = o->seed, .epoch = 1, .n = d->n, .shuffle = o->shuffle};
    const struct batch *b;
    int replaced = 0;

    while ((b = loader_next(l))) {
        for (int i = 0; i < b->size; i++) {
            int64_t pos = b->number * b->size + i, k = 0;

            if (pos >= d->n) {
                assert_int_equal(b->sample[i], -1);
                continue;
            }
            while (sampler_index(&order, (pos + k) % d->n) <
                   2) /* positions of the damaged
                                                             * samples */
                k++;
            replaced += k > 0;
            assert_int_equal(b->sample[i], sampler_index(&order, (pos + k) % d->n));
            assert_int_equal(b->label[i], dataset_label(d, b->sample[i]));
        }
        loader_release_batch(l, b);
    }
    assert_int_equal(replaced, 2);
}

/* In training, the next intact sample of the epoch replaces a damaged one. */
static void damaged_files_are_replaced(void **state)
{
    (void)state;
    with_damage(true, check_replaced);
}

/* The next intact sample replaces three consecutive damaged ones. */
static void many_are_replaced(void **state)
{
    char *dir = make_images();
    struct loader_options o = training_options(0);
    struct dataset *d;
    struct loader *l;
    const struct batch *b;

    (void)state;
    damage_images(dir);
    make_file(dir, "class0/06.jpg", "", 0);
    o.shuffle = false;
    o.replace = true;
    d = open_folder(dir);
    l = loader_open(d, &o);
    loader_start_epoch(l, 0, 0);
    b = loader_next(l);
    assert_non_null(b);
    for (int i = 0; i < b->size; i++)
        assert_int_equal(b->sample[i], i < 3 ? 3 : i);
    loader_release_batch(l, b);
    loader_close(l);
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
    struct dataset *d = open_folder(e->dir);
    struct loader *l = loader_open(d, &e->options);
    uint64_t hash[8];

    run_epoch(l, 0, 0, hash);
    if (loader_failure(l)) {
        loader_start_epoch(l, 1, 0); /* no further epoch has batches */
        assert_null(loader_next(l));
        die("%s", loader_failure(l));
    }
    loader_close(l);
    dataset_close(d);
}

/* Runs one epoch in a child process. Returns its stderr, and its exit code in *code. */
static char *child_epoch(const char *dir, const struct loader_options *o, int *code)
{
    return child_run(run_child_epoch, &(struct child_epoch){dir, *o}, code);
}

/* Messages are in the order of batches, no matter which thread is first. */
static void damage_is_told_in_order(void **state)
{
    char *dir = make_images(), *want = NULL;
    struct loader_options o = training_options(0);

    (void)state;
    for (int i = 0; i < IMAGES; i += 2) {
        char *name = xasprintf("class%d/%02d.jpg", i % 3, i);

        make_file(dir, name, "GIF89a", i % 4 ? 2 : 6); /* one of them takes longer */
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

/* Each damaged file is reported once with its own reason, even if it was tried as a
 * replacement. */
static void replaced_files_are_told_the_same(void **state)
{
    char *dir = make_images(), *text[2];
    struct loader_options o = training_options(0);
    int code;

    (void)state;
    for (int i = 0; i < IMAGES - 2; i++) {
        char *name = xasprintf("class%d/%02d.jpg", i % 3, i);

        make_file(dir, name, "GIF89a", i % 2 ? 2 : 6);
        free(name);
    }
    o.max_bad_share = 1;
    for (int replace = 0; replace < 2; replace++) {
        o.replace = replace;
        text[replace] = child_epoch(dir, &o, &code);
        assert_int_equal(code, 0);
    }
    assert_non_null(strstr(text[0], ".jpg"));
    assert_string_equal(text[0], text[1]);
    free(text[0]);
    free(text[1]);
    remove_temp_dir(dir);
}

static int failures_left; /* of reading sample 5 */
static int (*real_read)(const struct dataset *d, int64_t i, int64_t limit,
                        struct dataset_bytes *out, struct strbuf *why);

static int flaky_read(const struct dataset *d, int64_t i, int64_t limit,
                      struct dataset_bytes *out, struct strbuf *why)
{
    if (i != 5 || !failures_left)
        return real_read(d, i, limit, out, why);
    failures_left--;
    strbuf_addstr(why, "cannot be read: Stale file handle");
    return FAILURE_MACHINE;
}

/* A temporary failure changes nothing; a persistent one ends the run. Neither counts as a
 * damaged file. */
static void failures_of_the_machine(void **state)
{
    char *dir = make_images();
    struct dataset *d = open_folder(dir);
    struct dataset_type type = *d->type;
    uint64_t want[8], got[8];

    (void)state;
    real_read = type.read;
    type.read = flaky_read;
    d->type = &type;
    for (int k = 0; k < 3; k++) {
        struct loader_options o = training_options(0);
        struct loader *l;
        int n;

        o.retry_seconds = 1e-4;
        o.replace = true;
        o.max_bad_share = 1;
        l = loader_open(d, &o);
        failures_left = k == 0 ? 0 : k == 1 ? 4 : 5;
        n = run_epoch(l, 0, 0, k ? got : want);
        assert_int_equal(failures_left, 0);
        assert_int_equal(loader_stats(l).bad_files, 0);
        if (k < 2)
            assert_null(loader_failure(l));
        if (k == 1)
            assert_memory_equal(want, got, (size_t)n * sizeof(*got));
        if (k == 2) {
            assert_non_null(loader_failure(l));
            assert_non_null(
                strstr(loader_failure(l), "Stale file handle (tried 5 times"));
        }
        loader_close(l);
    }
    dataset_close(d);
    remove_temp_dir(dir);
}

static void open_too_many(void *arg)
{
    struct dataset *d = open_folder(arg);
    struct dataset_bytes bytes = {0};
    struct strbuf why = STRBUF_INIT;
    struct rlimit none = {0, 0};
    int rc;

    (void)setrlimit(RLIMIT_NOFILE, &none);
    rc = dataset_read(d, 0, 1 << 20, &bytes, &why);
    die("%d %s", rc, why.buf);
}

static void no_descriptors(void **state)
{
    char *dir = make_images(), *text;
    int code;

    (void)state;
    text = child_run(open_too_many, dir, &code);
    assert_non_null(strstr(text, "-2 cannot be opened: Too many open files"));
    free(text);
    remove_temp_dir(dir);
}

static void too_much_damage_ends_the_run(void **state)
{
    char *dir = make_images(), *text;
    struct loader_options o = training_options(2);
    int code;

    (void)state;
    damage_images(dir);
    o.drop_last = false;
    o.max_bad_share = 2.0 / IMAGES;
    text = child_epoch(dir, &o, &code);
    assert_int_equal(code, 0);
    assert_non_null(strstr(text, "class0/00.jpg': cannot decode it: the file is empty"));
    assert_non_null(
        strstr(text, "class0/03.jpg': cannot decode it: no image of a known format"));
    free(text);
    o.max_bad_share = 1.0 / IMAGES;
    text = child_epoch(dir, &o, &code);
    assert_int_equal(code, 1);
    assert_non_null(
        strstr(text, "2 of 37 files are damaged, more than the share of 0.027027"));
    free(text);
    o.few_bad = 2;
    text = child_epoch(dir, &o, &code);
    assert_int_equal(code, 0);
    free(text);
    o.max_bad_share = 0;
    text = child_epoch(dir, &o, &code);
    assert_int_equal(code, 1);
    free(text);
    o.few_bad = 0;
    o.max_bad_share = 1;
    o.on_error = LOADER_FAIL;
    text = child_epoch(dir, &o, &code);
    assert_int_equal(code, 1);
    assert_non_null(strstr(text, "cannot decode '"));
    assert_null(strstr(text, "skipping"));
    free(text);
    remove_temp_dir(dir);
}

/* A loader fails at the same batch with any number of workers; earlier batches are
 * complete. */
static void a_failed_loader_is_closed(void **state)
{
    char *dir = make_images(), *reason[2];
    uint64_t hash[2][8];
    int n[2];

    (void)state;
    damage_images(dir);
    for (int k = 0; k < 2; k++) {
        struct loader_options o = training_options(3 * k);
        struct dataset *d = open_folder(dir);
        struct loader *l;

        o.max_bad_share = 1.0 / IMAGES;
        o.drop_last = false;
        l = loader_open(d, &o);
        assert_null(loader_failure(l));
        n[k] = run_epoch(l, 0, 0, hash[k]);
        assert_true(n[k] < loader_batches(l));
        assert_int_equal(loader_stats(l).samples, n[k] * o.batch);
        reason[k] = xstrdup(loader_failure(l));
        loader_close(l);
        dataset_close(d);
    }
    assert_int_equal(n[0], n[1]);
    assert_memory_equal(hash[0], hash[1], (size_t)n[0] * sizeof(hash[0][0]));
    assert_string_equal(reason[0], reason[1]);
    free(reason[0]);
    free(reason[1]);
    remove_temp_dir(dir);
}

/* A thread of the loader reads a truncated mapped file. */
static void read_what_is_cut(void *arg)
{
    struct dataset_source s = pack_source(arg, false);
    struct dataset *d = dataset_open("decoded", &s);
    struct loader_options o = training_options(1);
    struct loader *l = loader_open(d, &o);
    char *path = path_join(arg, "train.decoded");
    uint64_t hash[8];

    mapped_fault_install();
    if (truncate(path, 1000) < 0)
        _exit(99);
    run_epoch(l, 0, 0, hash);
}

static void a_mapped_file_is_named(void **state)
{
    char *src = make_classes(), *dir = make_temp_dir();
    struct dataset *d = open_folder(src);

    (void)state;
    (void)pack_to("decoded", d, dir, 0, NULL);
    dataset_close(d);
    check_leaves(read_what_is_cut, dir, 1, "train.decoded', which is mapped into memory");
    remove_temp_dir(src);
    remove_temp_dir(dir);
}

/* A JPEG whose scan ends early with an end marker: used like any other sample, reported,
 * and counted once. */
static void what_is_decoded_in_spite_of_damage_is_counted(void **state)
{
    char *dir = make_images();
    struct loader_options o = training_options(2);
    struct dataset *d;
    struct loader *l;
    const struct batch *b;
    struct make_jpeg m = {.w = 60, .h = 50};
    char *path = path_join(dir, "class0/00.jpg");
    size_t len;
    uint8_t *data = make_jpeg(&m, &len);
    FILE *file = fopen(path, "wb");

    (void)state;
    for (size_t i = 0; i + 30 < len; i++)
        if (data[i] == 0xff && data[i + 1] == 0xda)
            memcpy(data + i + 28, "\xff\xd9", 2);
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
    o.drop_last = false;
    d = open_folder(dir);
    l = loader_open(d, &o);
    for (uint64_t epoch = 0; epoch < 2; epoch++) {
        loader_start_epoch(l, epoch, 0);
        while ((b = loader_next(l)))
            loader_release_batch(l, b);
        assert_null(loader_failure(l));
        assert_int_equal(loader_stats(l).warned_files, 1);
        assert_int_equal(loader_stats(l).bad_files, 0);
    }
    loader_close(l);
    dataset_close(d);
    free(data);
    free(path);
    remove_temp_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_decoded_in_spite_of_damage_is_counted),
        cmocka_unit_test(damaged_files_are_left_out),
        cmocka_unit_test(damaged_files_are_replaced),
        cmocka_unit_test(many_are_replaced),
        cmocka_unit_test(replaced_files_are_told_the_same),
        cmocka_unit_test(damage_is_told_in_order),
        cmocka_unit_test(a_failed_loader_is_closed),
        cmocka_unit_test(failures_of_the_machine),
        cmocka_unit_test(no_descriptors),
        cmocka_unit_test(too_much_damage_ends_the_run),
        cmocka_unit_test(a_mapped_file_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
