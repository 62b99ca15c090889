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

/* How jobs run in parallel: `parallel` at a time and, with devices, each of them on its own:
 * --device is added to its arguments. */
struct sweep_slots {
    int parallel;
    char *const *device;
    int ndevice; /* 0, or `parallel` */
};

/*
 * Runs all jobs and calls `ended` after each. Forwards SIGTERM,
 * SIGINT, SIGHUP, and SIGUSR1 to the running jobs and starts no more. Returns that signal,
 * or 0 if all jobs have run.
 */
int sweep_jobs_run(struct sweep_job *job, int n, const struct sweep_slots *slots,
                   void (*ended)(int i, const struct sweep_job *j, void *arg), void *arg);

#endif
