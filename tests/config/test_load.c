/*
 * From argv and files to a checked configuration: precedence, origins of values, all
 * errors at once, and rules between keys. test_interpolation.c tests ${...}.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/cfgnode.h"
#include "config/config.h"
#include "config/print.h"
#include "tests/config/config_support.h"
#include "tests/test.h"

/* defaults < BASE < --cfg, left to right < --opts < flags, in any order */
static void test_precedence(void **state)
{
    struct strbuf s = STRBUF_INIT;
    struct config cfg;
    const char *a, *b;
    char words[300];

    (void)state;
    support_file("base.yaml",
                 "SEED: 1\nTAG: base\nOUTPUT: base\nDATA: {BATCH_SIZE: 1}\n");
    a = support_file("a.yaml", "BASE: base.yaml\nTAG: a\nOUTPUT: a\n"
                               "DATA:\n  BATCH_SIZE: 2\n  IMG_SIZE: 2\n");
    b = support_file("b.yaml", "OUTPUT: b\nDATA: {BATCH_SIZE: 3, IMG_SIZE: 3}\n");
    (void)snprintf(
        words, sizeof(words),
        "--img-size 5 --opts DATA.IMG_SIZE=5 DATA.BATCH_SIZE 4 --cfg %s -c %%s", a);
    assert_true(support_load(&cfg, &s, words, b));
    assert_string_equal(s.buf, "");
    assert_int_equal(cfg.seed, 1);
    assert_string_equal(cfg.tag, "a");
    assert_string_equal(cfg.output, "b");
    assert_int_equal(cfg.data.batch_size, 4);
    assert_int_equal(cfg.data.img_size, 5);
    assert_int_equal(cfg.threads, 0);

    /* and the origin of each */
    assert_non_null(strstr(config_origin(&cfg, "SEED"), "/base.yaml:1:1"));
    assert_non_null(strstr(config_origin(&cfg, "TAG"), "/a.yaml:2:1"));
    assert_non_null(strstr(config_origin(&cfg, "OUTPUT"), "/b.yaml:1:1"));
    assert_string_equal(config_origin(&cfg, "DATA.BATCH_SIZE"), "--opts #2");
    assert_string_equal(config_origin(&cfg, "DATA.IMG_SIZE"), "--img-size");
    assert_null(config_origin(&cfg, "THREADS"));

    /* the tree agrees with the fields and is frozen */
    assert_int_equal(config_get(&cfg, "DATA.IMG_SIZE")->i, 5);
    assert_true(config_is_default(&cfg, "THREADS"));
    assert_false(config_is_default(&cfg, "SEED"));
    assert_true(cfg.tree->frozen);
    config_release(&cfg);
    strbuf_release(&s);
    support_cleanup();
}

static void test_flag_beats_opts(void **state)
{
    (void)state;
    support_says("--lr 0.1 --opts TRAIN.BASE_LR 0.2", NULL,
                 "warning: --lr: TRAIN.BASE_LR is 0.1, not 0.2 as in --opts #1: flags "
                 "override KEY=VALUE\n");
    support_says("--lr 0.2 --opts TRAIN.BASE_LR 2e-1", NULL, "");
    support_says(
        "--no-amp --opts AMP_ENABLE True", NULL,
        "warning: --no-amp: AMP_ENABLE is False, not True as in --opts #1: flags "
        "override KEY=VALUE\n");
}

/* If both the level and the switch of mixed precision are set, the later source wins. */
static void test_amp_sources(void **state)
{
    static const struct {
        const char *words, *file, *base; /* text of the file and of its BASE, or NULL */
        bool enable;
        int level;
    } row[] = {
        {"--amp-opt-level O0", NULL, NULL, false, AMP_OPT_LEVEL_O0},
        {"AMP_OPT_LEVEL=O0", NULL, NULL, false, AMP_OPT_LEVEL_O0},
        {"--cfg %s --disable_amp", "AMP_OPT_LEVEL: O1\n", NULL, false,
         AMP_OPT_LEVEL_EMPTY},
        {"--cfg %s --amp-opt-level O1", "AMP_ENABLE: False\n", NULL, true,
         AMP_OPT_LEVEL_O1},
        {"--cfg %s --amp-opt-level O0", "AMP_ENABLE: True\n", NULL, false,
         AMP_OPT_LEVEL_O0},
        {"--cfg %s AMP_ENABLE=True", "AMP_OPT_LEVEL: O0\n", NULL, true,
         AMP_OPT_LEVEL_EMPTY},
        {"--cfg %s", "BASE: [base.yaml]\nAMP_OPT_LEVEL: O2\n", "AMP_ENABLE: False\n",
         true, AMP_OPT_LEVEL_O2},
        {"--cfg %s", "BASE: [base.yaml]\nAMP_ENABLE: False\n", "AMP_OPT_LEVEL: O2\n",
         false, AMP_OPT_LEVEL_EMPTY},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        struct strbuf s = STRBUF_INIT;
        struct config cfg;

        if (row[i].base)
            (void)support_file("base.yaml", row[i].base);
        assert_true(
            support_load(&cfg, &s, row[i].words,
                         row[i].file ? support_file("x.yaml", row[i].file) : NULL));
        assert_string_equal(s.buf, "");
        assert_int_equal(cfg.amp_enable, row[i].enable);
        assert_int_equal(cfg.amp_opt_level, row[i].level);
        assert_int_equal(config_get(&cfg, "AMP_ENABLE")->b, row[i].enable);
        config_release(&cfg);
        strbuf_release(&s);
    }
    support_says("--no-amp --opts AMP_OPT_LEVEL O2", NULL,
                 "warning: --no-amp: it replaces AMP_OPT_LEVEL, set by --opts #1: flags "
                 "override KEY=VALUE\n");
    support_says("--no-amp --amp-opt-level O1", NULL,
                 "error: --amp-opt-level: AMP_OPT_LEVEL O1 contradicts AMP_ENABLE False "
                 "(--no-amp)\n");
    support_says("--cfg %s",
                 support_file("x.yaml", "AMP_OPT_LEVEL: O0\nAMP_ENABLE: True\n"),
                 "error: x.yaml:1:1: AMP_OPT_LEVEL O0 contradicts AMP_ENABLE True "
                 "(x.yaml:2:1)\n");
    support_cleanup();
}

/* All errors of all sources at once. */
static void test_all_at_once(void **state)
{
    const char *file;

    (void)state;
    support_file("base.yaml", "TRAIN:\n  EPOCHZ: 3\n  BASE_LR: [1]\n");
    file = support_file("x.yaml", "BASE: base.yaml\n"
                                  "TRAIN:\n"
                                  "  EPOCHS: ten\n"
                                  "  CLIP_GRAD: .nan\n"
                                  "  CLIP_MODE: valu\n"
                                  "TRIAN: {X: 1}\n"
                                  "DATA: {ZIP_MODE: true}\n"
                                  "DATA:\n"
                                  "  MEAN: [1, 2]\n");
    support_says(
        "--cfg %s --batch-size 0 --lr x --opts TRAIN.EPOCH 3 BASE y.yaml --epochz", file,
        "error: argument --lr: invalid float value: 'x'\nerror: unrecognized arguments: "
        "--epochz (did you mean --epochs?)\nerror: x.yaml:8:1: duplicate key DATA, first "
        "on line "
        "7\nerror: base.yaml:2:3: unknown key TRAIN.EPOCHZ (did you mean "
        "TRAIN.EPOCHS?)\nerror: base.yaml:3:3: TRAIN.BASE_LR must be a float, not [1] (a "
        "list)\nerror: x.yaml:3:3: TRAIN.EPOCHS must be an int, not 'ten'\nerror: "
        "x.yaml:6:1: unknown key TRIAN (did you mean TRAIN?)\nerror: --opts #1: unknown "
        "key TRAIN.EPOCH (did you mean TRAIN.EPOCHS?)\nerror: --opts #2: BASE works in "
        "files only; name several --cfg files\nerror: --batch-size: DATA.BATCH_SIZE must "
        "be in [1, 1048576], not 0\nerror: x.yaml:4:3: TRAIN.CLIP_GRAD must be in [0, "
        "1000000], not nan\nerror: x.yaml:5:3: TRAIN.CLIP_MODE must be one of norm, "
        "value, not 'valu' (did you mean value?)\n");
    support_cleanup();
}

/*
 * An error hides no other: rules between keys are checked although values are wrong. But
 * rules ignore a key with a wrong value or a key that an unknown one probably means, and
 * nothing is concluded from missing keys if something was not understood.
 */
static void test_rules_and_errors(void **state)
{
    struct strbuf s = STRBUF_INIT;
    struct config cfg;

    (void)state;
    support_says(
        "AMP_ENABLE=False AMP_OPT_LEVEL=O2 TRAIN.EPOCHS=5 TRAIN.START_EPOCH=6 "
        "SEED=x",
        NULL,
        "error: argument 5: SEED must be an int, not 'x'\nerror: argument 2: "
        "AMP_OPT_LEVEL O2 contradicts AMP_ENABLE False (argument 1)\nerror: argument 4: "
        "TRAIN.START_EPOCH (6) is more than TRAIN.EPOCHS (5)\n");
    support_says("TRAIN.EPOCHS=x TRAIN.WARMUP_EPOCHS=301", NULL,
                 "error: argument 1: TRAIN.EPOCHS must be an int, not 'x'\n");
    support_says("TRAIN.EPOCHS=-1 TRAIN.WARMUP_EPOCHS=301", NULL,
                 "error: argument 1: TRAIN.EPOCHS must be at least 0, not -1\n");
    support_says(
        "TRAIN.EPOCHZ=400 TRAIN.WARMUP_EPOCHS=301", NULL,
        "error: argument 1: unknown key TRAIN.EPOCHZ (did you mean TRAIN.EPOCHS?)\n");
    support_says(
        "--cfg %s --epochs 5", "/nowhere/x.yaml",
        "error: --cfg: cannot read '/nowhere/x.yaml': No such file or directory\n");
    assert_false(support_load(&cfg, &s, "TRAIN.EPOCHS=-1 TRAIN.BASE_LR=0.25", NULL));
    assert_int_equal(cfg.train.epochs, 300);
    assert_true(cfg.train.base_lr == 0.25);
    config_release(&cfg);
    strbuf_release(&s);
}

/* One row per kind of check. */
static void test_checks(void **state)
{
    static const char *const rows[][2] = {
        {"SEED=-1", "SEED must be at least 0, not -1"},
        {"SEED=9223372036854775807",
         "SEED must be at most 1e+18, not 9223372036854775807"},
        {"SEED=9223372036854775808",
         "SEED must be an int, not 9223372036854775808 (beyond 64 bits)"},
        {"TRAIN.BASE_LR=nan", "TRAIN.BASE_LR must be in [0, 1000000], not nan"},
        {"TRAIN.BASE_LR=inf", "TRAIN.BASE_LR must be in [0, 1000000], not inf"},
        {"AMP.INIT_SCALE=0", "AMP.INIT_SCALE must be above 0, not 0.0"},
        {"AUG.SCALE=[1]", "AUG.SCALE must have 2 items, not 1"},
        {"DATA.STD=[1,0,1]", "DATA.STD: item 1 must be in (0, 1000000], not 0.0"},
        {"AUG.SCALE=[1,0.5]", "AUG.SCALE must be [least, largest]"},
        {"AUG.RESIZE_SCALE=[1,0.5]", "AUG.RESIZE_SCALE must be [least, largest]"},
        {"MODEL.SWIN.DEPTHS=[2,0]",
         "MODEL.SWIN.DEPTHS: item 1 must be in [1, 1000], not 0"},
        {"TRAIN.EPOCHS=None", "TRAIN.EPOCHS must be int, not None"},
        {"TAG=None", "TAG must be str, not None"},
        {"DATA.BATCH_SIZE=0", "DATA.BATCH_SIZE must be in [1, 1048576], not 0"},
        {"DATA.BATCH_SIZE=most", "DATA.BATCH_SIZE must be an int or auto, not 'most'"},
        {"TRAIN.EPOCHS=auto", "TRAIN.EPOCHS must be an int, not 'auto'"},
        {"AMP.LOSS_SCALE=-1",
         "AMP.LOSS_SCALE must be 'dynamic' or a number above 0, not '-1'"},
        {"TRAIN.OPTIMIZER.BETAS=[0.9,1]", "TRAIN.OPTIMIZER.BETAS must be below 1"},
        {"TRAIN.OPTIMIZER.ALPHA=1", "TRAIN.OPTIMIZER.ALPHA must be below 1"},
        {"VERSION=2", "VERSION must be 1, not 2"},
        {"--opts batch_size 3", "unknown key batch_size (did you mean DATA.BATCH_SIZE?)"},
        {"--opts lr 3", "unknown key lr (did you mean TRAIN.BASE_LR?)"},
        {"DATA.PATH=x", "unknown key DATA.PATH (did you mean DATA.DATA_PATH?)"},
        {"TRAIN.LR=1", "unknown key TRAIN.LR (did you mean TRAIN.BASE_LR?)"},
        {"WD=1", "unknown key WD (did you mean TRAIN.WEIGHT_DECAY?)"},
        {"EMA.DECAY=1", "unknown key EMA.DECAY (did you mean TRAIN.EMA.DECAY?)"},
        {"OPTIMIZER.NAME=x",
         "unknown key OPTIMIZER.NAME (did you mean TRAIN.OPTIMIZER.NAME?)"},
        {"SOLVER.BASE_LR=1", "unknown key SOLVER.BASE_LR (did you mean TRAIN.BASE_LR?)"},
        {"MODEL.DEPTH=1", "unknown key MODEL.DEPTH\n"}, /* in several families, and TYPE
                                                         * is not set */
        {"TRAIN.AMP=1",
         "unknown key TRAIN.AMP (did you mean AMP_ENABLE?)"}, /* not the EMA's */
        {"--opts learning_rate 1",
         "unknown key learning_rate (here: --lr LR (see TRAIN.SCALE_LR))"},
        {"MODEL.SWIN=3", "MODEL.SWIN is a section: name one of its keys"},
        {"TRAIN.START_EPOCH=301",
         "argument 1: TRAIN.START_EPOCH (301) is more than TRAIN.EPOCHS (300)"},
        {"TRAIN.START_EPOCH=300",
         "argument 1: TRAIN.START_EPOCH (300) is all of TRAIN.EPOCHS (300)"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct strbuf s = STRBUF_INIT;
        struct config cfg;

        assert_false(support_load(&cfg, &s, rows[i][0], NULL));
        if (!strstr(s.buf, rows[i][1]))
            fail_msg("'%s' says\n%swant\n%s", rows[i][0], s.buf, rows[i][1]);
        config_release(&cfg);
        strbuf_release(&s);
    }
}

static void test_good(void **state)
{
    static const char *const good[] = {
        "AMP.LOSS_SCALE=1024",
        "AMP.LOSS_SCALE=1.5e3",
        "MODEL.PRETRAINED=None",
        "MODEL.TYPE=resnet MODEL.RESNET.ZERO_INIT_LAST=false",
        "AUG.CUTMIX_MINMAX=[0.2,0.8]",
        "AUG.CUTMIX_MINMAX=None",
        "AMP.DTYPE=bfloat16",
        "AUG.COLOR_JITTER=0",
        "TRAIN.CLIP_GRAD=0",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
        support_says(good[i], NULL, "");
}

/* A string that may be empty reads None as empty; nullable keys keep it. */
static void test_none(void **state)
{
    struct strbuf s = STRBUF_INIT;
    struct config cfg;

    (void)state;
    assert_true(
        support_load(&cfg, &s, "--cfg %s",
                     support_file("n.yaml", "MODEL:\n  RESUME:\n  PRETRAINED: None\n"
                                            "  SWIN: {QK_SCALE: 0.5}\n")));
    assert_string_equal(cfg.model.resume, "");
    assert_string_equal(cfg.model.pretrained, "");
    assert_true(config_get(&cfg, "MODEL.SWIN.QK_SCALE")->f == 0.5);
    assert_string_equal(s.buf, "");
    config_release(&cfg);
    strbuf_release(&s);
    support_cleanup();
}

/* Synonyms become one word in the tree, so that they compare equal. */
static void test_first_word(void **state)
{
    struct strbuf s = STRBUF_INIT;
    struct config cfg;

    (void)state;
    assert_true(support_load(&cfg, &s, "AMP.DTYPE=bfloat16", NULL));
    assert_int_equal(cfg.amp.dtype, AMP_DTYPE_BF16);
    assert_string_equal(config_get(&cfg, "AMP.DTYPE")->s, "bf16");
    config_release(&cfg);
    strbuf_release(&s);
}

/* Known keys without effect give a warning if they are changed. */
static void test_no_effect(void **state)
{
    (void)state;
    support_says("FUSED_LAYERNORM=True", NULL,
                 "warning: argument 1: FUSED_LAYERNORM has no effect: kernels are fused "
                 "wherever the device has a fused kernel\n");
    support_says("FUSED_LAYERNORM=False DATA.CACHE_MODE=part", NULL, "");
}

/* DATA.ZIP_MODE applies only to the folders of imagenet. */
static void test_zip(void **state)
{
    static const struct {
        const char *words, *dataset;
    } rows[] = {
        {"--zip", "zip"},
        {"--zip --dataset imagenet", "zip"},
        {"--zip --dataset folder", "zip"},
        {"--dataset zip", "zip"},
        {"DATA.ZIP_MODE=False", "imagenet"},
    };
    struct strbuf s = STRBUF_INIT;

    (void)state;
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        struct config cfg;

        if (!support_load(&cfg, &s, rows[r].words, NULL))
            fail_msg("%s: %s", rows[r].words, s.buf);
        assert_string_equal(cfg.data.dataset, rows[r].dataset);
        config_release(&cfg);
    }
    support_says(
        "DATA.ZIP_MODE=True DATA.DATASET=lmdb", NULL,
        "error: argument 1: DATA.ZIP_MODE: DATA.DATASET lmdb is not stored in zip "
        "files, imagenet is\n");
    strbuf_release(&s);
}

static void test_amp(void **state)
{
    static const struct {
        const char *words;
        int level; /* -1: a contradiction */
    } rows[] = {
        {"", 1},
        {"--no-amp", 0},
        {"--amp", 1},
        {"AMP_OPT_LEVEL=O0", 0},
        {"AMP_OPT_LEVEL=O1", 1},
        {"AMP_OPT_LEVEL=O2", 2},
        {"AMP_OPT_LEVEL=O3", 3},
        {"--amp AMP_OPT_LEVEL=O3", 3},
        {"--amp AMP_OPT_LEVEL=O0", 1},
        {"--no-amp AMP_OPT_LEVEL=O0", 0},
        {"--no-amp AMP_OPT_LEVEL=O1", 0},
        {"--no-amp AMP_OPT_LEVEL=O3", 0},
        {"AMP_ENABLE=False AMP_OPT_LEVEL=O3", -1},
        {"--no-amp --amp-opt-level O1", -1},
        {"--no-amp --opts AMP_OPT_LEVEL ''", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct strbuf s = STRBUF_INIT;
        struct config cfg;
        bool ok = support_load(&cfg, &s, rows[i].words, NULL);

        if (ok != (rows[i].level >= 0) || (ok && config_amp_level(&cfg) != rows[i].level))
            fail_msg("'%s': %d, level %d: %s", rows[i].words, ok, config_amp_level(&cfg),
                     s.buf);
        config_release(&cfg);
        strbuf_release(&s);
    }
    support_says("AMP_ENABLE=False AMP_OPT_LEVEL=O2", NULL,
                 "error: argument 2: AMP_OPT_LEVEL O2 contradicts AMP_ENABLE False "
                 "(argument 1)\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_precedence),
        cmocka_unit_test(test_flag_beats_opts),
        cmocka_unit_test(test_all_at_once),
        cmocka_unit_test(test_checks),
        cmocka_unit_test(test_rules_and_errors),
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_no_effect),
        cmocka_unit_test(test_zip),
        cmocka_unit_test(test_amp),
        cmocka_unit_test(test_amp_sources),
        cmocka_unit_test(test_first_word),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
