/*
 * The folder of a run: the lines and events that a resumed run keeps, and the keys that
 * may change between two starts.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "session/state.h"
#include "tests/child.h"
#include "tests/make_folder.h"
#include "tests/test.h"
#include "tests/train/checkpoint_run.h"
#include "train/output.h"

static char *folder; /* OUTPUT of the runs */
static struct run r;

static int setup(void **state)
{
    (void)state;
    log_level_set(LOG_ERROR);
    folder = make_temp_dir();
    run_init(&r, (const char *[]){"OUTPUT", folder, NULL});
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    run_release(&r);
    remove_temp_dir(folder);
    return 0;
}

static int64_t axis; /* from the checkpoint: TensorBoard's x */

/* Opens the folder of a new run, or of one resumed after step 5, the last of an epoch of
 * five steps; `epoch` 1: after the validation, 0: before it. */
static void open_at(struct output *o, int64_t epoch, bool resumed)
{
    const struct run_state state = {.epoch = epoch,
                                    .updates_per_epoch = 5,
                                    .val_step = epoch ? 5 : -1,
                                    .axis = resumed ? axis : 0};
    struct control c = session_control(&r.s);

    c.step = c.updates = resumed ? 5 : 0;
    session_set_control(&r.s, &c);
    output_prepare(o, &r.cfg);
    output_open(o, &r.s, &state, &ckpt_classes, c.step, resumed);
}

static char *read_file(const char *name)
{
    char *dir = output_dir(&r.cfg), *path = path_join(dir, name), *text;
    size_t len;

    text = file_read(path, &len);
    assert_non_null(text);
    free(path);
    free(dir);
    return text;
}

static void check_metrics(bool validated)
{
    char *text = read_file("metrics.jsonl");
    const char *val = strstr(text, "\"kind\":\"val\"");

    assert_non_null(strstr(text, "\"kind\":\"train\""));
    assert_int_equal(val != NULL, validated);
    if (val)
        assert_null(strstr(val + 1, "\"kind\":\"val\""));
    free(text);
}

/* A step can have both a training and a validation line. */
static void test_lines(void **state)
{
    const struct train_line train = {.step = 5, .loss = 1};
    const struct val_line val = {.step = 5, .val = scores_unknown()};
    struct output o;

    (void)state;
    open_at(&o, 0, false);
    output_train(&o, &train);
    output_val(&o, &val);
    output_close(&o);
    check_metrics(true);
    /* Saved after the fifth step, before its validation, which is therefore repeated. */
    open_at(&o, 0, true);
    check_metrics(false);
    output_val(&o, &val);
    output_close(&o);
    check_metrics(true);
    open_at(&o, 1, true); /* and once after the validation */
    check_metrics(true);
    output_close(&o);
}

/* A diverged EMA was evaluated, so its loss is null; without an EMA there is no entry. */
static void test_diverged(void **state)
{
    struct val_line val = {.step = 5, .val = scores_unknown(), .ema = scores_unknown()};
    struct output o;
    char *text;

    (void)state;
    open_at(&o, 0, false);
    output_val(&o, &val);
    text = read_file("metrics.jsonl");
    assert_null(strstr(text, "ema_"));
    free(text);
    val.ema.value[SCORE_TOP1] = 0;
    output_val(&o, &val);
    output_close(&o);
    text = read_file("metrics.jsonl");
    assert_non_null(strstr(text, "\"ema_loss\":null,\"ema_top1\":0"));
    free(text);
}

static bool events_have(const void *what, size_t size)
{
    char *dir = output_dir(&r.cfg);
    bool found = false;
    int n;
    char **name = dir_list(dir, &n);

    for (int i = 0; i < n; i++) {
        char *path = path_join(dir, name[i]), *data;
        size_t len = 0;

        data = !strncmp(name[i], "events.", 7) ? file_read(path, &len) : NULL;
        found |= data && memmem(data, len, what, size);
        free(data);
        free(path);
    }
    dir_list_free(name, n);
    free(dir);
    return found;
}

/* True if an event file starts a session at step `step`, from 1 to 127. */
static bool starts_at(char step)
{
    const char event[] = {0x10, step, 0x3a, 2, 8, 1}; /* step, session_log, START */

    return events_have(event, sizeof(event));
}

/* True if an event file starts a session at step 0. Zero is not written, so the event is
 * 13 bytes long: the time and the session log. */
static bool starts_fresh(void)
{
    static const char length[] = {13, 0, 0, 0, 0, 0, 0, 0}, start[] = {0x3a, 2, 8, 1};

    return events_have(length, sizeof(length)) && events_have(start, sizeof(start));
}

/* The start event makes TensorBoard drop points from that step on: after the checkpoint
 * for a resumed run, all for a new one. */
static void test_events(void **state)
{
    struct output o;

    (void)state;
    open_at(&o, 0, false);
    output_close(&o);
    assert_false(starts_at(6));
    assert_true(starts_fresh());
    open_at(&o, 1, true);
    output_close(&o);
    assert_true(starts_at(6));
    assert_false(starts_at(5));
}

/* If a checkpoint's axis is ahead of its steps, curves continue from the axis. */
static void test_axis(void **state)
{
    struct output o;

    (void)state;
    axis = 90;
    open_at(&o, 1, true);
    assert_int_equal(output_axis(&o, 6), 91);
    output_close(&o);
    assert_true(starts_at(91));
    axis = 3; /* from shorter epochs: x equals the step again */
    open_at(&o, 1, true);
    assert_int_equal(output_axis(&o, 6), 6);
    output_close(&o);
    axis = 0;
}

/* Each event is written to the file immediately, in case the run is killed. */
static void test_killed(void **state)
{
    const struct train_line train = {.step = 5, .loss = 1};
    struct output o;

    (void)state;
    open_at(&o, 0, false);
    assert_true(events_have("config", 6));
    output_train(&o, &train);
    assert_true(events_have("train/data_share", 16));
    output_close(&o);
}

static void prepare(void *arg)
{
    struct output o;

    (void)arg;
    output_prepare(&o, &r.cfg);
}

/* Keys that change the result must be the same in one folder; logging and data feeding
 * keys may change. */
static void test_keys(void **state)
{
    static const struct {
        const char *key, *was, *is, *says; /* NULL if it may change */
    } rows[] = {
        {"AUG.MIXUP", "0", "0.5", "AUG.MIXUP (0.0 there, 0.5 here)"},
        {"TRAIN.CLIP_GRAD", "5", "1", "TRAIN.CLIP_GRAD (5.0 there, 1.0 here)"},
        {"SEED", "0", "1", "SEED (0 there, 1 here)"},
        {"PRINT_FREQ", "10", "3", NULL},
        {"SAVE_FREQ", "1", "3", NULL},
        {"DATA.NUM_WORKERS", "8", "2", NULL},
        {"TRAIN.EVAL_FREQ", "1", "2", NULL},
        {"LOG.IMAGES", "4", "0", NULL},
        {"CUDNN.CACHE", "auto", "/tmp/job7", NULL},
        {"CUDA.GRAPH", "True", "False", NULL},
        {"DEBUG.REDZONES", "False", "True", NULL},
        {"DATA.ON_ERROR", "skip", "fail", NULL},
        {"DATA.MAX_BAD_SHARE", "0.01", "0.1", NULL},
        {"DATA.CHECK_CLASSES", "True", "False", NULL},
        {"DATA.PIN_MEMORY", "True", "False", NULL},
        {"FUSED_LAYERNORM", "False", "True", NULL},
        {"DATA.MAX_PIXELS", "1000", "2000", "DATA.MAX_PIXELS (1000 there, 2000 here)"},
    };
    struct output o;
    char *dir;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        config_set(&r.cfg, rows[i].key, rows[i].was);
    open_at(&o, 0, false);
    output_close(&o);
    dir = output_dir(&r.cfg);
    make_file(dir, "last.safetensors", "", 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *says = rows[i].says;

        config_set(&r.cfg, rows[i].key, rows[i].is);
        check_leaves(prepare, NULL, says ? EXIT_USAGE : EXIT_OK, says ? says : "");
        config_set(&r.cfg, rows[i].key, rows[i].was);
    }
    free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_lines, setup, teardown),
        cmocka_unit_test_setup_teardown(test_diverged, setup, teardown),
        cmocka_unit_test_setup_teardown(test_events, setup, teardown),
        cmocka_unit_test_setup_teardown(test_axis, setup, teardown),
        cmocka_unit_test_setup_teardown(test_killed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_keys, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
