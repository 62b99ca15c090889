/* Words of a command, and commands that run in parallel with training: base/words.h,
 * base/command.h. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/command.h"
#include "base/words.h"
#include "tests/test.h"

static void test_words(void **state)
{
    static const struct {
        const char *text, *want; /* NULL if a quote is not closed */
    } rows[] = {
        {"", ""},
        {" \t ", ""},
        {"a", "<a>"},
        {" a  b\tc\n", "<a><b><c>"},
        {"'a b' \"c d\"e", "<a b><c de>"},
        {"a'b c'd", "<ab cd>"},
        {"'' \"\"", "<><>"},
        {"a\\ b \\'c", "<a b><'c>"},
        {"'a\\b' \"a\\\"b\\c\\\\\"", "<a\\b><a\"b\\c\\>"},
        {"$X *.c", "<$X><*.c>"},
        {"a\\", "<a\\>"},
        {"'a", NULL},
        {"a \"b", NULL},
        {"\"a\\\"", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char **words = words_split(rows[i].text);
        struct strbuf got = STRBUF_INIT;

        for (char **w = words; w && *w; w++)
            strbuf_addf(&got, "<%s>", *w);
        if (!words != !rows[i].want || (words && strcmp(got.buf, rows[i].want) != 0))
            fail_msg("'%s' is %s, not %s", rows[i].text, words ? got.buf : "nothing",
                     rows[i].want ? rows[i].want : "nothing");
        strbuf_release(&got);
        words_free(words);
    }
}

static void run(struct command *c, const char *text)
{
    const char *words[] = {"/bin/sh", "-c", text, NULL};
    struct strbuf why = STRBUF_INIT;

    if (!command_start(c, words, environ, &why))
        fail_msg("%s", why.buf);
}

static void check_status(const char *text, const char *want)
{
    struct strbuf got = STRBUF_INIT;
    struct command c;

    run(&c, text);
    while (!command_ended(&c, 1))
        ;
    assert_int_equal(c.pid, 0);
    command_add_status(&got, &c);
    assert_string_equal(got.buf, want);
    strbuf_release(&got);
}

static void test_status(void **state)
{
    struct strbuf why = STRBUF_INIT;
    const char *words[] = {"./no/such", NULL};
    struct command c;

    (void)state;
    assert_int_equal(setenv("CODE", "5", 1), 0);
    check_status("exit 0", "");
    check_status("exit $CODE", "ended with 5");
    check_status("kill -TERM $$", "was killed by SIGTERM");
    check_status("test ! -t 0 && ! read x", "");
    check_status("trap '' PIPE; kill -HUP $$", "was killed by SIGHUP");
    assert_false(command_start(&c, words, environ, &why));
    assert_string_equal(why.buf, "cannot start './no/such': No such file or directory");
    assert_int_equal(c.pid, 0);
    strbuf_release(&why);
}

/* Many may run at once, and all can be killed. */
static void test_kill(void **state)
{
    struct command c[COMMANDS_MAX], more;
    const char *words[] = {"true", NULL};
    struct strbuf why = STRBUF_INIT;

    (void)state;
    for (int i = 0; i < COMMANDS_MAX; i++)
        run(&c[i], "exec sleep 1000");
    assert_false(command_start(&more, words, environ, &why));
    assert_false(command_ended(&c[0], 0));
    command_stop(&c[0]);
    assert_true(command_ended(&c[0], 0));
    assert_true(WIFSIGNALED(c[0].status) && WTERMSIG(c[0].status) == SIGKILL);
    run(&c[0], "exec sleep 1000");
    command_kill_all();
    for (int i = 0; i < COMMANDS_MAX; i++) {
        while (!command_ended(&c[i], 1))
            ;
        assert_true(WIFSIGNALED(c[i].status));
    }
    strbuf_release(&why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_status),
        cmocka_unit_test(test_kill),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
