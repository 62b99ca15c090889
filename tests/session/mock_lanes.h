/*
 * A device whose two lanes do nothing until waited for, so that reading a result or
 * returning a batch too early is detected.
 */
#ifndef TESTS_SESSION_MOCK_LANES_H
#define TESTS_SESSION_MOCK_LANES_H

#include "graph/backend.h"
#include "graph/lanes.h"

struct event {
    int recorded, done; /* counters */
    double time;        /* of its lane, when the event completed */
};

struct work {
    enum { COPY, RECORD, WAIT, SPEND } kind;
    void *dst;
    const void *src;
    size_t size;
    struct event *event;
    int need; /* id of the event */
    double seconds;
};

struct device {
    struct work lane[2][256];
    int n[2], next[2];
    int syncs, awaits;
    int turn; /* lane that goes first */
    double time[2];
};

enum { COPIES_A_SECOND = 8 };

/* Allocation, events, copies, and sync only. */
extern const struct backend mock_lanes;

/* Runs the next operation of a lane that is not blocked. The preferred lane changes every
 * seven calls, so that each gets far ahead of the other. */
bool mock_lanes_next(struct device *d);
void mock_lanes_add(struct device *d, enum lane lane, struct work w);

#endif
