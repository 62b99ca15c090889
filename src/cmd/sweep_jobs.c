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

/* Returns the arguments of a job on a device, or on the one they name if it is NULL. */
static const char **words_of(const struct sweep_job *j, const char *device)
{
    const char **words;
    int n = 0;

    while (j->argv[n])
        n++;
    words = xcalloc((size_t)n + 3, sizeof(*words));
    memcpy(words, j->argv, (size_t)n * sizeof(*words));
    if (device) {
        words[n++] = "--device";
        words[n] = device;
    }
    return words;
}

/* Starts a job in its own process group, so that Ctrl-C reaches it only through us. A run
 * whose sweep is killed saves and exits. */
static pid_t start(const struct sweep_job *j, const char *device)
{
    const char **words = words_of(j, device);
    struct process p = {
        .words = words, .program = PROCESS_SELF, .death = SIGTERM, .group = true};
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
    free(words);
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

/* Returns a slot that no running job has. */
static int free_slot(const int *slot, const pid_t *pid, int n, int parallel)
{
    for (int k = 0; k < parallel; k++) {
        bool used = false;

        for (int i = 0; i < n; i++)
            used |= pid[i] > 0 && slot[i] == k;
        if (!used)
            return k;
    }
    BUG("no free slot among %d", parallel);
}

int sweep_jobs_run(struct sweep_job *job, int n, const struct sweep_slots *slots,
                   void (*ended)(int i, const struct sweep_job *j, void *arg), void *arg)
{
    pid_t *pid = xcalloc((size_t)n + 1, sizeof(*pid)), ended_pid;
    int *slot = xcalloc((size_t)n + 1, sizeof(*slot));
    const char **device = xcalloc((size_t)n + 1, sizeof(*device));
    int next = 0, running = 0, status;
    bool forwarded = false;

    process_catch_signals(on_signal);
    for (int i = 0; i < n; i++)
        job[i].code = -1;
    while (running || (next < n && !stop_signal)) {
        while (running < slots->parallel && next < n && !stop_signal) {
            slot[next] = free_slot(slot, pid, n, slots->parallel);
            device[next] = slots->ndevice ? slots->device[slot[next]] : NULL;
            pid[next] = start(&job[next], device[next]);
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
            pid[i] =
                should_retry(&job[i]) && !stop_signal ? start(&job[i], device[i]) : 0;
            if (pid[i])
                continue;
            running--;
            ended(i, &job[i], arg);
        }
    }
    free(pid);
    free(slot);
    free(device);
    return stop_signal;
}
