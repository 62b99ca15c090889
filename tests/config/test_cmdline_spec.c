/* Command lines with other flag prefixes, or that keep unknown arguments (argparse's
 * prefix_chars and parse_known_args). */
#include "config/schema.h"
#include "tests/config/cmdline_rows.h"
#include "tests/test.h"

/* argparse's prefix_chars: flags that start with +, too. */
static void test_prefixes(void **state)
{
    static const struct cmd_flag plus[] = {{"+f, ++file", "FILE", "a value"}, {0}};
    static const struct cmdline_row both[] = {
        {"++batch-size|3|+amp", "DATA.BATCH_SIZE=3 rest:+amp",
         "error: unrecognized arguments: +amp\n"},
        {"+b3|++no-amp|--lr=1", "DATA.BATCH_SIZE=3 AMP_ENABLE=False TRAIN.BASE_LR=1", ""},
        {"+f|a|++file=b|+fc", "own:+f, ++file=a own:+f, ++file=b own:+f, ++file=c", ""},
        {"--qqxx|a", "arg:a rest:--qqxx", "error: unrecognized arguments: --qqxx\n"},
        {"--seed|+3|--lr|+.5", "SEED=+3 TRAIN.BASE_LR=+.5", ""},
        {"--tag|++amp", "AMP_ENABLE=True",
         "error: argument --tag: expected one argument\n"},
        {"+|++foo", "arg:+ rest:++foo", "error: unrecognized arguments: ++foo\n"},
        {"--|+b", "arg:+b", ""},
    };
    static const struct cmdline_row only[] = {
        {"-b|++amp", "AMP_ENABLE=True arg:-b", ""},
        {"++tag|-x|+b|--", "TAG=-x",
         "error: argument -b/--batch-size: expected one argument\n"},
    };
    struct cmd_spec spec = {.schema = schema_table, .flags = plus, .max_args = 1};

    (void)state;
    spec.prefixes = "-+";
    for (size_t i = 0; i < sizeof(both) / sizeof(*both); i++)
        cmdline_compare(&both[i], &spec);
    spec.prefixes = "+";
    for (size_t i = 0; i < sizeof(only) / sizeof(*only); i++)
        cmdline_compare(&only[i], &spec);
    /* only -, by default */
    spec.flags = cmdline_own;
    spec.prefixes = NULL;
    cmdline_compare(&(struct cmdline_row){"+b|--tag|+b", "TAG=+b arg:+b", ""}, &spec);
}

/* argparse's parse_known_args. */
static void test_keep_unknown(void **state)
{
    static const struct cmdline_row some[] = {
        {"--foo|3|--lr|1|-x|pos|--bar=2|FOO=4|SEED=5",
         "opt:SEED=5 TRAIN.BASE_LR=1 rest:--foo rest:3 rest:-x rest:pos rest:--bar=2 "
         "rest:FOO=4",
         ""},
        {"-qx", "own:-q, --quiet rest:-x", ""},
        /* flags of other trainers */
        {"--experiment|a|--train.epochs|5",
         "rest:--experiment rest:a rest:--train.epochs rest:5", ""},
        {"-q|--|--lr|x", "own:-q, --quiet rest:--lr rest:x", ""},
        /* known arguments are still checked */
        {"--foo|-b|x|--opts|A", "rest:--foo",
         "error: argument -b/--batch-size: invalid int value: 'x'\n"
         "error: argument --opts: key A has no value\n"},
    };
    struct cmd_spec spec = {
        .schema = schema_table, .flags = cmdline_own, .keep_unknown = true};

    (void)state;
    for (size_t i = 0; i < sizeof(some) / sizeof(*some); i++)
        cmdline_compare(&some[i], &spec);
}

static void test_peek(void **state)
{
    char text[6][16] = {"-a", "--known_args=x", "--last", "y", "--", "--later"};
    char *words[] = {text[0], text[1], text[2], text[3], text[4], text[5]};

    (void)state;
    assert_string_equal(cmdline_peek(6, words, "--known-args"), "x");
    assert_string_equal(cmdline_peek(6, words, "--last"), "y");
    assert_string_equal(cmdline_peek(3, words, "--last"), "");
    assert_null(cmdline_peek(6, words, "--later"));
    assert_null(cmdline_peek(6, words, "--known"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prefixes),
        cmocka_unit_test(test_keep_unknown),
        cmocka_unit_test(test_peek),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
