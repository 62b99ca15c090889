/*
 * Numbers of a run: Swin's scaled learning rates, counts of updates, the precision and
 * loss scale of a device, the parameters with weight decay; also mean losses and the
 * progress line.
 */
#include <math.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "ops/reference.h"
#include "ops/update.h"
#include "session/build.h"
#include "session/devices.h"
#include "session/plan.h"
#include "tests/child.h"
#include "tests/config_init.h"
#include "tests/session/train_run.h"
#include "tests/test.h"
#include "train/evaluate.h"
#include "train/progress.h"

static bool no_half(struct device *dev, enum dtype d)
{
    (void)dev;
    return d == DTYPE_F32;
}

static bool has_bf16(struct device *dev, enum dtype d)
{
    (void)dev;
    return d == DTYPE_F32 || d == DTYPE_BF16;
}

static const struct backend slow = {
    .name = "slow", .has_dtype = no_half, .preferred_half = DTYPE_BF16};
static const struct backend fast = {
    .name = "fast", .has_dtype = has_bf16, .preferred_half = DTYPE_BF16};

/* The plan of resnet50 with more keys and values, up to NULL; `images` as in
 * plan_init(). */
static struct plan plan_of(const struct backend *backend, int64_t images,
                           const char *const *more)
{
    struct config cfg;
    struct plan p;

    config_init(&cfg);
    config_set(&cfg, "MODEL.TYPE", "resnet");
    config_set(&cfg, "MODEL.NAME", "resnet50");
    for (; *more; more += 2)
        config_set(&cfg, more[0], more[1]);
    plan_init(&p, &cfg, images, NULL, backend, NULL);
    arena_release(&p.mem); /* tests read only the numbers */
    config_release(&cfg);
    return p;
}

static void assert_close(double got, double want)
{
    if (!(fabs(got - want) <= 1e-12 * fabs(want)))
        fail_msg("%.17g, not %.17g", got, want);
}

/* Swin's rates at its batch of 128, and at 1024 (eight devices there, one batch here). */
static void test_scaled_rates(void **state)
{
    struct plan p = plan_of(&slow, 1281167, (const char *[]){NULL});

    (void)state;
    assert_close(p.schedule.base, 1.25e-4);
    assert_close(p.schedule.warmup_start, 1.25e-7);
    assert_close(p.schedule.min, 1.25e-6);
    p = plan_of(&slow, 1281167, (const char *[]){"DATA.BATCH_SIZE", "1024", NULL});
    assert_close(p.schedule.base, 1e-3);
    assert_close(p.schedule.warmup_start, 1e-6);
    assert_close(p.schedule.min, 1e-5);
    assert_int_equal(p.updates_per_epoch, 1251);
    assert_int_equal(p.warmup_updates, 25020);
    assert_close(schedule_lr(&p.schedule, 12510), 5.005e-4);
    p = plan_of(&slow, 1281167,
                (const char *[]){"DATA.BATCH_SIZE", "256", "TRAIN.ACCUMULATION_STEPS",
                                 "4", NULL});
    assert_close(p.schedule.base, 1e-3);
    assert_int_equal(p.updates_per_epoch, 1251);
    p = plan_of(&slow, 1281167, (const char *[]){"TRAIN.SCALE_LR", "False", NULL});
    assert_close(p.schedule.base, 5e-4);
}

static void test_counts(void **state)
{
    /* 103 images: 10 batches of 10, 3 updates of 3 batches, and one update of the
     * rest. */
    struct plan p =
        plan_of(&slow, 103,
                (const char *[]){"DATA.BATCH_SIZE", "10", "TRAIN.ACCUMULATION_STEPS", "3",
                                 "TRAIN.EPOCHS", "7", NULL});

    (void)state;
    assert_int_equal(p.updates_per_epoch, 4);
    assert_int_equal(p.updates, 28);
    assert_int_equal(p.val_batch, 10);
    /* Fewer batches than an update may use: one update, at the learning rate of a full
     * one. */
    p = plan_of(&slow, 103,
                (const char *[]){"DATA.BATCH_SIZE", "32", "TRAIN.ACCUMULATION_STEPS", "8",
                                 "TRAIN.SCALE_LR_BASE", "256", NULL});
    assert_int_equal(p.accumulation.group, 3);
    assert_int_equal(p.updates_per_epoch, 1);
    assert_close(p.lr_factor, 1);
    p = plan_of(&slow, 103,
                (const char *[]){"DATA.BATCH_SIZE", "10", "DATA.VAL_BATCH_SIZE", "4",
                                 "TRAIN.CLIP_MODE", "value", "TRAIN.CLIP_GRAD", "2",
                                 NULL});
    assert_int_equal(p.val_batch, 4);
    assert_true(p.clip_norm == 0 && p.clip_value == 2);
}

static void test_precision(void **state)
{
    struct plan p = plan_of(&slow, 0, (const char *[]){NULL});

    (void)state;
    assert_int_equal(p.level, AMP_O0); /* auto, on a device without a fast 16-bit type */
    assert_non_null(p.amp_remark);
    assert_false(p.amp_slow);
    assert_string_equal(p.compute, "fp32");
    p = plan_of(&fast, 0, (const char *[]){NULL});
    assert_int_equal(p.level, AMP_O1);
    assert_null(p.amp_remark);
    assert_string_equal(p.compute, "bf16");
    assert_true(p.first_scale == 1 && !p.scaler.dynamic);
    p = plan_of(&slow, 0, (const char *[]){"AMP.DTYPE", "bf16", NULL});
    assert_int_equal(p.level, AMP_O1); /* set by name */
    assert_true(p.amp_slow && strstr(p.amp_remark, "trains in fp32"));
    p = plan_of(&slow, 0,
                (const char *[]){"AMP.DTYPE", "bf16", "AMP_ENABLE", "False", NULL});
    assert_false(p.amp_slow);
    p = plan_of(&fast, 0, (const char *[]){"AMP_ENABLE", "False", NULL});
    assert_int_equal(p.level, AMP_O0);
    assert_null(p.amp_remark);
}

/* Master weights and rounded norms, by level and with keys that override it. */
static void test_master_weights(void **state)
{
    static const struct {
        const char *level, *master, *norms;
        bool master_weights, round_norms;
    } rows[] = {
        {"O1", "None", "None", true, false},   {"O2", "None", "None", true, false},
        {"O3", "None", "None", false, false},  {"O3", "True", "None", true, false},
        {"O2", "False", "True", false, false}, {"O2", "None", "False", true, true},
        {"O1", "False", "False", true, false}, {"O3", "None", "False", false, true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct plan p =
            plan_of(&fast, 0,
                    (const char *[]){"AMP_OPT_LEVEL", rows[i].level, "AMP.MASTER_WEIGHTS",
                                     rows[i].master, "AMP.KEEP_BATCHNORM_FP32",
                                     rows[i].norms, NULL});

        assert_int_equal(p.master_weights, rows[i].master_weights);
        assert_int_equal(p.round_norms, rows[i].round_norms);
        assert_int_equal(plan_rounds(&p), !rows[i].master_weights || rows[i].round_norms);
    }
}

static void test_loss_scale(void **state)
{
    struct plan p = plan_of(&fast, 0, (const char *[]){"AMP.DTYPE", "fp16", NULL});

    (void)state;
    assert_true(p.scaler.dynamic && p.first_scale == 65536);
    assert_true(p.scaler.growth == 2 && p.scaler.backoff == 0.5);
    assert_int_equal(p.scaler.growth_interval, 2000);
    p = plan_of(&fast, 0,
                (const char *[]){"AMP.DTYPE", "fp16", "AMP.GROWTH_FACTOR", "3",
                                 "AMP.BACKOFF_FACTOR", "0.25", "AMP.GROWTH_INTERVAL", "7",
                                 "AMP.MIN_SCALE", "2", NULL});
    assert_true(p.scaler.growth == 3 && p.scaler.backoff == 0.25 && p.scaler.min == 2);
    assert_int_equal(p.scaler.growth_interval, 7);
    p = plan_of(&fast, 0,
                (const char *[]){"AMP.DTYPE", "fp16", "AMP_OPT_LEVEL", "O3", NULL});
    assert_true(!p.scaler.dynamic && p.first_scale == 1);
    p = plan_of(&fast, 0,
                (const char *[]){"AMP.DTYPE", "fp16", "AMP.LOSS_SCALE", "128", NULL});
    assert_true(!p.scaler.dynamic && p.first_scale == 128);
    p = plan_of(&fast, 0, (const char *[]){"AMP.LOSS_SCALE", "4", NULL});
    assert_true(!p.scaler.dynamic && p.first_scale == 4);
}

/* With ten updates per epoch: keys in epochs become updates, other keys are copied. */
static void test_schedule_keys(void **state)
{
    struct plan p =
        plan_of(&slow, 103,
                (const char *[]){"DATA.BATCH_SIZE", "10", "TRAIN.LR_SCHEDULER.NAME",
                                 "step", "TRAIN.LR_SCHEDULER.DECAY_EPOCHS", "7",
                                 "TRAIN.LR_SCHEDULER.DECAY_RATE", "0.2", NULL});
    const struct schedule *s = &p.schedule;

    (void)state;
    assert_int_equal(s->kind, SCHEDULE_STEP);
    assert_int_equal(s->every, 70);
    assert_true(s->rate == 0.2 && s->warmup_prefix);
    p = plan_of(&slow, 103,
                (const char *[]){"DATA.BATCH_SIZE", "10", "TRAIN.LR_SCHEDULER.NAME",
                                 "multistep", "TRAIN.LR_SCHEDULER.MULTISTEPS", "[3, 8]",
                                 "TRAIN.LR_SCHEDULER.GAMMA", "0.3", NULL});
    assert_int_equal(s->kind, SCHEDULE_MULTISTEP);
    assert_true(s->rate == 0.3 && s->nmilestone == 2);
    assert_true(s->milestone[0] == 30 && s->milestone[1] == 80);
    p = plan_of(&slow, 103,
                (const char *[]){"TRAIN.LR_SCHEDULER.NAME", "poly",
                                 "TRAIN.LR_SCHEDULER.POWER", "2",
                                 "TRAIN.LR_SCHEDULER.WARMUP_PREFIX", "False",
                                 "DATA.BATCH_SIZE", "10", NULL});
    assert_true(s->power == 2 && !s->warmup_prefix);
    p = plan_of(&slow, 103,
                (const char *[]){"DATA.BATCH_SIZE", "10", "TRAIN.LR_SCHEDULER.NAME",
                                 "onecycle", "TRAIN.LR_SCHEDULER.PCT_START", "0.4",
                                 "TRAIN.LR_SCHEDULER.DIV_FACTOR", "5",
                                 "TRAIN.LR_SCHEDULER.FINAL_DIV_FACTOR", "50", NULL});
    assert_true(s->pct_start == 0.4 && s->div == 5 && s->final_div == 50);
}

static void test_mix_keys(void **state)
{
    struct plan p = plan_of(&slow, 0, (const char *[]){NULL});

    (void)state;
    assert_true(p.mix && p.mix_off_epoch == INT64_MAX);
    p = plan_of(&slow, 0,
                (const char *[]){"AUG.MIXUP", "0", "AUG.CUTMIX", "0",
                                 "AUG.MIXUP_OFF_EPOCH", "3", NULL});
    assert_true(!p.mix && p.mix_off_epoch == 3);
    p = plan_of(&slow, 0,
                (const char *[]){"AUG.MIXUP", "0", "AUG.CUTMIX", "0", "AUG.CUTMIX_MINMAX",
                                 "[0.2, 0.8]", NULL});
    assert_true(p.mix); /* minimum and maximum of the box enable cutmix */
}

/* 268,336 of resnet20's 269,722 elements: all but norms and the bias of fc. */
static void test_decay_groups(void **state)
{
    struct run r;
    int64_t decayed = 0, all = 0;

    (void)state;
    run_init(&r, NULL);
    for (int i = 0; i < r.s.build[SESSION_TRAIN].nsegment; i++) {
        const struct update_segment *s = &r.s.build[SESSION_TRAIN].segment[i];

        all += s->len;
        decayed += s->weight_decay > 0 ? s->len : 0;
    }
    assert_int_equal(all, 269722);
    assert_int_equal(decayed, 268336);
    run_release(&r);
    run_init(&r, (const char *[]){"TRAIN.WEIGHT_DECAY_1D", "True", NULL});
    for (int i = 0; i < r.s.build[SESSION_TRAIN].nsegment; i++)
        assert_true(r.s.build[SESSION_TRAIN].segment[i].weight_decay > 0);
    run_release(&r);
}

static void too_few(void *arg)
{
    (void)arg;
    (void)plan_of(&slow, 30, (const char *[]){"DATA.BATCH_SIZE", "32", NULL});
}

static void no_batch_size(void *arg)
{
    (void)arg;
    (void)plan_of(&slow, 30, (const char *[]){"DATA.BATCH_SIZE", "auto", NULL});
}

static void unfrozen(void *arg)
{
    (void)arg;
    run_init(&(struct run){0}, (const char *[]){"TRAIN.FREEZE", "['layer9.*']", NULL});
}

static void test_refused(void **state)
{
    (void)state;
    check_leaves(too_few, NULL, EXIT_USAGE, "30 images");
    check_leaves(no_batch_size, NULL, EXIT_USAGE, "DATA.BATCH_SIZE auto");
    check_leaves(unfrozen, NULL, EXIT_USAGE,
                 "no parameter of resnet20 matches 'layer9.*'");
}

/* Samples whose loss was not finite do not count as zeros in the mean. */
static void test_mean_loss(void **state)
{
    const struct metrics then = {
        .loss_sum = 4, .measured = 4, .count = 6, .nonfinite = 1};
    const struct metrics now = {
        .loss_sum = 10, .measured = 6, .count = 12, .nonfinite = 3};
    const struct metrics none = {.count = 6, .nonfinite = 3};
    struct metrics m = metrics_since(&now, &then);

    (void)state;
    if (!(fabs(metrics_loss(&m) - 3) < 1e-12))
        fail_msg("the mean loss is %g, not 3", metrics_loss(&m));
    assert_true(isnan(metrics_loss(&none)));
}

/* The loss of an evaluation with a non-finite sample is NaN, not the mean of the rest. */
static void test_score_loss(void **state)
{
    struct evaluation e = {.raw = {.loss_sum = 4, .measured = 4, .count = 4},
                           .ema = {.loss_sum = 4, .measured = 4, .count = 6}};

    (void)state;
    e.ema.nonfinite = 1;
    assert_close(evaluate_scores(&e, SESSION_RAW).value[SCORE_LOSS], 1);
    assert_true(isnan(evaluate_scores(&e, SESSION_EMA).value[SCORE_LOSS]));
}

static void test_progress(void **state)
{
    static const struct progress train = {
        "Train 0/2", 259, 500, 5, 660, "loss 0.638, lr 4.22e-02, data 0 %", .initial = 0};
    static const struct {
        int width;
        const char *want;
    } narrow[] = {
        {91, "Train 0/2:  52%|##   | 259/500 [00:05<00:05, 660 img/s, loss 0.638, lr "
             "4.22e-02, data 0 %]"},
        {89, "Train 0/2:  52% 259/500 [00:05<00:05, 660 img/s, loss 0.638, lr 4.22e-02, "
             "data 0 %]"},
        {80, "Train 0/2:  52% 259/500 [00:05<00:05, loss 0.638, lr 4.22e-02, data 0 %]"},
        {70, "Train 0/2:  52% 259/500 [00:05<00:05, loss 0.638, lr 4.22e-02]"},
        {60, "Train 0/2:  52% 259/500 [00:05<00:05, loss 0.638]"},
        {40, "Train 0/2:  52% 259/500 [loss 0.638]"},
        {30, "Train 0/2:  52% 259/500 [loss"},
    };
    struct strbuf s = STRBUF_INIT;

    (void)state;
    progress_text(
        &s,
        &(struct progress){"Train 3/30", 176, 390, 12, 1842, "loss 1.234", .initial = 0},
        100);
    assert_string_equal(s.buf, "Train 3/30:  45%|#############                 | 176/390 "
                               "[00:12<00:15, 1842 img/s, loss 1.234]");
    strbuf_reset(&s); /* resumed at 170: six in twelve seconds, four are left */
    progress_text(&s, &(struct progress){"Train", 176, 180, 12, 1842, "", .initial = 170},
                  100);
    assert_non_null(strstr(s.buf, "176/180 [00:12<00:08,"));
    for (size_t i = 0; i < sizeof(narrow) / sizeof(*narrow); i++) {
        strbuf_reset(&s);
        progress_text(&s, &train, narrow[i].width);
        assert_string_equal(s.buf, narrow[i].want);
    }
    strbuf_reset(&s);
    progress_text(&s, &(struct progress){"Val", 0, 10, 0, 0, "", .initial = 0}, 40);
    assert_true(s.len <= 39); /* never wider than the terminal */
    strbuf_reset(&s);
    progress_text(&s, &(struct progress){"Val", 10, 10, 4000, 5, "", .initial = 0}, 80);
    assert_non_null(strstr(s.buf, "100%|####"));
    assert_non_null(strstr(s.buf, "[1:06:40<00:00"));
    strbuf_release(&s);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(test_schedule_keys), cmocka_unit_test(test_mix_keys),
        cmocka_unit_test(test_scaled_rates),  cmocka_unit_test(test_counts),
        cmocka_unit_test(test_precision),     cmocka_unit_test(test_loss_scale),
        cmocka_unit_test(test_decay_groups),  cmocka_unit_test(test_refused),
        cmocka_unit_test(test_progress),      cmocka_unit_test(test_mean_loss),
        cmocka_unit_test(test_score_loss),    cmocka_unit_test(test_master_weights),
    };

    return cmocka_run_group_tests(test, NULL, NULL);
}
