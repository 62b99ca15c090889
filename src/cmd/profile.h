/*
 * trainc profile: shows where training spends its time. Times optimizer steps ("updates"
 * in this code) on real data, and each step of the compiled program in them, and compares
 * them with the limits of the device.
 *
 *   profile.c         the verb; runs the updates
 *   profile_steps.c   steps of the program: time, bytes, operations, floor
 *   profile_print.c   the tables
 *   profile_advice.c  the advice, one rule per function
 *   profile_trace.c   the trace file
 *
 * On a CPU, steps are timed during the run. On an asynchronous device, each step runs
 * several times in a row after the run (cmd/bench_program.h).
 *
 * The floor of a step is max(bytes / bandwidth, operations / rate) (cmd/step_floor.h). If
 * the limits of the device are unknown, both are measured with a large copy and a large
 * GEMM of the library. Steps whose data fits into a cache, and Winograd convolutions, can
 * be faster than their floor.
 */
#ifndef CMD_PROFILE_H
#define CMD_PROFILE_H

#include <pthread.h>

#include "cmd/step_floor.h"
#include "train/feed.h"

/* A step of a program that ran. */
struct profile_step {
    const struct region *region;
    double *each; /* seconds of each run; freed after computing `seconds` */
    int n, cap;
    double seconds;    /* median over the runs */
    double per_update; /* runs per update: more than 1 with gradient accumulation */
    int64_t flops;
    size_t bytes;
    double floor; /* seconds; 0 if unknown */
};

/* A time span of the training thread. */
enum profile_kind { PROFILE_WAIT, PROFILE_RUN, PROFILE_STEP };

struct profile_span {
    enum profile_kind kind;
    const struct region *region; /* PROFILE_STEP */
    int64_t update;
    double begin, end;
};

/* A sample in a loader thread. */
struct profile_sample {
    int worker, index;
    uint64_t epoch;
    int64_t batch, sample;
    double begin, end;
    struct stage_log stages;
};

struct profile {
    const struct config *cfg;
    struct session session;
    struct feed feed;
    bool traced;         /* record spans and samples */
    int64_t max_steps; /* largest number of steps to time */
    double seconds;      /* time limit; 0: none */
    int64_t updates;     /* number of timed updates */
    double began, ended; /* of the timed updates */
    double *update;      /* seconds of each */
    int update_cap;
    double waited, ran, refreshed; /* total seconds: waiting for data; in programs; in
                                    * programs, but between their steps */
    struct loader_stats loader;    /* during the timed updates */
    struct device_waits waits;
    struct device_limits limits;
    bool has_limits, measured_limits;
    struct profile_step *step[SESSION_PROGRAMS]; /* [program->nregion] */
    struct profile_span *span;
    int64_t nspan, span_cap;
    struct profile_sample *sample;
    int64_t nsample, sample_cap;
    pthread_mutex_t lock; /* protects `sample` */
};

/* Call before the first update. Allocates the steps and finds the device's limits. */
void profile_steps_init(struct profile *p);
/* Switches the timing of steps on or off. Does nothing on an asynchronous device. */
void profile_steps_watch(struct profile *p, bool enabled);
/* Call after the last update. Computes medians, bytes, and floors. */
void profile_steps_finish(struct profile *p);
void profile_steps_release(struct profile *p);

/* Returns step k of all programs that ran, in order, or NULL after the last. */
const struct profile_step *profile_step_at(const struct profile *p, int k);
double profile_step_total(const struct profile_step *s); /* seconds per update */
double profile_steps_sum(const struct profile *p);
/* Returns the highest FLOP/s that a step's kernel could reach on the device (step_peak()),
 * or NaN if the limits are unknown or no step computes. */
double profile_peak(const struct profile *p);
/* Returns the median seconds of an update. */
double profile_update_median(const struct profile *p);
double profile_images(const struct profile *p); /* images per update */
/* Stores the steps with the most time above their floor or, if the limits are unknown, the
 * slowest steps. Returns their number, at most `max`. */
int profile_worst(const struct profile *p, const struct profile_step **dst, int max);
/* Returns the seconds per update above the floor. */
double profile_lost(const struct profile_step *s);

void profile_print(const struct profile *p, int worst, bool brief);
/* Appends a sentence for each rule that applies and returns their number. */
int profile_advice(const struct profile *p, struct strbuf *out);
void profile_json(const struct profile *p, int worst, const char *path);
void profile_trace(struct profile *p, const char *path);

#endif
