/* Children end with the process that started them: base/process.h, base/command.h. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/command.h"
#include "base/process.h"
#include "tests/test.h"

/* Waits until the process and all its children have closed their end of the pipe; returns
 * their output. */
static char *hear_until_gone(int fd, double seconds)
{
    double until = clock_now() + seconds;
    struct strbuf said = STRBUF_INIT;
    char text[256];
    ssize_t n = -1;

    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    while (n && clock_now() < until) {
        n = read(fd, text, sizeof(text));
        if (n > 0)
            strbuf_add(&said, text, (size_t)n);
        else if (n < 0)
            (void)usleep(5000);
    }
    if (n)
        fail_msg("a child is still there after %g s; it said '%s'", seconds,
                 said.len ? said.buf : "");
    strbuf_addch(&said, '.');
    return strbuf_detach(&said);
}

/* A separate process starts a child with `start` and is killed once the child has
 * written. The child holds the pipe as its output, so the pipe closes when it ends. */
static void check_killed(void (*start)(int out))
{
    int ends[2], status;
    char said[6] = "";
    pid_t pid;

    assert_int_equal(pipe(ends), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        (void)close(ends[0]);
        start(ends[1]);
        (void)close(ends[1]);
        for (;;)
            (void)pause();
    }
    (void)close(ends[1]);
    assert_int_equal(read(ends[0], said, 5), 5);
    assert_string_equal(said, "here\n");
    assert_int_equal(kill(pid, SIGKILL), 0);
    free(hear_until_gone(ends[0], 10));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    (void)close(ends[0]);
}

static void start_plain(int out)
{
    const char *words[] = {"/bin/sh", "-c", "echo here; exec sleep 1000", NULL};
    struct process p = {.words = words, .out = out, .death = SIGTERM};
    struct strbuf why = STRBUF_INIT;

    (void)process_start(&p, &why);
}

/* The command's children do not know about us. */
static void start_command(int out)
{
    const char *words[] = {"/bin/sh", "-c", "sleep 1000 & sleep 1000 & echo here; wait",
                           NULL};
    struct strbuf why = STRBUF_INIT;
    struct command first, c;
    const char *soon[] = {"true", NULL};

    (void)dup2(out, STDERR_FILENO);
    (void)command_start(&first, soon, environ, &why);
    (void)command_start(&c, words, environ, &why);
    while (!command_ended(&first, 1))
        ;
    (void)close(STDERR_FILENO);
}

static void test_killed(void **state)
{
    (void)state;
    check_killed(start_plain);
    check_killed(start_command);
}

/* The command gets only three descriptors, default signals, and its own environment.
 * Signals from 32 on are not checked: make may start its children with the C library's
 * own ignored, which cannot be changed. */
static void test_clean(void **state)
{
    const char *words[] = {"sh", "-c",
                           "echo $X; for i in 0 1 2 3 4 5 6 7 8 9; do [ -e "
                           "/proc/$$/fd/$i ] && echo $i; done; "
                           "sed -n 's/^Sig\\(Blk\\|Ign\\):.//p' /proc/self/status | "
                           "while read -r mask; do "
                           "echo $((0x$mask & 0x7fffffff)); done",
                           NULL};
    char x[] = "X=x", path[] = "PATH=/usr/bin:/bin", *const env[] = {x, path, NULL};
    struct strbuf why = STRBUF_INIT;
    struct process p = {.words = words, .env = env};
    int ends[2], open_for_all = open("/", O_RDONLY), status;
    sigset_t all, before;
    char *said;
    pid_t pid;

    (void)state;
    assert_true(open_for_all >= 0);
    assert_int_equal(pipe(ends), 0);
    (void)signal(SIGPIPE, SIG_IGN);
    sigfillset(&all);
    assert_int_equal(sigprocmask(SIG_SETMASK, &all, &before), 0);
    p.out = ends[1];
    pid = process_start(&p, &why);
    assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
    (void)signal(SIGPIPE, SIG_DFL);
    assert_true(pid > 0);
    (void)close(ends[1]);
    said = hear_until_gone(ends[0], 10);
    assert_string_equal(said, "x\n0\n1\n2\n0\n0\n.");
    assert_true(process_wait(pid, 10, &status));
    assert_int_equal(status, 0);
    free(said);
    (void)close(ends[0]);
    (void)close(open_for_all);
}

/* A command that ignores SIGTERM, or is stopped. */
static void test_end(void **state)
{
    static const char *const stubborn[] = {"trap '' TERM; sleep 1000 & wait; sleep 1000",
                                           "kill -STOP $$"};
    struct strbuf why = STRBUF_INIT;

    (void)state;
    for (int i = 0; i < 2; i++) {
        const char *words[] = {"sh", "-c", stubborn[i], NULL};
        struct process p = {.words = words, .death = SIGKILL, .group = true};
        pid_t pid = process_start(&p, &why);
        double began = clock_now();

        assert_true(pid > 0);
        assert_false(process_wait(pid, 0.2, NULL));
        process_end(pid, 0.2);
        assert_true(clock_now() - began < 5);
        assert_true(kill(pid, 0) && errno == ESRCH);
        (void)kill(-pid, SIGKILL);
    }
}

static void test_no_program(void **state)
{
    const char *words[] = {"./no/such", NULL};
    struct process p = {.words = words};
    struct strbuf why = STRBUF_INIT;

    (void)state;
    assert_int_equal(process_start(&p, &why), 0);
    assert_string_equal(why.buf, "cannot start './no/such': No such file or directory");
    strbuf_release(&why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_killed),
        cmocka_unit_test(test_clean),
        cmocka_unit_test(test_end),
        cmocka_unit_test(test_no_program),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
