/*
 * A checkpoint restores everything and has timm's names and PyTorch's order of dims;
 * damage is detected, and a checkpoint that does not fit the run is rejected.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "graph/flat.h"
#include "io/safetensors.h"
#include "session/state.h"
#include "tests/child.h"
#include "tests/test.h"
#include "tests/train/checkpoint_run.h"

/* Compares the parameters of two EMAs; an EMA's counters are those of the weights. */
static void assert_same_ema(struct run *a, struct run *b)
{
    size_t size = run_bytes(a);
    float *x = xcalloc(1, size), *y = xcalloc(1, size);

    session_get(&a->s, MEMORY_EMA, x);
    session_get(&b->s, MEMORY_EMA, y);
    assert_memory_equal(x, y, (size_t)session_flat(&a->s)->param_len * sizeof(float));
    free(x);
    free(y);
}

static void test_round_trip(void **state)
{
    struct strbuf why = STRBUF_INIT;
    struct run_state got;
    struct run a, b;
    struct control c, d;

    (void)state;
    run_init(&a, ckpt_adamw_ema);
    run_init(&b, ckpt_adamw_ema);
    run_steps(&a, 3);
    c = session_control(&a.s);
    c.loss_scale = 1.0 / 3;
    c.growth_count = 1234;
    c.skipped = 7;
    c.skipped_row = 2;
    session_set_control(&a.s, &c);
    ckpt_write(&a, ckpt_path);
    assert_int_equal(checkpoint_read(ckpt_path, &b.s, &got, &ckpt_classes, &why), 0);
    assert_memory_equal(&got, &ckpt_state, offsetof(struct run_state, dynamic_scale));
    c = session_control(&a.s);
    d = session_control(&b.s);
    assert_true(c.step == d.step && c.micro == d.micro && c.updates == d.updates);
    assert_true(c.loss_scale == d.loss_scale && c.growth_count == d.growth_count);
    assert_true(c.skipped == d.skipped && c.skipped_row == d.skipped_row);
    assert_true(c.seed == d.seed);
    assert_int_equal(b.s.micro, 3);
    run_steps(&a, 2);
    run_steps(&b, 2);
    ckpt_same_array(&a, &b, MEMORY_WEIGHTS);
    ckpt_same_array(&a, &b, MEMORY_MOMENT1);
    ckpt_same_array(&a, &b, MEMORY_MOMENT2);
    assert_same_ema(&a, &b);
    run_release(&a);
    run_release(&b);
}

/* The file has the optimizer's moments under PyTorch's names, and a run resumed with them
 * trains like one that was not interrupted. */
static void check_optimizer(const struct optimizer *o)
{
    const char *const keys[] = {"TRAIN.OPTIMIZER.NAME", o->name, "TRAIN.BASE_LR", "0.002",
                                NULL};
    struct strbuf why = STRBUF_INIT;
    struct safetensors f;
    struct run_state got;
    struct run a, b;

    run_init(&a, keys);
    run_init(&b, keys);
    run_steps(&a, 3);
    ckpt_write(&a, ckpt_path);
    assert_int_equal(safetensors_open(&f, ckpt_path, &why), 0);
    for (int i = 0; i < OPTIMIZER_MOMENTS && o->moment[i]; i++) {
        char *name = xasprintf("optimizer.%s.fc.weight", o->moment[i]);

        if (!safetensors_find(&f, name))
            fail_msg("%s: no %s", o->name, name);
        free(name);
    }
    safetensors_close(&f);
    if (checkpoint_read(ckpt_path, &b.s, &got, &ckpt_classes, &why))
        fail_msg("%s: %s", o->name, why.buf);
    run_steps(&a, 2);
    run_steps(&b, 2);
    ckpt_same_array(&a, &b, MEMORY_WEIGHTS);
    for (int i = 0; i < OPTIMIZER_MOMENTS && o->moment[i]; i++)
        ckpt_same_array(&a, &b, i ? MEMORY_MOMENT2 : MEMORY_MOMENT1);
    run_release(&a);
    run_release(&b);
}

static void test_optimizers(void **state)
{
    (void)state;
    for (const struct optimizer *o = optimizer_table; o->name; o++)
        check_optimizer(o);
}

/* A checkpoint of a run without an EMA: the EMA starts from its weights. */
static void test_no_ema(void **state)
{
    struct strbuf why = STRBUF_INIT;
    struct run_state got;
    struct run a, b;
    float *ema;

    (void)state;
    run_init(&a, (const char *[]){"TRAIN.OPTIMIZER.NAME", "adamw", NULL});
    run_init(&b, ckpt_adamw_ema);
    run_steps(&a, 3);
    ckpt_write(&a, ckpt_path);
    assert_int_equal(checkpoint_read(ckpt_path, &b.s, &got, &ckpt_classes, &why), 0);
    ema = xcalloc(1, run_bytes(&b));
    session_get(&b.s, MEMORY_EMA, ema);
    assert_memory_equal(ema, run_weights(&a), run_bytes(&a));
    free(ema);
    run_release(&a);
    run_release(&b);
}

/* The file as another safetensors reader sees it. */
static void test_file(void **state)
{
    struct strbuf why = STRBUF_INIT;
    const struct safetensors_tensor *t;
    const struct segment *seg;
    struct safetensors f;
    struct run a;
    float *w, *flat;
    int64_t count;

    (void)state;
    run_init(&a, ckpt_adamw_ema);
    run_steps(&a, 2);
    ckpt_write(&a, ckpt_path);
    assert_int_equal(safetensors_open(&f, ckpt_path, &why), 0);
    assert_int_equal(safetensors_verify(&f, &why), 0);
    /* 59 parameters and 57 buffers: weights and EMA; for parameters also two moments */
    assert_int_equal(f.n, 116 + 116 + 59 + 59);
    assert_string_equal(safetensors_meta(&f, "config"), "SEED: 0\n");
    assert_non_null(strstr(safetensors_meta(&f, "classes"), "\"bee\""));
    assert_non_null(safetensors_find(&f, "optimizer.exp_avg_sq.fc.weight"));

    t = safetensors_find(&f, "layer1.0.bn1.num_batches_tracked");
    assert_int_equal(t->dtype, SAFETENSORS_I64);
    assert_int_equal(t->ndim, 0);
    assert_int_equal(safetensors_read(&f, t, &count, &why), 0);
    assert_int_equal(count, 2);
    t = safetensors_find(&f, "ema.layer1.0.bn1.num_batches_tracked");
    assert_int_equal(safetensors_read(&f, t, &count, &why), 0);
    assert_int_equal(count, 2); /* a counter has no EMA */

    t = safetensors_find(&f, "layer2.0.conv1.weight");
    assert_int_equal(t->ndim, 4);
    assert_int_equal(t->dims[0], 32); /* O, I, kH, kW */
    assert_int_equal(t->dims[1], 16);
    assert_int_equal(t->dims[3], 3);
    w = xmalloc(t->size);
    assert_int_equal(safetensors_read(&f, t, w, &why), 0);
    flat = xmalloc(run_bytes(&a));
    session_get(&a.s, MEMORY_WEIGHTS, flat);
    seg = session_flat(&a.s)->segment;
    while (strcmp(seg->tensor->name, t->name) != 0)
        seg++;
    for (int o = 0; o < 32; o++)
        for (int i = 0; i < 16; i++)
            for (int k = 0; k < 9; k++) /* in memory O, kH, kW, I */
                assert_true(w[(o * 16 + i) * 9 + k] ==
                            flat[seg->offset + (o * 9 + k) * 16 + i]);
    free(w);
    free(flat);
    safetensors_close(&f);
    run_release(&a);
}

/* Counters are floats in memory and int64 in the file, which may contain any number. */
static void test_counters(void **state)
{
    static const float was[] = {1e19f, -1, NAN, 7};
    static const int64_t want[] = {INT64_MAX, 0, 0, 7};
    struct strbuf why = STRBUF_INIT;
    const struct segment *seg;
    struct safetensors f;
    int64_t count;
    struct run r;

    (void)state;
    run_init(&r, NULL);
    seg = session_flat(&r.s)->segment;
    while (strcmp(seg->tensor->name, "bn1.num_batches_tracked") != 0)
        seg++;
    for (int i = 0; i < 4; i++) {
        (void)run_weights(&r);
        r.weights[seg->offset] = was[i];
        session_set(&r.s, MEMORY_WEIGHTS, r.weights);
        ckpt_write(&r, ckpt_path);
        assert_int_equal(safetensors_open(&f, ckpt_path, &why), 0);
        assert_int_equal(
            safetensors_read(&f, safetensors_find(&f, seg->tensor->name), &count, &why),
            0);
        assert_true(count == want[i]);
        safetensors_close(&f);
    }
    run_release(&r);
}

/* A flipped bit anywhere or a missing end is rejected, and the session is unchanged. */
static void test_damage(void **state)
{
    static const long ptr[] = {9, 300, 20000, 1000000};
    struct run_state got;
    struct run a, b;
    float *before;

    (void)state;
    run_init(&a, NULL);
    run_init(&b, NULL);
    run_steps(&a, 1);
    before = xmemdup(run_weights(&b), run_bytes(&b));
    for (int i = 0; i < 5; i++) {
        struct strbuf why = STRBUF_INIT;

        ckpt_write(&a, ckpt_path);
        if (i < 4)
            ckpt_damage(ckpt_path, ptr[i]);
        else
            assert_int_equal(truncate(ckpt_path, 1000000), 0);
        assert_int_equal(checkpoint_read(ckpt_path, &b.s, &got, &ckpt_classes, &why), -1);
        assert_non_null(strstr(why.buf, ckpt_path));
        assert_memory_equal(run_weights(&b), before, run_bytes(&b));
        strbuf_release(&why);
    }
    free(before);
    run_release(&a);
    run_release(&b);
}

static void read_other_classes(void *arg)
{
    static const char *const other[] = {"ant", "bee", "cat", "dog",  "eel",
                                        "fox", "gnu", "hen", "ibis", "yak"};
    struct run *r = arg;
    struct strbuf why = STRBUF_INIT;
    struct run_state got;

    (void)checkpoint_read(ckpt_path, &r->s, &got, &(struct class_list){other, 10}, &why);
}

/* Rewrites the checkpoint at `ckpt_path` with another text under `key` of its metadata
 * and a valid checksum. */
static void rewrite(const char *key, const char *text)
{
    struct strbuf why = STRBUF_INIT;
    struct safetensors_writer w = {0};
    struct safetensors f;
    char **data;

    assert_int_equal(safetensors_open(&f, ckpt_path, &why), 0);
    data = xcalloc(f.n, sizeof(*data));
    for (size_t i = 0; i < f.meta.n; i++)
        if (strcmp(f.meta.entry[i].key, "xxh3") != 0)
            safetensors_writer_meta(
                &w, f.meta.entry[i].key,
                strcmp(f.meta.entry[i].key, key) != 0 ? f.meta.entry[i].value : text);
    for (size_t i = 0; i < f.n; i++) {
        const struct safetensors_tensor *t = &f.tensor[i];

        data[i] = xmalloc(t->size);
        assert_int_equal(safetensors_read(&f, t, data[i], &why), 0);
        safetensors_writer_add(&w, t->name, t->dtype, t->ndim, t->dims, data[i]);
    }
    assert_int_equal(safetensors_writer_commit(&w, ckpt_path, &why), 0);
    safetensors_writer_release(&w);
    for (size_t i = 0; i < f.n; i++)
        free(data[i]);
    free(data);
    safetensors_close(&f);
}

/* Writes a checkpoint of `r` to `ckpt_path` with `was` replaced by `becomes` in its
 * state. */
static void rewrite_state(struct run *r, const char *was, const char *becomes)
{
    struct strbuf why = STRBUF_INIT, text = STRBUF_INIT;
    const char *is, *cursor;
    struct safetensors f;

    ckpt_write(r, ckpt_path);
    assert_int_equal(safetensors_open(&f, ckpt_path, &why), 0);
    is = safetensors_meta(&f, "trainc");
    cursor = strstr(is, was);
    assert_non_null(cursor);
    strbuf_add(&text, is, (size_t)(cursor - is));
    strbuf_addf(&text, "%s%s", becomes, cursor + strlen(was));
    safetensors_close(&f);
    rewrite("trainc", text.buf);
    strbuf_release(&text);
}

/* Checkpoints with a valid checksum and an impossible state are rejected. */
static void test_nonsense(void **state)
{
    static const struct {
        const char *was, *becomes, *says;
    } rows[] = {
        {"\"epoch\":3", "\"epoch\":-3", "epoch is not a number from 0 to 1000000000"},
        {"\"epoch\":3", "\"epoch\":3.5", "epoch is not a number"},
        {"\"epoch\":3", "\"epoch\":4", "step 3 is not in epoch 4 (1 steps"},
        {"\"updates_per_epoch\":1", "\"updates_per_epoch\":4",
         "step 3 is not in epoch 3"},
        {"\"updates_per_epoch\":1", "\"updates_per_epoch\":9000000000000000000",
         "updates_per_epoch is not a number"},
        {"\"micro\":3", "\"micro\":-1", "micro is not a number"},
        {"\"loss_scale\":1", "\"loss_scale\":0", "loss_scale is not a number above 0"},
        {"\"loss_scale\":1", "\"loss_scale\":1e39", "loss_scale is not a number above 0"},
        {"\"axis\":41", "\"axis\":-1", "axis is not a number"},
        {"\"updates\":3", "\"updates\":9000000000000000000", "updates is not a number"},
        {"\"growth_count\":0", "\"growth_count\":4294967296",
         "growth_count is not a number"},
        {"\"top1\":2", "\"top1\":\"x\"", "top1 is not a number"},
        /* one more image would overflow these counters */
        {"\"top1\":2", "\"top1\":9223372036854775807",
         "top1 is not a number from 0 to 1125899906842624"},
        {"\"data\":", "\"other\":", "data is not a digest"},
        {"\"top5\":", "\"top5\":9223372036854775807,\"other\":", "top5 is not a number"},
        {"\"runs\":", "\"runs\":9223372036854775807,\"other\":", "runs is not a number"},
        {"\"nonfinite\":", "\"nonfinite\":9223372036854775807,\"other\":",
         "nonfinite is not a number"},
        {"\"val_iou\":[0.5,", "\"val_iou\":[", "val_iou is not a list of 10 numbers"},
        {"\"val_iou\":", "\"val_iou\":0,\"other\":",
         "val_iou is not a list of 10 numbers"},
        {"\"best_top1\":61.7", "\"best_top1\":\"x\"", NULL},
    };
    struct run_state got;
    struct run a;

    (void)state;
    run_init(&a, NULL);
    run_steps(&a, 3);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct strbuf why = STRBUF_INIT;

        rewrite_state(&a, rows[i].was, rows[i].becomes);
        got = ckpt_state;
        if (!rows[i].says) {
            assert_int_equal(checkpoint_read(ckpt_path, &a.s, &got, &ckpt_classes, &why),
                             0);
            assert_true(isnan(got.best_score));
            continue;
        }
        assert_int_equal(checkpoint_read(ckpt_path, &a.s, &got, &ckpt_classes, &why), -1);
        if (!strstr(why.buf, ckpt_path) || !strstr(why.buf, rows[i].says))
            fail_msg("'%s' does not say '%s'", why.buf, rows[i].says);
        assert_memory_equal(&got, &ckpt_state, offsetof(struct run_state, dynamic_scale));
        strbuf_release(&why);
    }
    run_release(&a);
}

/* For another program's weights the message says so, instead of reporting a missing
 * checksum. */
static void test_weights_alone(void **state)
{
    static const char header[] =
        "{\"fc.bias\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}   ";
    struct strbuf why = STRBUF_INIT;
    struct run_state got;
    uint64_t len = sizeof(header) - 1;
    FILE *f = fopen(ckpt_path, "wb");
    struct run a;

    (void)state;
    assert_non_null(f);
    assert_int_equal(fwrite(&len, sizeof(len), 1, f), 1);
    assert_int_equal(fwrite(header, 1, len, f), len);
    assert_int_equal(fwrite("1234", 1, 4, f), 4);
    assert_int_equal(fclose(f), 0);
    run_init(&a, NULL);
    assert_int_equal(checkpoint_read(ckpt_path, &a.s, &got, &ckpt_classes, &why), -1);
    if (!strstr(why.buf,
                "' is not a trainc checkpoint (to load only weights, use --pretr"))
        fail_msg("%s", why.buf);
    strbuf_release(&why);
    run_release(&a);
}

/* A file without a validation or without IoUs belongs to a run that had none yet. */
static void test_not_yet(void **state)
{
    struct strbuf why = STRBUF_INIT;
    struct run_state got;
    struct run a;

    (void)state;
    run_init(&a, NULL);
    run_steps(&a, 3);
    rewrite_state(&a, ",\"val_step\":3", "");
    assert_int_equal(checkpoint_read(ckpt_path, &a.s, &got, &ckpt_classes, &why), 0);
    assert_int_equal(got.val_step, -1);
    rewrite_state(&a, "\"val_iou\":", "\"other\":");
    assert_int_equal(checkpoint_read(ckpt_path, &a.s, &got, &ckpt_classes, &why), 0);
    assert_int_equal(got.val_iou.n, 0);
    run_release(&a);
}

static void read_as_sgd(void *arg)
{
    struct run *r = arg;
    struct strbuf why = STRBUF_INIT;
    struct run_state got;

    (void)checkpoint_read(ckpt_path, &r->s, &got, &ckpt_classes, &why);
}

static void test_refused(void **state)
{
    struct run a, b;

    (void)state;
    run_init(&a, ckpt_adamw_ema);
    run_init(&b, NULL);
    ckpt_write(&a, ckpt_path);
    check_dies(read_other_classes, &a, "yak");
    check_dies(read_other_classes, &a, "jay");
    check_dies(read_as_sgd, &b, "adamw");
    rewrite("classes", "[\"ant\", 5]");
    check_dies(read_other_classes, &a, "its class 1 has no name");
    run_release(&a);
    run_release(&b);
}

/* checkpoint_size(), called before anything is saved, is within 10 % of the file's
 * size. */
static void test_size(void **state)
{
    struct session bare;
    struct stat st;
    struct run r;
    size_t size;

    (void)state;
    run_init(&r, ckpt_adamw_ema);
    ckpt_write(&r, ckpt_path);
    session_init(&bare, &r.cfg,
                 &(struct session_options){.train = true, .images = BATCH});
    size = checkpoint_size(&bare);
    assert_int_equal(stat(ckpt_path, &st), 0);
    assert_in_range(size, (size_t)st.st_size * 9 / 10, (size_t)st.st_size * 11 / 10);
    session_release(&bare);
    run_release(&r);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test_setup_teardown(test_round_trip, ckpt_setup, ckpt_teardown),
        cmocka_unit_test_setup_teardown(test_optimizers, ckpt_setup, ckpt_teardown),
        cmocka_unit_test_setup_teardown(test_no_ema, ckpt_setup, ckpt_teardown),
        cmocka_unit_test_setup_teardown(test_file, ckpt_setup, ckpt_teardown),
        cmocka_unit_test_setup_teardown(test_counters, ckpt_setup, ckpt_teardown),
        cmocka_unit_test_setup_teardown(test_damage, ckpt_setup, ckpt_teardown),
        cmocka_unit_test_setup_teardown(test_refused, ckpt_setup, ckpt_teardown),
        cmocka_unit_test_setup_teardown(test_nonsense, ckpt_setup, ckpt_teardown),
        cmocka_unit_test_setup_teardown(test_weights_alone, ckpt_setup, ckpt_teardown),
        cmocka_unit_test_setup_teardown(test_not_yet, ckpt_setup, ckpt_teardown),
        cmocka_unit_test_setup_teardown(test_size, ckpt_setup, ckpt_teardown),
    };

    return cmocka_run_group_tests(test, NULL, NULL);
}
