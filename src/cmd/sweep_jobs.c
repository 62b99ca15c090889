#include "cmd/sweep_jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/process.h"

static volatile sig_atomic_t stop_signal;

static void on_signal(int sig)
{
    if (!stop_signal)
        stop_signal = sig;
}

/* Starts a job in its own process group, so that Ctrl-C reaches it only through us. A run
 * whose sweep is killed saves and exits. */
static pid_t start(const struct sweep_job *j)
{
    struct process p = {
        .words = j->argv, .program = PROCESS_SELF, .death = SIGTERM, .group = true};
    struct strbuf why = STRBUF_INIT;
    pid_t pid;

    p.out = open(j->log ? j->log : "/dev/null", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                 0666);
    if (p.out < 0)
        die("cannot write '%s': %s", j->log ? j->log : "/dev/null", strerror(errno));
    p.err = j->log ? p.out : STDERR_FILENO;
    pid = process_start(&p, &why);
    if (!pid)
        die("%s", why.buf);
    (void)close(p.out);
    return pid;
}

static int code_of(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* True if the job should be retried: another process, which may be exiting, held its
 * folder. */
static bool should_retry(struct sweep_job *j)
{
    enum { TRIES = 3 };

    return j->code == EXIT_BUSY && ++j->tries < TRIES;
}

static void forward_signal(const pid_t *pid, int n)
{
    for (int i = 0; i < n; i++)
        if (pid[i] > 0)
            (void)kill(pid[i], SIGTERM);
}

int sweep_jobs_run(struct sweep_job *job, int n, int parallel,
                   void (*ended)(int i, const struct sweep_job *j, void *arg), void *arg)
{
    pid_t *pid = xcalloc((size_t)n + 1, sizeof(*pid)), ended_pid;
    int next = 0, running = 0, status;
    bool forwarded = false;

    process_catch_signals(on_signal);
    for (int i = 0; i < n; i++)
        job[i].code = -1;
    while (running || (next < n && !stop_signal)) {
        while (running < parallel && next < n && !stop_signal) {
            pid[next] = start(&job[next]);
            next++;
            running++;
        }
        if (stop_signal && !forwarded) {
            forward_signal(pid, n);
            forwarded = true;
        }
        ended_pid = waitpid(-1, &status, WNOHANG);
        if (!ended_pid)
            (void)usleep(20000);
        for (int i = 0; ended_pid > 0 && i < n; i++) {
            if (pid[i] != ended_pid)
                continue;
            job[i].code = code_of(status);
            pid[i] = should_retry(&job[i]) && !stop_signal ? start(&job[i]) : 0;
            if (pid[i])
                continue;
            running--;
            ended(i, &job[i], arg);
        }
    }
    free(pid);
    return stop_signal;
}
