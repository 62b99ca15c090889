/* The printed configuration: it can be loaded again, and lists differences and their
 * origins. */
#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "config/print.h"
#include "tests/config/config_support.h"
#include "tests/test.h"

/* Checks that printing, loading, and printing again gives the same text. */
static void fixed_point(const char *words, const char *file, int flags)
{
    struct strbuf s = STRBUF_INIT, first = STRBUF_INIT, again = STRBUF_INIT;
    struct config cfg;

    assert_true(support_load(&cfg, &s, words, file));
    config_print(&first, &cfg, flags & ~CONFIG_PRINT_ORIGIN);
    strbuf_reset(&s);
    config_print(&s, &cfg, flags);
    config_release(&cfg);
    assert_true(
        support_load(&cfg, &again, "--cfg %s", support_file("printed.yaml", s.buf)));
    assert_null(strstr(again.buf, "error"));
    strbuf_reset(&again);
    config_print(&again, &cfg, flags & ~CONFIG_PRINT_ORIGIN);
    if (strcmp(again.buf, first.buf) != 0)
        fail_msg("'%s' prints\n%sand then\n%s", words, first.buf, again.buf);
    config_release(&cfg);
    strbuf_release(&s);
    strbuf_release(&first);
    strbuf_release(&again);
}

static void test_print(void **state)
{
    static const char *const tags[] = {"5",        "1e-3", "None", "yes", "a: b", "a\\nb",
                                       "\303\251", "'x'",  "a #b", "",    " x ",  "0x1F"};
    int all = CONFIG_PRINT_HELP | CONFIG_PRINT_ORIGIN;

    (void)state;
    fixed_point("", NULL, all);
    fixed_point("", NULL, CONFIG_PRINT_DIFF);
    fixed_point(
        "--lr 1e-9 --freeze a.* b MODEL.SWIN.QK_SCALE=0.1 AUG.CUTMIX_MINMAX=[0.1,1] "
        "MODEL.SWIN_MOE.MOE_BLOCKS=[[1],[]] AMP.LOSS_SCALE=128 OUTPUT=5",
        NULL, all);
    for (size_t i = 0; i < sizeof(tags) / sizeof(*tags); i++) {
        char yaml[100];

        (void)snprintf(yaml, sizeof(yaml), "TAG: \"%s\"\n", tags[i]);
        fixed_point("--cfg %s", support_file("t.yaml", yaml), all | CONFIG_PRINT_DIFF);
    }
    /* comments contain the file's name and the value of ${...} */
    fixed_point("--cfg %s --tag ${OUTPUT}",
                support_file("a\nb\302\205.yaml", "OUTPUT: \"\\u2028\\x85\""), all);
    /* a literal ${ is not a key when it is read again, also in a list */
    fixed_point("--cfg %s TAG=$${b} DATA.CLASS_NAMES=[$${TAG},${TAG},0]",
                support_file("t.yaml", "TRAIN: {FREEZE: ['$${x}', '${SEED}', \"\"]}\n"),
                all);
    support_cleanup();
}

static void test_print_diff(void **state)
{
    struct strbuf s = STRBUF_INIT;
    struct config cfg;

    (void)state;
    assert_true(
        support_load(&cfg, &s, "--epochs 300 --lr 0.1 MODEL.SWIN.APE=True SEED=3", NULL));
    strbuf_reset(&s);
    config_print(&s, &cfg, CONFIG_PRINT_DIFF | CONFIG_PRINT_ORIGIN);
    assert_string_equal(s.buf, "SEED: 3  # argument 6\n\n"
                               "MODEL:\n  SWIN:\n    APE: true  # argument 5\n\n"
                               "TRAIN:\n  BASE_LR: 0.1  # --lr\n");
    config_release(&cfg);
    strbuf_release(&s);
}

/* BASE is merged into the printed text, which therefore needs no other file. */
static void test_print_base(void **state)
{
    struct strbuf s = STRBUF_INIT;
    struct config cfg;

    (void)state;
    support_file("b.yaml", "SEED: 4\n");
    assert_true(
        support_load(&cfg, &s, "--cfg %s", support_file("a.yaml", "BASE: b.yaml\n")));
    assert_int_equal(cfg.base.n, 1);
    config_print(&s, &cfg, 0);
    assert_non_null(strstr(s.buf, "BASE: []\n"));
    assert_non_null(strstr(s.buf, "SEED: 4\n"));
    config_release(&cfg);
    strbuf_release(&s);
    support_cleanup();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_print),
        cmocka_unit_test(test_print_diff),
        cmocka_unit_test(test_print_base),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
