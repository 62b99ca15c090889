/*
 * Checkpoints: everything comes back, names and order are timm's, damage is noticed, the
 * newest sound file is taken, and weights of others load or are refused tensor by tensor.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/half.h"
#include "base/log.h"
#include "graph/flat.h"
#include "io/safetensors.h"
#include "train/checkpoint.h"
#include "train/pretrained.h"
#include "train/saves.h"
#include "train_run.h"

static const char *const class_name[] = {"ant", "bee", "cat", "dog",  "eel",
                                         "fox", "gnu", "hen", "ibis", "jay"};
static const struct class_list classes = {class_name, 10};

static const char *const adamw_ema[] = {
    "TRAIN.OPTIMIZER.NAME", "adamw", "TRAIN.EMA.ENABLE", "True", NULL,
};

static char dir[64], path[128];

static int setup(void **state)
{
    (void)state;
    log_level_set(LOG_ERROR);
    (void)snprintf(dir, sizeof(dir), "/tmp/trainc-test.XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    (void)snprintf(path, sizeof(path), "%s/ckpt_step_1.safetensors", dir);
    return 0;
}

static int teardown(void **state)
{
    int n;
    char **name = dir_list(dir, &n);

    (void)state;
    for (int i = 0; i < n; i++) {
        char *full = path_join(dir, name[i]);

        (void)unlink(full);
        free(full);
    }
    dir_list_free(name, n);
    return rmdir(dir);
}

static const struct run_state some_state = {
    .epoch = 3,
    .updates_per_epoch = 1,
    .train =
        {.loss_sum = 1.0 / 3, .measured = 7, .count = 8, .top1 = 2, .top5 = 5, .runs = 2},
    .best_score = 61.7,
    .best_epoch = 2,
    .train_loss = 0.1,
    .val = {{2.25, 60.5, 99, 0, 0, 0, 0}},
    .ema = {{2, 61.7, 99.5, 0, 0, 0, 0}},
};

static void write_checkpoint(struct run *r, const char *to)
{
    struct strbuf why = STRBUF_INIT;

    if (checkpoint_write(to, &r->s, &some_state, &classes, "SEED: 0\n", &why))
        fail_msg("%s", why.buf);
    strbuf_release(&why);
}

static void assert_same_array(struct run *a, struct run *b, enum memory m)
{
    size_t size = run_bytes(a);
    float *x = xcalloc(1, size), *y = xcalloc(1, size);

    session_get(&a->s, m, x);
    session_get(&b->s, m, y);
    assert_memory_equal(x, y, size);
    free(x);
    free(y);
}

/* A counter in the average is that of the weights, so only parameters are compared. */
static void assert_same_average(struct run *a, struct run *b)
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
    run_init(&a, adamw_ema);
    run_init(&b, adamw_ema);
    run_steps(&a, 3);
    c = session_control(&a.s);
    c.loss_scale = 1.0 / 3;
    c.growth_count = 1234;
    c.skipped = 7;
    c.skipped_row = 2;
    session_set_control(&a.s, &c);
    write_checkpoint(&a, path);
    assert_int_equal(checkpoint_read(path, &b.s, &got, &classes, &why), 0);
    assert_memory_equal(&got, &some_state, sizeof(got));
    c = session_control(&a.s);
    d = session_control(&b.s);
    assert_true(c.step == d.step && c.micro == d.micro && c.updates == d.updates);
    assert_true(c.loss_scale == d.loss_scale && c.growth_count == d.growth_count);
    assert_true(c.skipped == d.skipped && c.skipped_row == d.skipped_row);
    assert_true(c.seed == d.seed);
    assert_int_equal(b.s.micro, 3);
    run_steps(&a, 2);
    run_steps(&b, 2);
    assert_same_array(&a, &b, MEMORY_WEIGHTS);
    assert_same_array(&a, &b, MEMORY_MOMENT1);
    assert_same_array(&a, &b, MEMORY_MOMENT2);
    assert_same_average(&a, &b);
    run_release(&a);
    run_release(&b);
}

/* What any reader of safetensors finds. */
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
    run_init(&a, adamw_ema);
    run_steps(&a, 2);
    write_checkpoint(&a, path);
    assert_int_equal(safetensors_open(&f, path, &why), 0);
    assert_int_equal(safetensors_verify(&f, &why), 0);
    /* 59 parameters, 57 buffers; the average of all; two moments of parameters */
    assert_int_equal(f.n, 116 + 116 + 59 + 59);
    assert_string_equal(safetensors_meta(&f, "config"), "SEED: 0\n");
    assert_non_null(strstr(safetensors_meta(&f, "classes"), "\"bee\""));
    assert_non_null(safetensors_find(&f, "optimizer.exp_avg_sq.fc.weight"));

    t = safetensors_find(&f, "layer1.0.bn1.num_batches_tracked");
    assert_int_equal(t->dtype, SAFETENSORS_I64);
    assert_int_equal(t->ndim, 0);
    assert_int_equal(safetensors_read(&f, t, &count, &why), 0);
    assert_int_equal(count, 2);

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

/* A counter in memory is a float, and a file may bring any number into it. */
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
        write_checkpoint(&r, path);
        assert_int_equal(safetensors_open(&f, path, &why), 0);
        assert_int_equal(
            safetensors_read(&f, safetensors_find(&f, seg->tensor->name), &count, &why),
            0);
        assert_true(count == want[i]);
        safetensors_close(&f);
    }
    run_release(&r);
}

static void damage(const char *file, long at)
{
    FILE *f = fopen(file, "r+b");
    int c;

    assert_non_null(f);
    (void)fseek(f, at, SEEK_SET);
    c = fgetc(f);
    (void)fseek(f, at, SEEK_SET);
    (void)fputc(c ^ 1, f);
    (void)fclose(f);
}

/* One bit anywhere, or a missing end: refused, and the session is as it was. */
static void test_damage(void **state)
{
    static const long at[] = {9, 300, 20000, 1000000};
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

        write_checkpoint(&a, path);
        if (i < 4)
            damage(path, at[i]);
        else
            assert_int_equal(truncate(path, 1000000), 0);
        assert_int_equal(checkpoint_read(path, &b.s, &got, &classes, &why), -1);
        assert_non_null(strstr(why.buf, path));
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

    (void)checkpoint_read(path, &r->s, &got, &(struct class_list){other, 10}, &why);
}

/* The checkpoint at `path` with another text in its metadata, and a right checksum. */
static void rewrite(const char *key, const char *text)
{
    struct strbuf why = STRBUF_INIT;
    struct safetensors_writer w = {0};
    struct safetensors f;
    char **data;

    assert_int_equal(safetensors_open(&f, path, &why), 0);
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
    assert_int_equal(safetensors_writer_commit(&w, path, &why), 0);
    safetensors_writer_release(&w);
    for (size_t i = 0; i < f.n; i++)
        free(data[i]);
    free(data);
    safetensors_close(&f);
}

/* A checkpoint whose checksum is right, and whose state no run can have: passed over. */
static void test_nonsense(void **state)
{
    static const struct {
        const char *was, *becomes, *says;
    } rows[] = {
        {"\"epoch\":3", "\"epoch\":-3", "epoch is no number from 0 to 1000000000"},
        {"\"epoch\":3", "\"epoch\":3.5", "epoch is no number"},
        {"\"epoch\":3", "\"epoch\":4", "step 3 is not of epoch 4 with 1 updates"},
        {"\"updates_per_epoch\":1", "\"updates_per_epoch\":4",
         "step 3 is not of epoch 3"},
        {"\"updates_per_epoch\":1", "\"updates_per_epoch\":9000000000000000000",
         "updates_per_epoch is no number"},
        {"\"micro\":3", "\"micro\":-1", "micro is no number"},
        {"\"loss_scale\":1", "\"loss_scale\":0", "loss_scale is no number above 0"},
        {"\"loss_scale\":1", "\"loss_scale\":1e39", "loss_scale is no number above 0"},
        {"\"growth_count\":0", "\"growth_count\":4294967296",
         "growth_count is no number"},
        {"\"top1\":2", "\"top1\":\"x\"", "top1 is no number"},
        {"\"best_top1\":61.7", "\"best_top1\":\"x\"", NULL},
    };
    struct run_state got;
    struct safetensors f;
    struct run a;

    (void)state;
    run_init(&a, NULL);
    run_steps(&a, 3);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct strbuf why = STRBUF_INIT, text = STRBUF_INIT;
        const char *was, *at;

        write_checkpoint(&a, path);
        assert_int_equal(safetensors_open(&f, path, &why), 0);
        was = safetensors_meta(&f, "trainc");
        at = strstr(was, rows[i].was);
        assert_non_null(at);
        strbuf_add(&text, was, (size_t)(at - was));
        strbuf_addf(&text, "%s%s", rows[i].becomes, at + strlen(rows[i].was));
        safetensors_close(&f);
        rewrite("trainc", text.buf);
        got = some_state;
        if (!rows[i].says) {
            assert_int_equal(checkpoint_read(path, &a.s, &got, &classes, &why), 0);
            assert_true(got.best_score == -1);
            strbuf_release(&text);
            continue;
        }
        assert_int_equal(checkpoint_read(path, &a.s, &got, &classes, &why), -1);
        if (!strstr(why.buf, path) || !strstr(why.buf, rows[i].says))
            fail_msg("'%s' does not say '%s'", why.buf, rows[i].says);
        assert_memory_equal(&got, &some_state, sizeof(got));
        strbuf_release(&text);
        strbuf_release(&why);
    }
    run_release(&a);
}

static void read_as_sgd(void *arg)
{
    struct run *r = arg;
    struct strbuf why = STRBUF_INIT;
    struct run_state got;

    (void)checkpoint_read(path, &r->s, &got, &classes, &why);
}

static void test_refused(void **state)
{
    char text[2000];
    struct run a, b;

    (void)state;
    run_init(&a, adamw_ema);
    run_init(&b, NULL);
    write_checkpoint(&a, path);
    assert_int_equal(run_child(read_other_classes, &a, text, sizeof(text)), 1);
    assert_non_null(strstr(text, "yak"));
    assert_non_null(strstr(text, "jay"));
    assert_int_equal(run_child(read_as_sgd, &b, text, sizeof(text)), 1);
    assert_non_null(strstr(text, "adamw"));
    rewrite("classes", "[\"ant\", 5]");
    assert_int_equal(run_child(read_other_classes, &a, text, sizeof(text)), 1);
    assert_non_null(strstr(text, "its class 1 has no name"));
    run_release(&a);
    run_release(&b);
}

static int count_files(const char *start)
{
    int n, found = 0;
    char **name = dir_list(dir, &n);

    for (int i = 0; i < n; i++)
        found += !strncmp(name[i], start, strlen(start));
    dir_list_free(name, n);
    return found;
}

static bool same_file(const char *a, const char *b)
{
    char *x = path_join(dir, a), *y = path_join(dir, b);
    struct stat s, t;
    bool same = !stat(x, &s) && !stat(y, &t) && s.st_ino == t.st_ino;

    free(x);
    free(y);
    return same;
}

static void resume_or_die(void *arg)
{
    const struct saves v = {dir, &classes, "", 2};
    struct run_state got;

    (void)saves_resume(&v, &((struct run *)arg)->s, &got);
}

/* A damaged file is named where it is passed over, not each time the folder is read. */
static void look_and_save(void *arg)
{
    const struct saves v = {dir, &classes, "", 2};
    struct run *r = arg;

    log_level_set(LOG_WARNING);
    (void)saves_exist(dir);
    (void)saves_write(&v, &r->s, &some_state, true, false);
}

static void test_saves(void **state)
{
    const struct saves v = {dir, &classes, "SEED: 0\n", 2};
    struct run_state s = some_state, got;
    char text[2000];
    struct run a, b;

    (void)state;
    run_init(&a, NULL);
    run_init(&b, NULL);
    assert_false(saves_resume(&v, &a.s, &got));
    for (s.epoch = 1; s.epoch <= 4; s.epoch++) {
        run_steps(&a, 1);
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
    assert_same_array(&a, &b, MEMORY_WEIGHTS);
    assert_int_equal(session_control(&b.s).step, 5);

    /* The newest is damaged (by both names): the one before it. */
    char *newest = path_join(dir, "last.safetensors");

    damage(newest, 500000);
    free(newest);
    assert_true(saves_resume(&v, &b.s, &got));
    assert_int_equal(session_control(&b.s).step, 4);
    for (int i = 0; i < 2; i++) {
        char *file = path_join(dir, i ? "best.safetensors" : "ckpt_epoch_3.safetensors");

        damage(file, 500000);
        free(file);
    }
    assert_int_equal(run_child(resume_or_die, &b, text, sizeof(text)), 1);
    assert_non_null(strstr(text, "none of the"));

    char *torn = path_join(dir, "ckpt_step_5.safetensors");

    assert_int_equal(file_write_atomic(torn, "torn", 4), 0);
    free(torn);
    assert_int_equal(run_child(look_and_save, &b, text, sizeof(text)), 0);
    assert_null(strstr(text, "passed over"));
    run_release(&a);
    run_release(&b);
}

/* What is said of the room that a checkpoint takes, before there is anything to save. */
static void test_size(void **state)
{
    struct session bare;
    struct stat st;
    struct run r;
    size_t size;

    (void)state;
    run_init(&r, adamw_ema);
    write_checkpoint(&r, path);
    session_init(&bare, &r.cfg,
                 &(struct session_options){.train = true, .images = BATCH});
    size = checkpoint_size(&bare);
    assert_int_equal(stat(path, &st), 0);
    assert_in_range(size, (size_t)st.st_size * 9 / 10, (size_t)st.st_size * 11 / 10);
    session_release(&bare);
    run_release(&r);
}

/* No room for the new file: it is not there, the old ones are, and the caller knows. */
static void test_disk_full(void **state)
{
    const struct saves v = {dir, &classes, "SEED: 0\n", 2};
    struct run_state s = some_state, got;
    struct rlimit limit, small;
    struct run a;

    (void)state;
    run_init(&a, NULL);
    run_steps(&a, 1);
    s.epoch = 1;
    assert_int_equal(saves_write(&v, &a.s, &s, true, true), 0);
    run_steps(&a, 1);
    s.epoch = 2;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small = (struct rlimit){100000, limit.rlim_max};
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(saves_write(&v, &a.s, &s, true, true), -1);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(count_files("ckpt_"), 1);
    assert_true(same_file("last.safetensors", "ckpt_epoch_0.safetensors"));
    assert_true(saves_resume(&v, &a.s, &got));
    assert_int_equal(got.epoch, 1);
    run_release(&a);
}

static void load_pretrained(void *arg)
{
    pretrained_load(&((struct run *)arg)->s, path);
}

/* A state dict of `r` as others write it: bf16, a prefix, without `leave_out`. */
static void write_state_dict(struct run *r, const char *prefix, const char *leave_out)
{
    const struct flat *f = session_flat(&r->s);
    struct safetensors_writer w = {0};
    struct strbuf why = STRBUF_INIT;
    uint16_t *half = xcalloc((size_t)f->weights_len, sizeof(*half));

    (void)run_weights(r);
    for (int i = 0; i < f->nsegment; i++) {
        const struct segment *s = &f->segment[i];
        const struct tensor *t = s->tensor;
        char *name = xasprintf("%s%s", prefix, t->name);
        bool conv = t->layout == LAYOUT_IMAGE;

        for (int64_t k = 0; k < s->len; k++) {
            int64_t in = conv ? t->dim[1] : 1, area = conv ? t->dim[2] * t->dim[3] : 1;
            int64_t o = k / (in * area), c = k / area % in, p = k % area;
            int64_t at = conv ? (o * area + p) * in + c : k;

            half[s->offset + k] = bf16_from_float(r->weights[s->offset + at]);
        }
        if (strcmp(t->name, leave_out) != 0 && !strstr(t->name, "num_batches"))
            safetensors_writer_add(&w, name, SAFETENSORS_BF16, t->ndim, t->dim,
                                   half + s->offset);
        free(name);
    }
    assert_int_equal(safetensors_writer_commit(&w, path, &why), 0);
    safetensors_writer_release(&w);
    free(half);
}

static void test_pretrained(void **state)
{
    char text[4000];
    struct run a, b, c;
    const struct flat *f;
    int moved = 0;

    (void)state;
    run_init(&a, NULL);
    run_init(&b, (const char *[]){"SEED", "7", NULL});
    run_init(&c, (const char *[]){"MODEL.NUM_CLASSES", "5", NULL});
    f = session_flat(&a.s);
    run_steps(&a, 1);
    write_state_dict(&a, "module.", "");
    load_pretrained(&b);
    (void)run_weights(&a);
    (void)run_weights(&b);
    for (int64_t i = 0; i < f->param_len; i++) {
        assert_true(b.weights[i] == bf16_to_float(bf16_from_float(a.weights[i])));
        moved += b.weights[i] != 0;
    }
    assert_true(moved > 200000);

    /* Another number of classes: the classifier stays, all else is loaded. */
    load_pretrained(&c);
    (void)run_weights(&c);
    assert_string_equal(session_flat(&c.s)->segment[0].tensor->name, "fc.bias");
    for (int i = 0; i < f->nparam; i++) {
        const struct segment *s = &f->segment[i], *t = &session_flat(&c.s)->segment[i];

        if (strncmp(s->tensor->name, "fc.", 3) != 0)
            assert_memory_equal(b.weights + s->offset, c.weights + t->offset,
                                (size_t)s->len * sizeof(float));
    }

    write_state_dict(&a, "", "layer3.1.conv2.weight");
    assert_int_equal(run_child(load_pretrained, &b, text, sizeof(text)), 1);
    assert_non_null(strstr(text, "does not fit resnet20: 1 of its tensors"));
    run_release(&a);
    run_release(&b);
    run_release(&c);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test_setup_teardown(test_round_trip, setup, teardown),
        cmocka_unit_test_setup_teardown(test_file, setup, teardown),
        cmocka_unit_test_setup_teardown(test_counters, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damage, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nonsense, setup, teardown),
        cmocka_unit_test_setup_teardown(test_saves, setup, teardown),
        cmocka_unit_test_setup_teardown(test_size, setup, teardown),
        cmocka_unit_test_setup_teardown(test_disk_full, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pretrained, setup, teardown),
    };

    return cmocka_run_group_tests(test, NULL, NULL);
}
