#include "tests/child.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "tests/test.h"

static void leave(const char *message, int code, void *arg)
{
    (void)message, (void)arg;
    _exit(code);
}

/* cmocka's handlers would run the next test in the child. */
static void forget_handlers(void)
{
    static const int caught[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV};

    for (size_t i = 0; i < sizeof(caught) / sizeof(*caught); i++)
        (void)signal(caught[i], SIG_DFL);
}

char *child_run(void (*fn)(void *arg), void *arg, int *code)
{
    struct strbuf said = STRBUF_INIT;
    char buf[1024];
    int fd[2], status;
    pid_t pid;

    assert_int_equal(pipe(fd), 0);
    (void)fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        forget_handlers();
        error_at_exit(leave, NULL);
        if (dup2(fd[1], STDERR_FILENO) < 0 || close(fd[0]))
            _exit(99);
        fn(arg);
        _exit(0);
    }
    (void)close(fd[1]);
    for (ssize_t got; (got = read(fd[0], buf, sizeof(buf))) > 0;)
        strbuf_add(&said, buf, (size_t)got);
    (void)close(fd[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    *code = WIFEXITED(status) ? WEXITSTATUS(status) : CHILD_SIGNAL + WTERMSIG(status);
    return strbuf_detach(&said);
}

void check_leaves(void (*fn)(void *arg), void *arg, int code, const char *why)
{
    int got;
    char *said = child_run(fn, arg, &got);

    if (got != code || !strstr(said, why))
        fail_msg("exit %d, not %d; '%s' does not say '%s'", got, code, said, why);
    free(said);
}

void check_dies(void (*fn)(void *arg), void *arg, const char *why)
{
    check_leaves(fn, arg, EXIT_FAILED, why);
}
