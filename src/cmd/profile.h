/*
 * trainc profile: where the time of a training run goes. Updates with real data are
 * timed, each step of the program among them, and held against what the device can do.
 *
 *   profile.c         the verb, and the updates that it runs
 *   profile_steps.c   each step of the programs: time, bytes, operations, floor
 *   profile_print.c   the tables
 *   profile_advice.c  what to change, a rule each
 *   profile_trace.c   the trace file
 *
 * On a CPU the times of steps are those of the run itself. On a device that works beside
 * the host each step is run some times in a row after it (cmd/bench_program.h).
 *
 * The floor of a step is the larger of bytes / bandwidth and operations / rate
 * (cmd/step_floor.h); of a device whose limits are not known both are measured: a large
 * copy, and a large GEMM of the library. What fits into a cache, and convolutions that
 * need fewer multiplications than their definition (Winograd), may be below it.
 */
#ifndef CMD_PROFILE_H
#define CMD_PROFILE_H

#include <pthread.h>

#include "cmd/step_floor.h"
#include "train/feed.h"

/* A step of one of the programs that ran. */
struct profile_step {
    const struct region *region;
    double *each; /* seconds of each run; freed once `seconds` is known */
    int n, cap;
    double seconds;    /* median of a run */
    double per_update; /* runs per update: more than 1 when gradients are accumulated */
    int64_t flops;
    size_t bytes;
    double floor; /* seconds; 0: not known */
};

/* A stretch of the training thread. */
enum profile_kind { PROFILE_WAIT, PROFILE_RUN, PROFILE_STEP };

struct profile_span {
    enum profile_kind kind;
    const struct region *region; /* PROFILE_STEP */
    int64_t update;
    double from, to;
};

/* A sample in a thread of the loader. */
struct profile_sample {
    int worker, at;
    uint64_t epoch;
    int64_t batch, sample;
    double from, to;
    struct stage_log stages;
};

struct profile {
    const struct config *cfg;
    struct session session;
    struct feed feed;
    bool traced; /* spans and samples are kept */
    int64_t most; /* updates to time */
    double seconds; /* and no longer than that, if it is above 0 */
    int64_t updates;
    double began, ended; /* of the timed updates */
    double *update; /* seconds of each */
    int update_cap;
    double waited, ran, refreshed; /* seconds of all: for data, in programs, and of that
                                    * between their steps */
    struct loader_stats loader;    /* of the timed updates */
    struct device_waits waits;
    struct device_limits limits;
    bool has_limits, measured_limits;
    struct profile_step *step[SESSION_PROGRAMS]; /* [program->nregion] */
    struct profile_span *span;
    int64_t nspan, span_cap;
    struct profile_sample *sample;
    int64_t nsample, sample_cap;
    pthread_mutex_t lock; /* of `sample` */
};

/* Before the first update: room for the steps, limits of the device. */
void profile_steps_init(struct profile *p);
/* While on, steps that run are timed, where the device does not work beside the host. */
void profile_steps_watch(struct profile *p, bool on);
/* After the last one: medians, bytes, floors. */
void profile_steps_finish(struct profile *p);
void profile_steps_release(struct profile *p);

/* Step k of all programs that ran, in order; NULL after the last. */
const struct profile_step *profile_step_at(const struct profile *p, int k);
double profile_step_total(const struct profile_step *s); /* seconds of an update */
double profile_steps_sum(const struct profile *p);
/* FLOP/s: the most that a step's kernel could reach on the device (step_peak()). NaN: its
 * limits are not known, or no step computes. */
double profile_peak(const struct profile *p);
/* Seconds of an update. */
double profile_update_median(const struct profile *p);
double profile_images(const struct profile *p); /* of an update */
/* The steps that lose the most against their floors, of an update; without limits those
 * that take longest. How many there are, up to `most`. */
int profile_worst(const struct profile *p, const struct profile_step **to, int most);
double profile_lost(const struct profile_step *s);

void profile_print(const struct profile *p, int worst, bool brief);
/* A sentence for each rule that applies: how many. */
int profile_advice(const struct profile *p, struct strbuf *out);
void profile_json(const struct profile *p, int worst, const char *path);
void profile_trace(struct profile *p, const char *path);

#endif
