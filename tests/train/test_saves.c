/* The checkpoints of a run: which are kept, which one is resumed, and a full disk. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/file.h"
#include "base/log.h"
#include "graph/flat.h"
#include "session/state.h"
#include "tests/child.h"
#include "tests/test.h"
#include "tests/train/checkpoint_run.h"
#include "train/saves.h"

static int full; /* number of the next fsync() calls that find the disk full */

int fsync(int fd)
{
    (void)fd;
    errno = ENOSPC;
    return full && full-- ? -1 : 0;
}

static int count_files(const char *start)
{
    int n, found = 0;
    char **name = dir_list(ckpt_dir, &n);

    for (int i = 0; i < n; i++)
        found += !strncmp(name[i], start, strlen(start));
    dir_list_free(name, n);
    return found;
}

static bool same_file(const char *a, const char *b)
{
    char *x = path_join(ckpt_dir, a), *y = path_join(ckpt_dir, b);
    struct stat s, t;
    bool same = !stat(x, &s) && !stat(y, &t) && s.st_ino == t.st_ino;

    free(x);
    free(y);
    return same;
}

/* Saves and waits. Returns -1 if a file was not written. */
static int save_now(const struct saves *saves, const struct session *s,
                    const struct run_state *state, bool epoch_end, bool best)
{
    struct run_state before = *state;
    struct saves v = *saves;
    struct saves_end end;

    before.best_score = (double)NAN;
    saves_start(&v, s, state, best ? &before : NULL, epoch_end);
    end = saves_wait(&v);
    assert_true(end.any);
    assert_false(saves_wait(&v).any);
    if (!end.failed && !end.diverged)
        saves_rotate(&v);
    saves_release(&v);
    assert_null(end.diverged);
    return end.failed || end.best_lost ? -1 : 0;
}

static void resume_or_die(void *arg)
{
    const struct saves v = {
        .dir = ckpt_dir, .classes = &ckpt_classes, .config = "", .keep = 2};
    struct run_state got;

    (void)saves_resume(&v, &((struct run *)arg)->s, &got);
}

/* A damaged file is named when it is skipped, not each time the folder is read. */
static void look_and_save(void *arg)
{
    const struct saves v = {
        .dir = ckpt_dir, .classes = &ckpt_classes, .config = "", .keep = 2};
    struct run *r = arg;

    log_level_set(LOG_WARNING);
    (void)saves_exist(ckpt_dir);
    (void)save_now(&v, &r->s, &ckpt_state, true, false);
}

static void test_saves(void **state)
{
    const struct saves v = {
        .dir = ckpt_dir, .classes = &ckpt_classes, .config = "SEED: 0\n", .keep = 2};
    struct run_state s = ckpt_state, got;
    char *said;
    int code;
    struct run a, b;

    (void)state;
    run_init(&a, NULL);
    run_init(&b, NULL);
    assert_false(saves_resume(&v, &a.s, &got));
    for (s.epoch = 1; s.epoch <= 4; s.epoch++) {
        run_steps(&a, 1);
        assert_int_equal(save_now(&v, &a.s, &s, true, s.epoch == 1), 0);
    }
    assert_int_equal(count_files("ckpt_"), 2);
    assert_true(same_file("last.safetensors", "ckpt_epoch_3.safetensors"));
    assert_false(same_file("best.safetensors", "ckpt_epoch_2.safetensors"));
    assert_int_equal(count_files("best"), 1); /* kept after its numbered name is
                                               * deleted */
    run_steps(&a, 1);
    s.epoch = 4;
    assert_int_equal(save_now(&v, &a.s, &s, false, false), 0);
    assert_true(same_file("last.safetensors", "ckpt_step_5.safetensors"));
    assert_int_equal(count_files("ckpt_"), 2);

    assert_true(saves_resume(&v, &b.s, &got));
    ckpt_same_array(&a, &b, MEMORY_WEIGHTS);
    assert_int_equal(session_control(&b.s).step, 5);

    /* The newest is damaged (under both names): the previous one is used. */
    char *newest = path_join(ckpt_dir, "last.safetensors");

    ckpt_damage(newest, 500000);
    free(newest);
    assert_true(saves_resume(&v, &b.s, &got));
    assert_int_equal(session_control(&b.s).step, 4);
    assert_true(same_file("last.safetensors", "ckpt_epoch_3.safetensors"));
    for (int i = 0; i < 2; i++) {
        char *file =
            path_join(ckpt_dir, i ? "best.safetensors" : "ckpt_epoch_3.safetensors");

        ckpt_damage(file, 500000);
        free(file);
    }
    check_dies(resume_or_die, &b, "cannot load any of the");

    char *torn = path_join(ckpt_dir, "ckpt_step_5.safetensors");

    assert_int_equal(atomic_write_file(torn, "torn", 4), 0);
    free(torn);
    said = child_run(look_and_save, &b, &code);
    assert_int_equal(code, 0);
    assert_null(strstr(said, "passed over"));
    free(said);
    run_release(&a);
    run_release(&b);
}

/* The newly written file is kept, even if the folder has `keep` files of later steps. */
static void test_older(void **state)
{
    const struct saves v = {
        .dir = ckpt_dir, .classes = &ckpt_classes, .config = "SEED: 0\n", .keep = 1};
    struct run_state s = ckpt_state;
    struct control c;
    struct run a;

    (void)state;
    run_init(&a, NULL);
    run_steps(&a, 2);
    s.epoch = 2;
    assert_int_equal(save_now(&v, &a.s, &s, false, false), 0);
    c = session_control(&a.s);
    c.step = c.updates = 1;
    session_set_control(&a.s, &c);
    s.epoch = 1;
    assert_int_equal(save_now(&v, &a.s, &s, false, false), 0);
    assert_true(same_file("last.safetensors", "ckpt_step_1.safetensors"));
    run_release(&a);
}

/* A new file that does not fit on the disk does not appear; the old ones are kept, and
 * the caller gets an error. */
static void test_disk_full(void **state)
{
    const struct saves v = {
        .dir = ckpt_dir, .classes = &ckpt_classes, .config = "SEED: 0\n", .keep = 2};
    struct run_state s = ckpt_state, got;
    struct rlimit limit, small;
    struct run a;

    (void)state;
    run_init(&a, NULL);
    run_steps(&a, 1);
    s.epoch = 1;
    assert_int_equal(save_now(&v, &a.s, &s, true, true), 0);
    assert_true(same_file("best.safetensors", "ckpt_epoch_0.safetensors"));
    run_steps(&a, 1);
    s.epoch = 2;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small = (struct rlimit){100000, limit.rlim_max};
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(save_now(&v, &a.s, &s, true, true), -1);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(count_files("ckpt_"), 1);
    assert_true(same_file("best.safetensors", "ckpt_epoch_0.safetensors"));
    assert_true(same_file("last.safetensors", "ckpt_epoch_0.safetensors"));
    assert_true(saves_resume(&v, &a.s, &got));
    assert_int_equal(got.epoch, 1);
    run_release(&a);
}

/* Killed after writing best.safetensors and before the numbered file: the run resumes
 * from the best one, which is the newest. */
static void test_killed_after_best(void **state)
{
    const struct saves v = {
        .dir = ckpt_dir, .classes = &ckpt_classes, .config = "SEED: 0\n", .keep = 1};
    struct run_state s = ckpt_state, got;
    struct run a;
    char *best;

    (void)state;
    run_init(&a, NULL);
    run_steps(&a, 1);
    s.epoch = 1;
    s.best_score = 10;
    assert_int_equal(save_now(&v, &a.s, &s, true, true), 0);
    run_steps(&a, 1);
    s.epoch = 2;
    s.best_score = 20;
    best = path_join(ckpt_dir, "best.safetensors");
    ckpt_store(best, &a.s, &s, &ckpt_classes, "SEED: 0\n");
    free(best);
    assert_int_equal(count_files("ckpt_epoch_1"), 0);
    assert_true(saves_resume(&v, &a.s, &got));
    assert_int_equal(got.epoch, 2);
    assert_true(got.best_score == 20);
    run_release(&a);
}

static void put_file(const char *name)
{
    char *path = path_join(ckpt_dir, name);

    assert_int_equal(atomic_write_file(path, "x", 1), 0);
    free(path);
}

/* Files with user-chosen names are kept; leftovers of killed saves are removed. */
static void test_other_files(void **state)
{
    static const char *const user_files[] = {
        "ckpt_good.safetensors",
        "ckpt_epoch_.safetensors",
        "ckpt_epoch_1.safetensors.orig",
        "ckpt_epoch_1b.safetensors",
        "last1.safetensors",
        "notes.tmp",
        "ckpt_good.safetensors.tmp",
    };
    static const char *const left[] = {
        "ckpt_epoch_7.safetensors.tmp",
        "ckpt_step_70.safetensors.tmp",
        "last.safetensors.tmp",
        "best.safetensors.tmp",
    };
    const struct saves v = {
        .dir = ckpt_dir, .classes = &ckpt_classes, .config = "SEED: 0\n", .keep = 1};
    struct run_state s = ckpt_state;
    struct run a;

    (void)state;
    for (size_t i = 0; i < sizeof(user_files) / sizeof(user_files[0]); i++)
        put_file(user_files[i]);
    for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++)
        put_file(left[i]);
    assert_false(saves_exist(ckpt_dir));
    saves_sweep(ckpt_dir);
    for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++)
        assert_int_equal(count_files(left[i]), 0);
    run_init(&a, NULL);
    for (s.epoch = 1; s.epoch <= 3; s.epoch++) {
        run_steps(&a, 1);
        assert_int_equal(save_now(&v, &a.s, &s, true, false), 0);
    }
    for (size_t i = 0; i < sizeof(user_files) / sizeof(user_files[0]); i++)
        assert_true(count_files(user_files[i]) > 0);
    assert_int_equal(count_files("ckpt_epoch_2"), 1);
    assert_int_equal(count_files("ckpt_epoch_0"), 0);
    run_release(&a);
}

/* On a full disk the oldest checkpoints are removed, but not the last intact one. */
static void test_no_room(void **state)
{
    const struct saves v = {
        .dir = ckpt_dir, .classes = &ckpt_classes, .config = "SEED: 0\n", .keep = 9};
    struct run_state s = ckpt_state, got;
    struct run a;

    (void)state;
    run_init(&a, NULL);
    for (s.epoch = 1; s.epoch <= 4; s.epoch++) {
        run_steps(&a, 1);
        full = s.epoch == 4;
        assert_int_equal(save_now(&v, &a.s, &s, true, false), 0);
        assert_int_equal(full, 0);
    }
    assert_int_equal(count_files("ckpt_"), 3);
    assert_int_equal(count_files("ckpt_epoch_0"), 0);
    run_steps(&a, 1);
    full = 1000;
    assert_int_equal(save_now(&v, &a.s, &s, true, false), -1);
    full = 0;
    assert_int_equal(count_files("ckpt_"), 1);
    assert_true(same_file("last.safetensors", "ckpt_epoch_3.safetensors"));
    assert_true(saves_resume(&v, &a.s, &got));
    assert_int_equal(got.epoch, 4);
    run_release(&a);
}

/* Non-finite tensors are not written, and the caller learns their name. */
static void test_diverged(void **state)
{
    static const enum memory memory[] = {MEMORY_WEIGHTS, MEMORY_EMA, MEMORY_MOMENT2};
    static const float bad[] = {INFINITY, -INFINITY, NAN};
    static const char *const name[] = {"", "ema.", "optimizer.exp_avg_sq."};
    struct saves v = {
        .dir = ckpt_dir, .classes = &ckpt_classes, .config = "SEED: 0\n", .keep = 2};
    struct run_state s = ckpt_state, got;
    struct run a;
    float *flat;

    (void)state;
    run_init(&a, ckpt_adamw_ema);
    run_steps(&a, 1);
    s.epoch = 1;
    assert_int_equal(save_now(&v, &a.s, &s, true, true), 0);
    flat = xcalloc(1, run_bytes(&a));
    for (int i = 0; i < 3; i++) {
        const struct segment *seg = &session_flat(&a.s)->segment[i];
        struct saves_end end;
        char *want = xasprintf("%s%s", name[i], seg->tensor->name);
        float was;

        session_get(&a.s, memory[i], flat);
        was = flat[seg->offset + seg->len - 1];
        flat[seg->offset + seg->len - 1] = bad[i];
        session_set(&a.s, memory[i], flat);
        s.epoch = 2;
        saves_start(&v, &a.s, &s, &s, true);
        end = saves_wait(&v);
        assert_true(end.failed);
        assert_non_null(end.diverged);
        assert_string_equal(end.diverged, want);
        free(end.diverged);
        free(want);
        flat[seg->offset + seg->len - 1] = was;
        session_set(&a.s, memory[i], flat);
    }
    saves_release(&v);
    free(flat);
    assert_int_equal(count_files("ckpt_"), 1);
    assert_true(same_file("best.safetensors", "ckpt_epoch_0.safetensors"));
    assert_true(same_file("last.safetensors", "ckpt_epoch_0.safetensors"));
    assert_true(saves_resume(&v, &a.s, &got));
    assert_int_equal(got.epoch, 1);
    run_release(&a);
}

/* Saving writes a copy, which continued training does not change. */
static void test_training_goes_on(void **state)
{
    struct saves v = {
        .dir = ckpt_dir, .classes = &ckpt_classes, .config = "SEED: 0\n", .keep = 2};
    struct run_state s = ckpt_state, got;
    struct run a, b, c;

    (void)state;
    run_init(&a, NULL);
    run_init(&b, NULL);
    run_init(&c, NULL);
    run_steps(&a, 1);
    run_steps(&b, 1);
    s.epoch = 1;
    saves_start(&v, &a.s, &s, NULL, true);
    run_steps(&a, 1);
    assert_false(saves_wait(&v).failed);
    assert_true(saves_resume(&v, &c.s, &got));
    ckpt_same_array(&c, &b, MEMORY_WEIGHTS);
    saves_release(&v);
    run_release(&a);
    run_release(&b);
    run_release(&c);
}

/* A folder that is deleted during its run is created again. */
static void test_folder_removed(void **state)
{
    char *gone = path_join(ckpt_dir, "gone"), *path = path_join(gone, "config.yaml");
    const struct saves v = {
        .dir = gone, .classes = &ckpt_classes, .config = "SEED: 0\n", .keep = 2};
    struct run_state s = ckpt_state, got;
    struct run a;
    char *text;

    (void)state;
    run_init(&a, NULL);
    run_steps(&a, 1);
    s.epoch = 1;
    assert_int_equal(save_now(&v, &a.s, &s, true, false), 0);
    assert_true(saves_resume(&v, &a.s, &got));
    text = file_read(path, NULL);
    assert_non_null(text);
    assert_string_equal(text, "SEED: 0\n");
    free(text);
    free(path);
    path = xasprintf("rm -r '%s'", gone);
    assert_int_equal(system(path), 0);
    free(path);
    free(gone);
    run_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_saves, ckpt_setup, ckpt_teardown),
        cmocka_unit_test_setup_teardown(test_older, ckpt_setup, ckpt_teardown),
        cmocka_unit_test_setup_teardown(test_disk_full, ckpt_setup, ckpt_teardown),
        cmocka_unit_test_setup_teardown(test_killed_after_best, ckpt_setup,
                                        ckpt_teardown),
        cmocka_unit_test_setup_teardown(test_no_room, ckpt_setup, ckpt_teardown),
        cmocka_unit_test_setup_teardown(test_diverged, ckpt_setup, ckpt_teardown),
        cmocka_unit_test_setup_teardown(test_training_goes_on, ckpt_setup, ckpt_teardown),
        cmocka_unit_test_setup_teardown(test_folder_removed, ckpt_setup, ckpt_teardown),
        cmocka_unit_test_setup_teardown(test_other_files, ckpt_setup, ckpt_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
