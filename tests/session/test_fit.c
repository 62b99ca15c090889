/* Tests if a run fits, the message if it does not, and the largest batch, on a device
 * that reports as much memory as the test wants. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/reference.h"
#include "session/fit.h"
#include "tests/child.h"
#include "tests/config_init.h"
#include "tests/session/train_run.h"
#include "tests/test.h"

static size_t memory_free;
static bool memory_shared;
static size_t memory_others; /* used by other programs since the start */
enum { RESERVE = 1 << 20 };

static bool memory(struct device *dev, struct device_memory *m)
{
    (void)dev;
    *m = (struct device_memory){.total = (size_t)1 << 40,
                                .free = memory_free,
                                .reserve = RESERVE,
                                .held = 1 << 20,
                                .peak = 2 << 20,
                                .library = memory_shared ? 0 : (3 << 20) + memory_others,
                                .shared = memory_shared};
    return true;
}

/* This device has hurry(), as devices that time candidates have. */
static bool hurry(struct device *dev, bool enabled)
{
    (void)dev;
    return enabled;
}

static struct backend backend;
static bool times;

/* resnet20 on 32x32 pixels, not compiled, on a device with `bytes` free bytes. */
static void bare(struct session *s, struct config *cfg, size_t bytes)
{
    static const char *const set[][2] = {
        {"MODEL.TYPE", "resnet"},      {"MODEL.NAME", "resnet20"},
        {"DATA.IMG_SIZE", "32"},       {"MODEL.NUM_CLASSES", "10"},
        {"AMP_ENABLE", "False"},       {"AUG.MIXUP", "0"},
        {"AUG.CUTMIX", "0"},           {"DATA.BATCH_SIZE", "64"},
        {"TRAIN.EMA.ENABLE", "False"},
    };

    config_init(cfg);
    for (size_t i = 0; i < sizeof(set) / sizeof(set[0]); i++)
        config_set(cfg, set[i][0], set[i][1]);
    backend = backend_ref;
    backend.memory = memory;
    backend.hurry = times ? hurry : NULL;
    memory_free = bytes;
    *s = (struct session){.cfg = cfg, .backend = &backend};
    s->device = backend.open(&(const struct device_options){0});
}

static void done(struct session *s, struct config *cfg)
{
    session_drop(s);
    backend.close(s->device);
    config_release(cfg);
}

static const struct session_options train = {.train = true, .eval = true};

static size_t need_of(int64_t batch, bool checkpoint)
{
    struct session s;
    struct config cfg;
    size_t need;

    bare(&s, &cfg, 0);
    cfg.data.batch_size = batch;
    cfg.train.use_checkpoint = checkpoint;
    session_compile(&s, &train);
    need = fit_need(&s);
    done(&s, &cfg);
    return need;
}

/* With the memory for `batch` plus 100 bytes, the message suggests that batch. */
static void check_said(int64_t batch)
{
    size_t limit = need_of(batch, false) + 100;
    struct strbuf why = STRBUF_INIT;
    struct config cfg;
    struct session s;
    char fits[80];

    bare(&s, &cfg, limit + RESERVE);
    session_compile(&s, &train);
    assert_false(fit_check(&s, &why));
    (void)snprintf(fits, sizeof(fits), "the largest DATA.BATCH_SIZE that fits is %lld;",
                   (long long)batch);
    if (!strstr(why.buf, fits))
        fail_msg("want '%s' in: %s", fits, why.buf);
    assert_non_null(strstr(why.buf, "out of memory: this run needs"));
    assert_non_null(strstr(why.buf, "arena "));
    assert_non_null(strstr(why.buf, "libraries 1.0 MiB"));
    assert_non_null(strstr(why.buf, "TRAIN.USE_CHECKPOINT True would need"));
    assert_null(strchr(why.buf, '\n'));
    strbuf_release(&why);
    done(&s, &cfg);
}

static void test_said(void **state)
{
    struct strbuf why = STRBUF_INIT;
    struct config cfg;
    struct session s;

    (void)state;
    check_said(56);
    check_said(40);
    check_said(16);
    check_said(5);
    check_said(1);
    bare(&s, &cfg, need_of(64, false) + RESERVE);
    session_compile(&s, &train);
    assert_true(fit_check(&s, &why)); /* to the byte */
    assert_int_equal(why.len, 0);
    memory_free--;
    assert_false(fit_check(&s, &why));
    strbuf_reset(&why);
    memory_free = RESERVE;
    assert_false(fit_check(&s, &why));
    assert_non_null(strstr(why.buf, "not even one image fits"));
    strbuf_release(&why);
    done(&s, &cfg);
}

static void test_checkpoint_saves(void **state)
{
    size_t plain = need_of(64, false), checkpointed = need_of(64, true);
    struct strbuf why = STRBUF_INIT;
    struct config cfg;
    struct session s;
    char percent[60];

    (void)state;
    assert_true(checkpointed < plain);
    (void)snprintf(percent, sizeof(percent), ", %.0f %% less, and fit",
                   100 - 100 * (double)(checkpointed + RESERVE) /
                             (double)(plain + RESERVE));
    bare(&s, &cfg, checkpointed + RESERVE);
    session_compile(&s, &train);
    assert_false(fit_check(&s, &why));
    if (!strstr(why.buf, percent))
        fail_msg("want '%s' in: %s", percent, why.buf);
    strbuf_release(&why);
    done(&s, &cfg);
}

static int64_t batch_of(size_t bytes, int64_t images)
{
    struct session_options o = train;
    struct config cfg;
    struct session s;
    int64_t batch;

    o.images = images;
    bare(&s, &cfg, bytes + RESERVE);
    cfg.data.batch_size = BATCH_SIZE_AUTO;
    batch = fit_batch(&s, &o);
    done(&s, &cfg);
    return batch;
}

static void test_auto(void **state)
{
    static const int64_t batches[] = {3, 8, 24, 32, 40, 104, 264};

    (void)state;
    for (size_t i = 0; i < sizeof(batches) / sizeof(batches[0]); i++) {
        int64_t b = batches[i];

        assert_int_equal(batch_of(need_of(b, false), 0), b);
        if (b >= 8) /* memory for one image more must not change the answer */
            assert_int_equal(batch_of(need_of(b + 1, false) + 10, 0), b);
    }
    assert_int_equal(batch_of(need_of(264, false), 100), 96);
}

/* Timing may choose engines with larger workspaces than the trials had. */
static void test_workspace(void **state)
{
    size_t limit = 268435456; /* CUDNN.WORKSPACE_LIMIT */

    (void)state;
    times = true;
    assert_int_equal(batch_of(need_of(24, false) + limit, 0), 24);
    times = false;
    assert_true(batch_of(need_of(24, false) + limit, 0) > 24);
}

/* A tensor has at most 2^31 elements: 32x32 pixels of 16 channels are 16384 per image. */
static void test_elements(void **state)
{
    (void)state;
    assert_int_equal(batch_of((size_t)1 << 50, 0), 131064);
}

/* On a device with host memory, only a run larger than the machine's memory is
 * rejected. */
static void test_host(void **state)
{
    struct strbuf why = STRBUF_INIT;
    struct config cfg;
    struct session s;

    (void)state;
    for (int huge = 0; huge < 2; huge++) {
        bare(&s, &cfg, 0);
        backend.memory = NULL;
        if (huge)
            config_set(&cfg, "DATA.IMG_SIZE", "32768"); /* about 100 TiB */
        session_compile(&s, &train);
        assert_true(fit_check(&s, &why) == !huge);
        assert_true(huge || !why.len);
        done(&s, &cfg);
    }
    assert_non_null(strstr(why.buf, "out of memory: this run needs"));
    assert_non_null(strstr(why.buf, "are all that the machine has"));
    assert_null(strstr(why.buf, "libraries"));
    strbuf_release(&why);
}

static void nothing_fits(void *arg)
{
    (void)arg;
    (void)batch_of(1000, 0);
}

static void test_refused(void **state)
{
    (void)state;
    check_dies(nothing_fits, NULL, "not even one image fits");
}

/* Kinds below 1 MiB are not listed; libraries come first then. */
static void test_small(void **state)
{
    static const char *const set[][2] = {
        {"MODEL.TYPE", "swin"},
        {"MODEL.NAME", "swin_tiny_patch4_window7_224"},
        {"DATA.IMG_SIZE", "16"},
        {"MODEL.SWIN.PATCH_SIZE", "2"},
        {"MODEL.SWIN.EMBED_DIM", "8"},
        {"MODEL.SWIN.DEPTHS", "[2, 1]"},
        {"MODEL.SWIN.NUM_HEADS", "[1, 2]"},
    };
    struct strbuf why = STRBUF_INIT;
    struct session s;
    struct config cfg;

    (void)state;
    bare(&s, &cfg, 0);
    for (size_t i = 0; i < sizeof(set) / sizeof(set[0]); i++)
        config_set(&cfg, set[i][0], set[i][1]);
    cfg.data.batch_size = 1;
    session_compile(&s, &train);
    assert_false(fit_check(&s, &why));
    if (!strstr(why.buf, " MiB (libraries 1.0 MiB) and "))
        fail_msg("%s", why.buf);
    strbuf_release(&why);
    done(&s, &cfg);
}

/* The memory of libraries is reported as far as it is known. */
static void test_memory(void **state)
{
    struct strbuf text = STRBUF_INIT;
    struct session s;
    struct config cfg;

    (void)state;
    for (int i = 0; i < 2; i++) {
        bare(&s, &cfg, (size_t)1 << 39);
        memory_shared = i;
        strbuf_reset(&text);
        fit_memory(&s, &text);
        memory_shared = false;
        assert_string_equal(
            text.buf,
            i ? "1.0 MiB, libraries, driver and other programs 512.0 GiB; free 512.0 GiB "
                "of 1.0 TiB, peak 2.0 MiB without libraries"
              : "1.0 MiB, libraries 3.0 MiB, driver and other programs 512.0 GiB; free "
                "512.0 GiB of 1.0 TiB, peak 5.0 MiB");
        done(&s, &cfg);
    }
    strbuf_release(&text);
}

/* Checks the end of the memory line, after the memory in use. */
static void says(const struct session *s, const char *want)
{
    struct strbuf text = STRBUF_INIT;
    const char *line;

    fit_memory(s, &text);
    line = strstr(text.buf, "libraries");
    if (!line || strncmp(line, want, strlen(want)) != 0)
        fail_msg("'%s' is not '%s'", text.buf, want);
    strbuf_release(&text);
}

/* The use of other programs counts as libraries' until each program has run twice. After
 * that neither their use nor what they free changes the libraries' share. */
static void test_others(void **state)
{
    struct session s;
    struct config cfg;

    (void)state;
    bare(&s, &cfg, (size_t)1 << 39);
    session_compile(&s, &train);
    fit_settle(&s);
    memory_others = (size_t)5 << 20;
    says(&s, "libraries 8.0 MiB, driver and other programs 512.0 GiB;");
    for (int i = 0; i < SESSION_PROGRAMS; i++)
        if (s.program[i])
            s.program[i]->runs = 2;
    s.program[SESSION_EVAL]->runs = 1; /* not recorded yet */
    fit_settle(&s);
    memory_others = 0;
    says(&s, "libraries 3.0 MiB,");
    s.program[SESSION_EVAL]->runs = 2;
    fit_settle(&s);
    memory_others = (size_t)100 << 30;
    memory_free -= memory_others;
    fit_settle(&s); /* once */
    says(&s, "libraries 3.0 MiB, driver and other programs 612.0 GiB; free 412.0 GiB");
    memory_shared = true;
    memory_free = (size_t)600 << 30;
    says(&s, "libraries 3.0 MiB, driver and other programs 424.0 GiB; free 600.0 GiB");
    memory_shared = false;
    memory_others = 0;
    done(&s, &cfg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_said),      cmocka_unit_test(test_checkpoint_saves),
        cmocka_unit_test(test_auto),      cmocka_unit_test(test_elements),
        cmocka_unit_test(test_host),      cmocka_unit_test(test_refused),
        cmocka_unit_test(test_workspace), cmocka_unit_test(test_memory),
        cmocka_unit_test(test_others),    cmocka_unit_test(test_small),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
