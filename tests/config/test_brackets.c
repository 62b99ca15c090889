/* Lists in --opts that the shell split into words, and unbalanced brackets. */
#include <string.h>

#include "config/argword.h"
#include "config/cmdline.h"
#include "config/schema.h"
#include "tests/config/config_support.h"
#include "tests/test.h"

static void test_is_open(void **state)
{
    static const char *const open[] = {
        "[",    "[1,",       "(1, [2]",   " ([1]",   "['a",
        "['a]", "[\"a]\", ", "['a\\'] ]", "[1], [2", "[\"'\", '\\\\', [it's]"};
    static const char *const closed[] = {
        "",         "a",         "[]",       "1]",        "'[",
        "a[",       "[it's]",    "['[']",    "[u'(', 1]", "[\"it's [\"]",
        "['\\'[']", "[a, 'b]']", "[1], [2]", "[1]]",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(open) / sizeof(*open); i++)
        if (!argword_is_open(open[i]))
            fail_msg("%s is closed", open[i]);
    for (size_t i = 0; i < sizeof(closed) / sizeof(*closed); i++)
        if (argword_is_open(closed[i]))
            fail_msg("%s is open", closed[i]);
}

static const struct {
    const char *words, *want, *says; /* words and settings are separated by | */
} rows[] = {
    {"--opts|A|[1,|2]|B|3", "A=[1, 2]|B=3", ""}, /* unknown key: it could be a list */
    {"--opts|A|['a]',|\"b\\\"[\"]|B|1", "A=['a]', \"b\\\"[\"]|B=1", ""},
    {"--opts|A|(u')',|-inf,|-2)|B|1", "A=(u')', -inf, -2)|B=1", ""},
    {"--opts|A|[1,|TAG|3", "A=[1,|TAG=3", ""}, /* unknown key A is reported later */
    {"--opts|AUG.SCALE|[-1,|-2]|SEED|1", "AUG.SCALE=[-1, -2]|SEED=1", ""},
    {"--opts|AUG.SCALE|[1,|-b2|SEED=1", "SEED=1|DATA.BATCH_SIZE=2",
     "error: --opts #1: AUG.SCALE: a bracket or a quote does not end in '[1,'\n"},
    {"--opts|AUG.SCALE|[1,|2|SEED=3", "SEED=3",
     "error: --opts #1: AUG.SCALE: a bracket or a quote does not end in '[1, 2'\n"},
    {"TRAIN.FREEZE=['a]|SEED=3|TAG=y", "SEED=3|TAG=y",
     "error: argument 1: TRAIN.FREEZE: a bracket or a quote does not end in '['a]'\n"},
    {"--opts|TRAIN.FREEZE|[a,|b,", "",
     "error: --opts #1: TRAIN.FREEZE: a bracket or a quote does not end in '[a, b,'\n"},
    {"--opts|TRAIN.FREEZE|[a,|b=c]|TAG=x", "TRAIN.FREEZE=[a, b=c]|TAG=x", ""},
    {"--opts|TAG|[x|SEED|3", "TAG=[x|SEED=3", ""}, /* a string may start like this */
    {"TAG=(x|SEED=3", "TAG=(x|SEED=3", ""},
    {"--opts|MODEL.NAME|[a|b]|SEED=3", "MODEL.NAME=[a",
     "error: argument --opts: key b] has no value before SEED=3 (b]=SEED=3, if that is "
     "it)\n"},
    {"--opts|SEED|[1,|2]|TAG|3", "SEED=[1, 2]|TAG=3", ""}, /* one error, not two */
    /* also for list flags, which take words without brackets, too */
    {"--scale|[0.5,|1]|--freeze|[a,|'b|c']|--seed|3",
     "AUG.SCALE=[0.5, 1]|TRAIN.FREEZE=[a, 'b c']|SEED=3", ""},
    {"--scale|[0.5|--seed|3|TAG=a", "TAG=a|SEED=3",
     "error: argument --scale: AUG.SCALE: a bracket or a quote does not end in "
     "'[0.5'\n"},
};

static void test_rows(void **state)
{
    struct cmd_spec spec = {.schema = schema_table};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct strbuf got = STRBUF_INIT, says = STRBUF_INIT;
        char text[200], *argv[16], *rest = text;
        struct problems p = {0};
        struct cmdline line;
        int argc = 0;

        assert_true(strlen(rows[i].words) < sizeof(text));
        memcpy(text, rows[i].words, strlen(rows[i].words) + 1);
        while (argc < 16 && (argv[argc] = strtok_r(rest, "|", &rest)))
            argc++;
        cmdline_parse(&line, &spec, argc, argv, &p);
        for (int k = 0; k < line.nopt; k++)
            strbuf_addf(&got, "%s%s=%s", k ? "|" : "", line.opt[k].name,
                        line.opt[k].text);
        for (int k = 0; k < line.nflag; k++)
            strbuf_addf(&got, "%s%s=%s", got.len ? "|" : "", line.flag[k].name,
                        line.flag[k].text);
        support_problems(&says, &p);
        if (strcmp(got.buf, rows[i].want) != 0 || strcmp(says.buf, rows[i].says) != 0)
            fail_msg("'%s' is '%s', want '%s'; says\n%swant\n%s", rows[i].words, got.buf,
                     rows[i].want, says.buf, rows[i].says);
        strbuf_release(&got);
        strbuf_release(&says);
        cmdline_release(&line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_is_open),
        cmocka_unit_test(test_rows),
    };

    return cmocka_run_group_tests_name("config_brackets", tests, NULL, NULL);
}
