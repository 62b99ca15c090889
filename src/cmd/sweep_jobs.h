/*
 * Runs programs in parallel, each with its own log.
 */
#ifndef CMD_SWEEP_JOBS_H
#define CMD_SWEEP_JOBS_H

#include <stdbool.h>

struct sweep_job {
    const char *const
        *argv;       /* arguments of this program, including argv[0]; ends with NULL */
    const char *log; /* file for its output, overwritten; NULL: only errors, to stderr */
    int code;        /* its exit code or 128 + signal; -1: not started */
    int tries;       /* number of attempts that ended with EXIT_BUSY and were retried */
};

/*
 * Runs all jobs, `parallel` at a time, and calls `ended` after each. Forwards SIGTERM,
 * SIGINT, SIGHUP, and SIGUSR1 to the running jobs and starts no more. Returns that signal,
 * or 0 if all jobs have run.
 */
int sweep_jobs_run(struct sweep_job *job, int n, int parallel,
                   void (*ended)(int i, const struct sweep_job *j, void *arg), void *arg);

#endif
