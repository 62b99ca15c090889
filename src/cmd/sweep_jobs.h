/*
 * Programs that run side by side, some at a time, each with its own log.
 */
#ifndef CMD_SWEEP_JOBS_H
#define CMD_SWEEP_JOBS_H

#include <stdbool.h>

struct sweep_job {
    const char *const
        *argv;       /* of this program itself, argv[0] included; NULL at its end */
    const char *log; /* gets what it says, begun anew; NULL: errors go to stderr */
    int code;        /* its exit code; 128 + signal; -1: not started */
    int tries;       /* that ended with EXIT_BUSY, after which it is started again */
};

/*
 * Runs all jobs, `beside` at a time, and calls `ended` after each. A SIGTERM, SIGINT,
 * SIGHUP, or SIGUSR1 goes on to those that run, no more are started, and the signal is the result; 0:
 * all have run.
 */
int sweep_jobs_run(struct sweep_job *job, int n, int beside,
                   void (*ended)(int i, const struct sweep_job *j, void *arg), void *arg);

#endif
