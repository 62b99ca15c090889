/* ${...} in values: keys, the environment, and errors. */
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "config/print.h"
#include "tests/config/config_support.h"
#include "tests/test.h"

static void test_interpolation(void **state)
{
    struct strbuf s = STRBUF_INIT, text = STRBUF_INIT;
    struct config cfg;

    (void)state;
    assert_int_equal(setenv("TRAINC_TEST_ROOT", "/data", 1), 0);
    assert_int_equal(unsetenv("TRAINC_TEST_NONE"), 0);
    assert_true(support_load(
        &cfg, &s,
        "--cfg %s --opts TRAIN.WARMUP_EPOCHS ${SEED} SEED=${env:TRAINC_TEST_NONE,7}",
        support_file("i.yaml",
                     "TAG: '${MODEL.NAME}-${TRAIN.EPOCHS}'\n"
                     "MODEL: {NAME: resnet18}\n"
                     "DATA: {DATA_PATH: \"${env:TRAINC_TEST_ROOT}/x\"}\n"
                     "TRAIN:\n  MIN_LR: ${TRAIN.WARMUP_LR}\n  EPOCHS: ${SEED}\n")));
    assert_string_equal(s.buf, "");
    assert_string_equal(cfg.tag, "resnet18-7");
    assert_string_equal(cfg.data.data_path, "/data/x");
    assert_int_equal(cfg.train.warmup_epochs, 7);
    assert_true(cfg.train.min_lr == cfg.train.warmup_lr);
    config_print(&text, &cfg, CONFIG_PRINT_DIFF); /* prints the original text */
    assert_non_null(strstr(text.buf, "TAG: '${MODEL.NAME}-${TRAIN.EPOCHS}'\n"));
    config_release(&cfg);
    strbuf_release(&s);
    strbuf_release(&text);
    support_cleanup();
}

/* In lists and in BASE, and escaped as $${...}. */
static void test_in_lists(void **state)
{
    struct strbuf s = STRBUF_INIT;
    struct config cfg;

    (void)state;
    assert_int_equal(setenv("TRAINC_TEST_BASE", support_file("b.yaml", "SEED: 5\n"), 1),
                     0);
    assert_true(support_load(
        &cfg, &s,
        "--cfg %s --opts DATA.CLASS_NAMES [${TAG},1,yes] TRAIN.FREEZE [$${TAG}]",
        support_file("i.yaml", "BASE: ['${env:TRAINC_TEST_BASE}']\n"
                               "TAG: q$${SEED}\n"
                               "MODEL: {SWIN: {DEPTHS: ['${SEED}', 2]}}\n")));
    assert_string_equal(s.buf, "");
    assert_string_equal(cfg.tag, "q${SEED}");
    assert_int_equal(config_get(&cfg, "MODEL.SWIN.DEPTHS")->list.item[0].i, 5);
    assert_int_equal(cfg.data.class_names.n, 3);
    assert_string_equal(cfg.data.class_names.item[0], "q${SEED}");
    assert_string_equal(cfg.data.class_names.item[1], "1");
    assert_string_equal(cfg.data.class_names.item[2], "yes");
    assert_string_equal(cfg.train.freeze.item[0], "${TAG}");
    config_release(&cfg);
    strbuf_release(&s);
    support_says(
        "--cfg %s", support_file("i.yaml", "BASE: ['${TAG}.yaml']\n"),
        "error: i.yaml:1:1: BASE: ${TAG}: only ${env:NAME} works in file names\n");
    support_says("TRAIN.FREEZE=[a,${NOPE}]", NULL,
                 "error: argument 1: TRAIN.FREEZE: ${NOPE} is no key\n");
    support_cleanup();
}

static void test_mistakes(void **state)
{
    (void)state;
    support_says(
        "SEED=${env:TRAINC_TEST_NONE}", NULL,
        "error: argument 1: SEED: environment variable TRAINC_TEST_NONE is not set\n");
    support_says("TAG=${NOPE}", NULL, "error: argument 1: TAG: ${NOPE} is no key\n");
    support_says("TAG=${MODEL}", NULL, "error: argument 1: TAG: ${MODEL} is no key\n");
    support_says("TAG=${SEED", NULL, "error: argument 1: TAG: ${ without }\n");
    support_says("TAG=${OUTPUT} OUTPUT=${TAG}", NULL,
                 "error: argument 1: TAG: ${OUTPUT} refers to itself\nerror: argument 2: "
                 "OUTPUT: ${TAG} refers to itself\n");
    support_says("SEED=${TAG}", NULL,
                 "error: argument 1: SEED must be an int, not 'default'\n");
    /* each key repeats the one before */
    support_says(
        "TAG=xxxxxxxxxxxxxxxx "
        "OUTPUT=${TAG}${TAG}${TAG}${TAG}${TAG}${TAG}${TAG}${TAG}${TAG}${TAG}${TAG} "
        "DATA.TRAIN_SPLIT=${OUTPUT}${OUTPUT}${OUTPUT}${OUTPUT}${OUTPUT}${OUTPUT}${OUTPUT}"
        "${OUTPUT} "
        "DATA.VAL_SPLIT=${DATA.TRAIN_SPLIT}${DATA.TRAIN_SPLIT}${DATA.TRAIN_SPLIT}"
        "${DATA.TRAIN_SPLIT}${DATA.TRAIN_SPLIT}${DATA.TRAIN_SPLIT}${DATA.TRAIN_SPLIT} "
        "MODEL.RESUME=${DATA.VAL_SPLIT}${DATA.VAL_SPLIT}${DATA.VAL_SPLIT}"
        "${DATA.VAL_SPLIT}${DATA.VAL_SPLIT}${DATA.VAL_SPLIT}${DATA.VAL_SPLIT}",
        NULL, "error: argument 5: MODEL.RESUME grows to 68992 bytes, more than 65536\n");
}

/* A quoted value remains a string after the substitution. */
static void test_quotes(void **state)
{
    struct strbuf s = STRBUF_INIT;
    struct config cfg;

    (void)state;
    assert_int_equal(setenv("TRAINC_TEST_TEXT", "None", 1), 0);
    assert_true(support_load(
        &cfg, &s, "--cfg %s",
        support_file("q.yaml", "TAG: '${env:TRAINC_TEST_TEXT}'\n"
                               "MODEL: {RESUME: \"${env:TRAINC_TEST_TEXT}\"}\n")));
    assert_string_equal(s.buf, "");
    assert_string_equal(cfg.tag, "None");
    assert_string_equal(cfg.model.resume, "None");
    config_release(&cfg);
    strbuf_release(&s);
    support_cleanup();
    support_says("TAG=${env:TRAINC_TEST_TEXT}", NULL,
                 "error: argument 1: TAG must be str, not None\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interpolation),
        cmocka_unit_test(test_in_lists),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_quotes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
