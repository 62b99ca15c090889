/*
 * Measures the time of each stage of making samples, in thread seconds:
 *
 *   double start = stage_begin(times);
 *   ... read ...
 *   stage_end(times, STAGE_READ, &start);     the time since `start` was reading
 *
 * With `times` NULL nothing is measured and no clock is read.
 */
#ifndef IMAGE_STAGES_H
#define IMAGE_STAGES_H

#include <stddef.h>

#include "base/clock.h"
#include "base/strbuf.h"

enum stage {
    STAGE_READ,    /* the bytes of a file */
    STAGE_DECODE,  /* to pixels; label maps: including reading */
    STAGE_RESIZE,  /* including crop, pad, flip, and label maps */
    STAGE_AUGMENT, /* policy, color jitter, erasing */
    STAGE_COPY,    /* batches to the device, in the training thread */
    STAGES
};

/* The intervals of a sample, for a profiler; those beyond STAGE_LOG are dropped. */
enum { STAGE_LOG = 32 };

struct stage_log {
    int n;
    struct stage_stretch {
        enum stage stage;
        double begin, end; /* clock_now() */
    } entry[STAGE_LOG];
};

struct stage_times {
    double seconds[STAGES];
    struct stage_log *log; /* may be NULL */
};

static inline double stage_begin(const struct stage_times *t)
{
    return t ? clock_now() : 0;
}

static inline void stage_end(struct stage_times *t, enum stage stage, double *start)
{
    double now;

    if (!t)
        return;
    now = clock_now();
    t->seconds[stage] += now - *start;
    if (t->log && t->log->n < STAGE_LOG)
        t->log->entry[t->log->n++] = (struct stage_stretch){stage, *start, now};
    *start = now;
}

const char *stage_name(enum stage stage); /* "read" */
void stage_times_add(struct stage_times *dst, const struct stage_times *more,
                     double sign);
double stage_times_sum(const struct stage_times *t);
enum stage stage_slowest(const struct stage_times *t);

/* Appends "decode 71 %, resize 18 %, read 8 %, augment 3 %", slowest first. */
void stage_times_show(const struct stage_times *t, struct strbuf *out);

#endif
