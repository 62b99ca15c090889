/* The checkpoints of a run: which are kept, which is resumed, and a full disk. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/atomic.h"
#include "base/file.h"
#include "base/log.h"
#include "tests/child.h"
#include "tests/test.h"
#include "tests/train/checkpoint_run.h"
#include "train/saves.h"

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

static void resume_or_die(void *arg)
{
    const struct saves v = {ckpt_dir, &ckpt_classes, "", 2};
    struct run_state got;

    (void)saves_resume(&v, &((struct run *)arg)->s, &got);
}

/* A damaged file is named where it is passed over, not each time the folder is read. */
static void look_and_save(void *arg)
{
    const struct saves v = {ckpt_dir, &ckpt_classes, "", 2};
    struct run *r = arg;

    log_level_set(LOG_WARNING);
    (void)saves_exist(ckpt_dir);
    (void)saves_write(&v, &r->s, &ckpt_state, true, false);
}

static void test_saves(void **state)
{
    const struct saves v = {ckpt_dir, &ckpt_classes, "SEED: 0\n", 2};
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
        if (s.epoch == 1)
            assert_int_equal(saves_best(&v, &a.s, &s), 0);
        assert_int_equal(saves_write(&v, &a.s, &s, true, s.epoch == 1), 0);
    }
    assert_int_equal(count_files("ckpt_"), 2);
    assert_true(same_file("last.safetensors", "ckpt_epoch_3.safetensors"));
    assert_false(same_file("best.safetensors", "ckpt_epoch_2.safetensors"));
    assert_int_equal(count_files("best"), 1); /* outlives its numbered name */
    run_steps(&a, 1);
    s.epoch = 4;
    assert_int_equal(saves_write(&v, &a.s, &s, false, false), 0);
    assert_true(same_file("last.safetensors", "ckpt_step_5.safetensors"));
    assert_int_equal(count_files("ckpt_"), 2);

    assert_true(saves_resume(&v, &b.s, &got));
    ckpt_same_array(&a, &b, MEMORY_WEIGHTS);
    assert_int_equal(session_control(&b.s).step, 5);

    /* The newest is damaged (by both names): the one before it. */
    char *newest = path_join(ckpt_dir, "last.safetensors");

    ckpt_damage(newest, 500000);
    free(newest);
    assert_true(saves_resume(&v, &b.s, &got));
    assert_int_equal(session_control(&b.s).step, 4);
    for (int i = 0; i < 2; i++) {
        char *file =
            path_join(ckpt_dir, i ? "best.safetensors" : "ckpt_epoch_3.safetensors");

        ckpt_damage(file, 500000);
        free(file);
    }
    check_dies(resume_or_die, &b, "none of the");

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

/* What was just written stays, though the folder has as many of later updates. */
static void test_older(void **state)
{
    const struct saves v = {ckpt_dir, &ckpt_classes, "SEED: 0\n", 1};
    struct run_state s = ckpt_state;
    struct control c;
    struct run a;

    (void)state;
    run_init(&a, NULL);
    run_steps(&a, 2);
    s.epoch = 2;
    assert_int_equal(saves_write(&v, &a.s, &s, false, false), 0);
    c = session_control(&a.s);
    c.step = c.updates = 1;
    session_set_control(&a.s, &c);
    s.epoch = 1;
    assert_int_equal(saves_write(&v, &a.s, &s, false, false), 0);
    assert_true(same_file("last.safetensors", "ckpt_step_1.safetensors"));
    run_release(&a);
}

/* No room for the new file: it is not there, the old ones are, and the caller knows. */
static void test_disk_full(void **state)
{
    const struct saves v = {ckpt_dir, &ckpt_classes, "SEED: 0\n", 2};
    struct run_state s = ckpt_state, got;
    struct rlimit limit, small;
    struct run a;

    (void)state;
    run_init(&a, NULL);
    run_steps(&a, 1);
    s.epoch = 1;
    assert_int_equal(saves_best(&v, &a.s, &s), 0);
    assert_int_equal(saves_write(&v, &a.s, &s, true, true), 0);
    assert_true(same_file("best.safetensors", "ckpt_epoch_0.safetensors"));
    run_steps(&a, 1);
    s.epoch = 2;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small = (struct rlimit){100000, limit.rlim_max};
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(saves_best(&v, &a.s, &s), -1);
    assert_int_equal(saves_write(&v, &a.s, &s, true, false), -1);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(count_files("ckpt_"), 1);
    assert_true(same_file("best.safetensors", "ckpt_epoch_0.safetensors"));
    assert_true(same_file("last.safetensors", "ckpt_epoch_0.safetensors"));
    assert_true(saves_resume(&v, &a.s, &got));
    assert_int_equal(got.epoch, 1);
    run_release(&a);
}

/* Killed between the two: the run goes on from the best, which it has, or from before. */
static void test_killed_behind_best(void **state)
{
    const struct saves v = {ckpt_dir, &ckpt_classes, "SEED: 0\n", 1};
    struct run_state s = ckpt_state, got;
    struct run a;

    (void)state;
    run_init(&a, NULL);
    run_steps(&a, 1);
    s.epoch = 1;
    s.best_score = 10;
    assert_int_equal(saves_best(&v, &a.s, &s), 0);
    assert_int_equal(saves_write(&v, &a.s, &s, true, true), 0);
    run_steps(&a, 1);
    s.epoch = 2;
    s.best_score = 20;
    assert_int_equal(saves_best(&v, &a.s, &s), 0);
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

/* Copies under names of one's own are not the run's; what killed saves left behind is. */
static void test_other_files(void **state)
{
    static const char *const theirs[] = {
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
    const struct saves v = {ckpt_dir, &ckpt_classes, "SEED: 0\n", 1};
    struct run_state s = ckpt_state;
    struct run a;

    (void)state;
    for (size_t i = 0; i < sizeof(theirs) / sizeof(theirs[0]); i++)
        put_file(theirs[i]);
    for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++)
        put_file(left[i]);
    assert_false(saves_exist(ckpt_dir));
    saves_sweep(ckpt_dir);
    for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++)
        assert_int_equal(count_files(left[i]), 0);
    run_init(&a, NULL);
    for (s.epoch = 1; s.epoch <= 3; s.epoch++) {
        run_steps(&a, 1);
        assert_int_equal(saves_write(&v, &a.s, &s, true, false), 0);
    }
    for (size_t i = 0; i < sizeof(theirs) / sizeof(theirs[0]); i++)
        assert_true(count_files(theirs[i]) > 0);
    assert_int_equal(count_files("ckpt_epoch_2"), 1);
    assert_int_equal(count_files("ckpt_epoch_0"), 0);
    run_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_saves, ckpt_setup, ckpt_teardown),
        cmocka_unit_test_setup_teardown(test_older, ckpt_setup, ckpt_teardown),
        cmocka_unit_test_setup_teardown(test_disk_full, ckpt_setup, ckpt_teardown),
        cmocka_unit_test_setup_teardown(test_killed_behind_best, ckpt_setup,
                                        ckpt_teardown),
        cmocka_unit_test_setup_teardown(test_other_files, ckpt_setup, ckpt_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
