/* @FILE on the command line: arguments from a file. */
#include <stdio.h>
#include <string.h>

#include "config/schema.h"
#include "tests/config/cmdline_rows.h"
#include "tests/config/config_support.h"
#include "tests/test.h"

static void at_file(const char *path, const char *want, const char *says)
{
    struct cmd_spec spec = {.schema = schema_table, .flags = cmdline_own, .max_args = 3};
    char words[300];
    struct strbuf got = STRBUF_INIT, text = STRBUF_INIT;
    struct problems p = {0};
    struct cmdline line;

    (void)snprintf(words, sizeof(words), "-q|@%s|-v", path);
    cmdline_parse_words(&line, &spec, words, &p);
    cmdline_show(&got, &line);
    support_problems(&text, &p);
    assert_string_equal(got.buf, want);
    if (says ? !strstr(text.buf, says) : text.len > 0)
        fail_msg("%s says %s", path, text.buf);
    strbuf_release(&got);
    strbuf_release(&text);
    cmdline_release(&line);
}

static void test_at_file(void **state)
{
    const char *both = "own:-q, --quiet own:-v, --verbose";
    char want[200];

    (void)state;
    (void)snprintf(want, sizeof(want), "DATA.BATCH_SIZE=3 TAG=a b %s arg:x y arg:z\"\\",
                   both);
    at_file(support_file("a.args", "# a comment\n--batch-size 3   # one more\n\n"
                                   "--tag 'a b' \"x y\" 'z\"'\\\\\n"),
            want, NULL);
    at_file(support_file("empty.args", "\n# nothing\n"), both, NULL);
    /* nested, relative to the file that names it */
    support_file("sub/c.args", "--epochs 3");
    support_file("sub/b.args", "@c.args --seed 1");
    (void)snprintf(want, sizeof(want), "TRAIN.EPOCHS=3 SEED=1 %s", both);
    at_file(support_file("d.args", "@sub/b.args"), want, NULL);
    /* in --opts, in the place of a key */
    (void)snprintf(want, sizeof(want), "opt:A=1 opt:B=@x %s", both);
    support_file("o.args", "A 1 B @x");
    at_file(support_file("p.args", "--opts @o.args"), want, NULL);
    at_file(support_file("q.args", "a#b a\\ b"),
            "own:-q, --quiet own:-v, --verbose arg:a#b "
            "arg:a b",
            NULL);
    /* continued lines, and a byte order mark */
    (void)snprintf(want, sizeof(want), "DATA.BATCH_SIZE=3 SEED=1 %s arg:ab", both);
    at_file(support_file("r.args", "\xef\xbb\xbf"
                                   "--batch-size \\\n 3 \\\r\n--seed 1 a\\\nb \\\n"),
            want, NULL);
    support_cleanup();
}

/* An argument after a zero byte, which would end a C string. */
static const char *binary_file(void)
{
    const char *path = support_file("zero.args", "");
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite("x\0--seed 5\n", 1, 11, f), 11);
    assert_int_equal(fclose(f), 0);
    return path;
}

static void test_at_file_mistakes(void **state)
{
    const char *both = "own:-q, --quiet own:-v, --verbose";

    (void)state;
    at_file("/nowhere/a", both,
            "error: argument 2: cannot read '/nowhere/a': No such file or directory");
    at_file(support_file("e.args", "\n  @e.args"), both,
            "e.args:2:3: @e.args includes itself");
    support_file("g.args", "@f.args");
    at_file(support_file("f.args", "@g.args"), both,
            "g.args:1:1: @f.args includes itself");
    at_file(support_file("h.args", "--tag 'open"), both,
            "h.args:1:7: a quote is not closed");
    at_file(binary_file(), both, "is not a text file: it contains a zero byte");
    support_cleanup();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_at_file),
        cmocka_unit_test(test_at_file_mistakes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
