/*
 * The state of a sweep. Private to sweep*.c.
 *
 *   DIR/MODEL/NAME/         the folder of a run, as trainc train writes it
 *   DIR/sweep/NAME.log      its output
 *   DIR/sweep/NAME.args     its arguments
 *   DIR/sweep/NAME.json     its result; NAME.1.json: the result of its first rung
 *   DIR/sweep.csv           one row per run, best first
 *   DIR/sweep_mean.csv      mean and deviation of runs that differ only in fold or seed
 *
 * Successive halving (Jamieson and Talwalkar 2016, arXiv 1502.07943) with R halvings: all
 * runs train for 1/2^R of their steps, the better half for twice as many, and so on; the
 * last ones train to the end. Schedules are those of whole runs.
 */
#ifndef CMD_SWEEP_H
#define CMD_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/sweep_grid.h"

/* The outcome of a run. */
struct outcome {
    double score; /* larger is better; NaN if there is none */
    double value; /* as reported */
    int64_t steps;
    int rung;   /* the last completed rung */
    int code;   /* exit code of its last process; -1: not started */
    char *last; /* the last line of a failed run, or NULL */
};

enum { SWEEP_HALVINGS = 10 }; /* largest number */

struct sweep {
    struct sweep_grid grid;
    char **given; /* arguments of every run */
    int ngiven, given_cap;
    const char *output, *metric; /* metric: NULL for the first that a result has */
    char *dir;                   /* folder of logs and results */
    int jobs, halvings;
    char **device; /* --devices: of each parallel run; NULL: as the arguments say */
    int ndevice;
    struct outcome *outcome; /* of each run */
    int *live, nlive;        /* runs of the current rung */
    int rung;
};

/* Returns the path of a file of a run and rung, "DIR/sweep/NAME.2.log"; a heap string. */
char *sweep_path(const struct sweep *s, int run, int rung, const char *end);
/* Reads the result of a rung. Returns false if there is none, or if the run failed. */
bool sweep_read_result(struct sweep *s, int run, int rung);
/* True if NAME.args holds the current arguments of the run; a result made with different
 * arguments is not reused. */
bool sweep_args_same(const struct sweep *s, int run);
void sweep_args_write(const struct sweep *s, int run);
/* Returns the last line of the log of a failed run as a heap string. */
char *sweep_last_line(const struct sweep *s, int run, int rung);
/* Returns the number of steps of a whole run from its derived.yaml, or 0 if it has not
 * been started. */
int64_t sweep_updates(const struct sweep *s, int run);

/* True if the arguments of every run are valid. Prints errors to stderr. */
bool sweep_args_valid(struct sweep *s);
/* Runs all rungs. Returns the signal that stopped them, or 0. */
int sweep_run_all(struct sweep *s);
/* Compares run indices for qsort_r: better runs first. */
int sweep_by_score(const void *a, const void *b, void *sweep);

/* Adds runs with values of these axes (sweep_space.h), and runs them: `n` at random, or with
 * `tpe` by proposals that depend on the finished ones, a round of s->jobs at a time. Returns
 * the signal that stopped them, or 0. */
int sweep_search(struct sweep *s, char *const *axis, int naxis, int n, uint64_t seed,
                 bool tpe);
/* Makes room for the outcomes of all runs, and makes those from `first` on live. */
void sweep_grow(struct sweep *s, int first);

/* Prints the table and writes sweep.csv. Returns the exit code. */
int sweep_report(const struct sweep *s);
/* Prints mean and deviation of runs that differ only in DATA.FOLD, DATA.SPLIT_SEED, or
 * SEED, and writes them to sweep_mean.csv. Does nothing if there are no such runs. */
void sweep_report_means(const struct sweep *s);

#endif
