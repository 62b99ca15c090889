/*
 * A sweep under way: what the files sweep*.c share. Private to them.
 *
 *   DIR/MODEL/NAME/         the folder of a run, as trainc train makes it
 *   DIR/sweep/NAME.log      what it said
 *   DIR/sweep/NAME.args     its arguments
 *   DIR/sweep/NAME.json     its result; NAME.1.json: that of its first rung
 *   DIR/sweep.csv           one row per run, the best first
 *   DIR/sweep_mean.csv      mean and deviation over runs that differ in fold or seed
 *
 * Successive halving (Jamieson and Talwalkar 2016, arXiv 1502.07943) with R halvings: all
 * runs get 1/2^R of their updates, the better half of them twice as many, and so on; the
 * last get all. Schedules are those of whole runs.
 */
#ifndef CMD_SWEEP_H
#define CMD_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/sweep_grid.h"

/* What became of a run. */
struct outcome {
    double score; /* larger is better; NaN: none */
    double value; /* as it is reported */
    int64_t steps;
    int rung;   /* that it ended; the last one: it is done */
    int code;   /* of its last process; -1: not started */
    char *last; /* the last line of a run that failed; NULL */
};

enum { SWEEP_HALVINGS = 10 }; /* at most */

struct sweep {
    struct sweep_grid grid;
    char **given; /* arguments of every run */
    int ngiven, given_cap;
    const char *output, *metric; /* of the result; NULL: the first that there is */
    char *dir;                   /* of logs and results */
    int jobs, halvings;
    struct outcome *outcome; /* of each run */
    int *live, nlive;        /* of the rung under way */
    int rung;
};

/* "DIR/sweep/NAME.2.log": of a run in a rung. */
char *sweep_path(const struct sweep *s, int run, int rung, const char *end);
/* Takes what the result of a rung says; false: there is none of one that ended well. */
bool sweep_read_result(struct sweep *s, int run, int rung);
/* What the run is asked to do, in NAME.args: a result of other arguments is not its. */
bool sweep_args_same(const struct sweep *s, int run);
void sweep_args_write(const struct sweep *s, int run);
/* Why a run failed. */
char *sweep_last_line(const struct sweep *s, int run, int rung);
/* Updates of a whole run, as its derived.yaml says; 0: it has not been started. */
int64_t sweep_updates(const struct sweep *s, int run);

/* Are the arguments of every run understood? Their mistakes are on stderr. */
bool sweep_is_understood(struct sweep *s);
/* All rungs; the signal that ended them, or 0. */
int sweep_run_all(struct sweep *s);
/* Better ones first: run numbers, for qsort_r. */
int sweep_by_score(const void *a, const void *b, void *sweep);

/* The table on stdout and in sweep.csv; the exit code. */
int sweep_tell(const struct sweep *s);
/* Mean and deviation over the runs that differ in DATA.FOLD, DATA.SPLIT_SEED or SEED
 * alone, on stdout and in sweep_mean.csv; nothing where no runs do. */
void sweep_report_means(const struct sweep *s);

#endif
