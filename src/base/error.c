#include "base/error.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/command.h"
#include "base/utf8.h"

static void (*at_exit_fn)(const char *message, int code, void *arg);
static void *at_exit_arg;
static int own_rank;
static void (*end_all_fn)(int code);

void error_at_exit(void (*fn)(const char *message, int code, void *arg), void *arg)
{
    at_exit_fn = fn;
    at_exit_arg = arg;
}

void error_rank(int rank, void (*end_all)(int code))
{
    own_rank = rank;
    end_all_fn = end_all;
}

void one_line(char *text)
{
    utf8_clean(text);
}

__attribute__((format(printf, 3, 0))) static void say(const char *kind, int code,
                                                      const char *fmt, va_list ap)
{
    char line[4096];

    (void)vsnprintf(line, sizeof(line), fmt, ap);
    one_line(line);
    (void)fflush(stdout);
    if (own_rank && code)
        (void)usleep(
            300000); /* rank 0 reports errors that all ranks have, and ends all */
    if (own_rank)
        (void)fprintf(stderr, "trainc: rank %d: %s: %s\n", own_rank, kind, line);
    else
        (void)fprintf(stderr, "trainc: %s: %s\n", kind, line);
    if (code && at_exit_fn) {
        void (*fn)(const char *, int, void *) = at_exit_fn;

        at_exit_fn = NULL; /* a die() inside the handler must not return here */
        fn(line, code, at_exit_arg);
    }
}

void bug_at(const char *file, int line, const char *fmt, ...)
{
    char text[4096];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    one_line(text);
    (void)fflush(stdout);
    (void)fprintf(stderr, "trainc: BUG: %s:%d: %s\n", file, line, text);
    abort();
}

/*
 * Skips the exit handlers of libraries: the CUDA driver would free host memory to which
 * the loader's threads still write.
 */
static _Noreturn void leave(int code)
{
    void (*end_all)(int) = end_all_fn;

    (void)fflush(NULL);
    command_kill_all();
    end_all_fn = NULL;
    if (end_all)
        end_all(code);
    _exit(code);
}

/* If several threads end the program, only the first one reports; the others wait for it. */
static void one_at_a_time(void)
{
    static atomic_flag leaving = ATOMIC_FLAG_INIT;
    static _Thread_local bool leaves;

    while (!leaves && atomic_flag_test_and_set(&leaving))
        (void)pause();
    leaves = true;
}

__attribute__((format(printf, 2, 0))) static _Noreturn void end(int code, const char *fmt,
                                                                va_list ap)
{
    one_at_a_time();
    say("error", code, fmt, ap);
    leave(code);
}

void die(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    end(EXIT_FAILED, fmt, ap);
}

void usage(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    end(EXIT_USAGE, fmt, ap);
}

void busy(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    end(EXIT_BUSY, fmt, ap);
}

void warn(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    say("warning", 0, fmt, ap);
    va_end(ap);
}
