#include "train/signals.h"

#include <signal.h>
#include <unistd.h>

static volatile sig_atomic_t pending;

static void on_signal(int sig)
{
    if (pending && sig == SIGINT)
        _exit(128 + SIGINT);
    if (!pending)
        pending = sig;
}

void signals_install(void)
{
    struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, now;

    sigemptyset(&a.sa_mask);
    sigaction(SIGTERM, &a, NULL);
    sigaction(SIGINT, &a, NULL);
    if (!sigaction(SIGHUP, NULL, &now) && now.sa_handler != SIG_IGN) /* nohup */
        sigaction(SIGHUP, &a, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
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
