/* Defaults that follow from the job: session/job.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/value.h"
#include "ops/optimizer.h"
#include "session/job.h"
#include "session/model_config.h"
#include "session/schedules.h"
#include "tests/config_init.h"
#include "tests/test.h"

static void follow(struct config *cfg, const struct job *job)
{
    job_preset_model(cfg, job);
    model_preset(cfg);
    job_preset_input(cfg);
    input_preset(cfg);
    job_preset(cfg, job);
}

/* Keys set by the user are unchanged, and dependent defaults follow them. */
static void what_is_set_stays(void **state)
{
    const struct job job = {.images = 1600, .side = 300, .world = 1};
    struct config cfg;

    (void)state;
    config_init(&cfg);
    config_set_for(&cfg, "TRAIN.EPOCHS", "5", "--epochs");
    config_set_for(&cfg, "TRAIN.BASE_LR", "0.3", "--lr");
    config_set_for(&cfg, "AUG.MIXUP", "0.7", "--mixup");
    follow(&cfg, &job);
    assert_string_equal(cfg.model.name, "resnet18");
    assert_int_equal(cfg.train.epochs, 5);
    assert_true(cfg.train.base_lr == 0.3 && cfg.aug.mixup == 0.7);
    assert_true(cfg.train.warmup_lr == 0.003);
    assert_int_equal(cfg.data.batch_size, 64);
    assert_false(cfg.train.scale_lr);
    assert_int_equal(schedule_fill(&cfg, 25, 1).warmup, 12);
    assert_true(config_is_given(&cfg, "AUG.MIXUP"));
    assert_false(config_is_given(&cfg, "AUG.CUTMIX"));
    assert_non_null(strstr(config_origin(&cfg, "AUG.CUTMIX"), "under 100000 images"));
    config_release(&cfg);
}

/* A tenth of the run is the limit of the default warm-up only. */
static void given_warmup_is_whole(void **state)
{
    const struct job job = {.images = 1600, .side = 300, .world = 1};
    struct config cfg;

    (void)state;
    config_init(&cfg);
    config_set_for(&cfg, "TRAIN.EPOCHS", "10", "--epochs");
    config_set_for(&cfg, "TRAIN.WARMUP_EPOCHS", "3", "--warmup-epochs");
    follow(&cfg, &job);
    assert_false(cfg.train.warmup_share.has);
    assert_int_equal(schedule_fill(&cfg, 25, 1).warmup, 75);
    config_release(&cfg);
}

/* AUG.LIST replaces augmentations, so their defaults do not depend on the job. */
static void list_replaces_defaults(void **state)
{
    const struct job job = {.images = 1600, .side = 300, .world = 1, .glyphs = true};
    struct config cfg;

    (void)state;
    config_init(&cfg);
    config_set_for(&cfg, "AUG.LIST", "[{name: rotate}]", "--opts");
    follow(&cfg, &job);
    assert_null(config_origin(&cfg, "AUG.HFLIP"));
    assert_null(config_origin(&cfg, "AUG.AUTO_AUGMENT"));
    assert_null(config_origin(&cfg, "AUG.REPROB"));
    assert_non_null(config_origin(&cfg, "AUG.CUTMIX"));
    config_release(&cfg);
}

/* At the end of a run of any length, EMA weights average its last part: nothing of the
 * first half is left. */
static void ema_of_short_runs(void **state)
{
    static const struct {
        int64_t images;
        const char *epochs;
    } runs[] = {{8, "1"},      {100, "3"},    {1200, "6"},
                {1200, "100"}, {50000, "30"}, {1281167, "300"}};

    (void)state;
    for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
        const struct job job = {.images = runs[i].images, .side = 300, .world = 1};
        double left = 1, total;
        struct config cfg;

        config_init(&cfg);
        config_set_for(&cfg, "TRAIN.EPOCHS", runs[i].epochs, "--epochs");
        follow(&cfg, &job);
        total = (double)(job.images / cfg.data.batch_size * cfg.train.epochs);
        for (double t = 1; t <= total; t++) {
            double d = cfg.train.ema.decay * (1 - exp(-t / cfg.train.ema.ramp_steps));

            left = t > total / 2 ? left * d : 1;
        }
        assert_true(left < 0.15);
        assert_true(total < 100 || left < 0.01);
        config_release(&cfg);
    }
}

/* The learning rate grows with the actual batch, over all devices. */
static void rates_follow_the_batch(void **state)
{
    struct job job = {.images = 100000, .side = 300, .world = 1};
    double rate[3];

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct config cfg;

        config_init(&cfg);
        job.world = i == 1 ? 2 : 1;
        config_set_for(&cfg, "DATA.BATCH_SIZE", i == 2 ? "64" : "32", "-b");
        follow(&cfg, &job);
        rate[i] = cfg.train.base_lr;
        config_release(&cfg);
    }
    assert_true(rate[1] == 2 * rate[0] && rate[2] == rate[1]);
}

/* Every optimizer of the table has learning rates. */
static void optimizers_have_rates(void **state)
{
    const struct job job = {.images = 1000, .side = 300, .world = 1};

    (void)state;
    for (const struct optimizer *o = optimizer_table; o->name; o++) {
        struct config cfg;

        config_init(&cfg);
        config_set_for(&cfg, "TRAIN.OPTIMIZER.NAME", o->name, "--opt");
        follow(&cfg, &job);
        assert_non_null(strstr(config_origin(&cfg, "TRAIN.BASE_LR"), o->name));
        config_release(&cfg);
    }
}

/* The input size and related keys come from the model (timm's default_cfg). */
static void inputs_are_the_models(void **state)
{
    static const struct {
        const char *model, *crop, *interpolation;
        int size;
        double mean;
    } rows[] = {{"swin_base_patch4_window12_384", "1", "bicubic", 384, 0.485},
                {"resnet50", "0.95", "bicubic", 224, 0.485},
                {"resnet50.tv_in1k", "0.875", "bilinear", 224, 0.485},
                {"vit_tiny_patch16_224", "0.9", "bicubic", 224, 0.5},
                {"resnet20", "1", "bicubic", 32, 0.4914}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct config cfg;

        config_init(&cfg);
        config_set_for(&cfg, "MODEL.NAME", rows[i].model, "--model");
        model_preset(&cfg);
        job_preset_input(&cfg);
        assert_int_equal(cfg.data.img_size, rows[i].size);
        assert_true(cfg.data.crop_pct == strtod(rows[i].crop, NULL));
        assert_string_equal(config_get(&cfg, "DATA.INTERPOLATION")->s,
                            rows[i].interpolation);
        assert_true(cfg.data.mean.item[0] == rows[i].mean);
        config_release(&cfg);
    }
}

/* Augmentation is mild for few images and short runs, and Swin's otherwise. */
static void augmentation_follows(void **state)
{
    static const struct {
        int64_t images;
        const char *epochs;
        bool mild;
    } rows[] = {{1000, "300", true}, {1281167, "10", true}, {1281167, "300", false}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct job job = {.images = rows[i].images, .side = 300, .world = 1};
        struct config cfg;

        config_init(&cfg);
        config_set_for(&cfg, "TRAIN.EPOCHS", rows[i].epochs, "--epochs");
        follow(&cfg, &job);
        assert_true((cfg.aug.scale.item[0] > 0.3) == rows[i].mild);
        assert_true(!strcmp(cfg.aug.auto_augment, "none") == rows[i].mild);
        assert_true((cfg.aug.cutmix == 0) == rows[i].mild);
        assert_true((cfg.model.drop_path_rate == 0) == rows[i].mild);
        config_release(&cfg);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_set_stays),     cmocka_unit_test(list_replaces_defaults),
        cmocka_unit_test(ema_of_short_runs),     cmocka_unit_test(rates_follow_the_batch),
        cmocka_unit_test(optimizers_have_rates), cmocka_unit_test(inputs_are_the_models),
        cmocka_unit_test(augmentation_follows),  cmocka_unit_test(given_warmup_is_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
