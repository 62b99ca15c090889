#include "train/signals.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/command.h"
#include "dist/group.h"

const int signals_all[SIGNALS] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1};

static volatile sig_atomic_t pending, started, start_code;
static struct signals_word word;

void signals_leave_word(const struct signals_word *w)
{
    word = *w;
}

/* Runs in a signal handler: makes only calls that POSIX allows there, and never
 * blocks. */
static void write_word(const char *text, size_t len)
{
    int flags = O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC;
    int fd = word.tmp ? atomic_make(word.tmp) : open(word.path, flags);

    if (fd >= 0 && write(fd, text, len) == (ssize_t)len && word.tmp)
        (void)rename(word.tmp, word.path);
}

/* Ends the process; if several threads get a signal, only the first of them does. */
static _Noreturn void leave_start(int sig)
{
    static atomic_flag leaving = ATOMIC_FLAG_INIT;

    while (atomic_flag_test_and_set(&leaving))
        (void)pause();
    for (int i = 0; word.path && i < SIGNALS; i++)
        if (signals_all[i] == sig)
            write_word(word.text[i], word.len[i]);
    _exit(start_code ? start_code : 128 + sig);
}

static void on_signal(int sig)
{
    if (!started)
        leave_start(sig);
    if (pending && sig == SIGINT) {
        command_kill_all();
        _exit(128 + SIGINT);
    }
    if (!pending)
        pending = sig;
}

void signals_install(int exit_code)
{
    struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, now;

    if (dist_thread()) /* the first thread does it for all */
        return;
    start_code = exit_code;
    sigemptyset(&a.sa_mask);
    for (int i = 0; i < SIGNALS; i++)
        sigaddset(&a.sa_mask, signals_all[i]);
    sigaction(SIGTERM, &a, NULL);
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGUSR1, &a, NULL);
    if (!sigaction(SIGHUP, NULL, &now) && now.sa_handler != SIG_IGN) /* nohup */
        sigaction(SIGHUP, &a, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
}

void signals_started(void)
{
    started = 1;
}

int signals_pending(void)
{
    return pending;
}

void signals_raise(int sig)
{
    if (!pending)
        pending = sig;
}

const char *signals_name(int sig)
{
    return sig == SIGTERM   ? "SIGTERM"
           : sig == SIGINT  ? "SIGINT"
           : sig == SIGHUP  ? "SIGHUP"
           : sig == SIGUSR1 ? "SIGUSR1"
                            : "a signal";
}
