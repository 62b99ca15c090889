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

static volatile sig_atomic_t asked;

static void on_signal(int sig)
{
    if (!asked)
        asked = sig;
}

static void catch_signals(void)
{
    struct sigaction a = {.sa_handler = on_signal}; /* no SA_RESTART: waitpid returns */

    sigemptyset(&a.sa_mask);
    (void)sigaction(SIGTERM, &a, NULL);
    (void)sigaction(SIGINT, &a, NULL);
    (void)sigaction(SIGHUP, &a, NULL);
}

/* In a group of its own: a Ctrl-C at the terminal reaches it through us, once. */
static pid_t start(const struct sweep_job *j)
{
    pid_t pid = fork();
    int fd;

    if (pid < 0)
        die("cannot start another process: %s", strerror(errno));
    if (pid)
        return pid;
    (void)setpgid(0, 0);
    fd = open(j->log ? j->log : "/dev/null", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
              0666);
    if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0 || (j->log && dup2(fd, STDERR_FILENO) < 0))
        die("cannot write '%s': %s", j->log, strerror(errno));
    (void)execv("/proc/self/exe", (char *const *)(uintptr_t)j->argv);
    die("cannot start /proc/self/exe: %s", strerror(errno));
}

static int code_of(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void hand_on(const pid_t *pid, int n)
{
    for (int i = 0; i < n; i++)
        if (pid[i] > 0)
            (void)kill(pid[i], SIGTERM);
}

int sweep_jobs_run(struct sweep_job *job, int n, int beside,
                   void (*ended)(int i, const struct sweep_job *j, void *arg), void *arg)
{
    pid_t *pid = xcalloc((size_t)n + 1, sizeof(*pid)), gone;
    int next = 0, running = 0, status;
    bool told = false;

    catch_signals();
    for (int i = 0; i < n; i++)
        job[i].code = -1;
    while (running || (next < n && !asked)) {
        while (running < beside && next < n && !asked) {
            pid[next] = start(&job[next]);
            next++;
            running++;
        }
        if (asked && !told) {
            hand_on(pid, n);
            told = true;
        }
        gone = waitpid(-1, &status, 0);
        for (int i = 0; gone > 0 && i < n; i++) {
            if (pid[i] != gone)
                continue;
            pid[i] = 0;
            running--;
            job[i].code = code_of(status);
            ended(i, &job[i], arg);
        }
    }
    free(pid);
    return asked;
}
