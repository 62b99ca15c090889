#include "train/signals.h"

#include <signal.h>
#include <unistd.h>

static volatile sig_atomic_t pending, started, start_code;

static void on_signal(int sig)
{
    if (!started)
        _exit(start_code ? start_code : 128 + sig);
    if (pending && sig == SIGINT)
        _exit(128 + SIGINT);
    if (!pending)
        pending = sig;
}

void signals_install(int exit_code)
{
    struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, now;

    start_code = exit_code;
    sigemptyset(&a.sa_mask);
    sigaction(SIGTERM, &a, NULL);
    sigaction(SIGINT, &a, NULL);
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

const char *signals_name(int sig)
{
    return sig == SIGTERM  ? "SIGTERM"
           : sig == SIGINT ? "SIGINT"
           : sig == SIGHUP ? "SIGHUP"
                           : "a signal";
}
