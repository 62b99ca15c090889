/*
 * Runs in flight: batches that are being copied to the device, and the snapshots of
 * control and metrics after each update.
 *
 *   inflight_mark(q);                       before the first of runs that are timed
 *   inflight_room(q);                       at most one run is unfinished then
 *   inflight_input(q, to, &batch);          starts copying, parallel to the current run
 *   program_run(p);
 *   inflight_ran(q, control, metrics);
 *   while (inflight_next(q, &snapshot)) ... completed snapshots, in order
 *   inflight_drain(q);                      nothing is in flight, all batches returned
 *
 * The host is never more than two runs ahead and waits only for a run that has a
 * successor, so the device never runs dry. A batch is copied to one of two slots on the
 * device in LANE_COPY while the previous run continues; at the start of its own run it is
 * copied from there to where the program reads it (77 MB of traffic for 256 images of
 * 224x224: 0.02 ms of a step of 30 ms). One captured graph therefore serves both slots,
 * and no kernel needs to know which slot is active.
 *
 * With several processes, whose hosts exchange what snapshots say, all must see a snapshot
 * after the same run, however far their devices are (`lockstep`).
 *
 * On a backend without lanes everything is synchronous, and the calls work unchanged.
 */
#ifndef SESSION_INFLIGHT_H
#define SESSION_INFLIGHT_H

#include "graph/backend.h"
#include "ops/control.h"

/*
 * A batch in host memory. It stays lent until one of the functions here calls
 * release(owner, token). Without `release`, the call that takes the batch waits until it
 * is copied.
 */
struct lent_batch {
    const void *pixels, *labels;
    void (*release)(void *owner, const void *token);
    void *owner;
    const void *token;
    /* Called just before, with the duration of the copy; may be NULL. */
    void (*copied)(void *owner, double seconds);
    const void *targets;     /* for programs of MODEL_MULTILABEL, MODEL_REGRESSION */
    const void *keys, *jobs; /* for programs that read them */
    const float *shares;     /* [SHARES], session/shares.h; NULL: all 1 */
    const float *seed;       /* [batch, classes] for SESSION_CAM */
    bool stop;               /* the vote of this process: session/vote.h */
};

struct snapshot {
    struct control control;
    struct metrics metrics;
    /* Duration of the runs of this update: from the end of the run before them, or from
     * inflight_mark(), to their own end, independent of when it is read. */
    double seconds;
};

enum { INFLIGHT_SLOTS = 2, INFLIGHT_RUNS = 4, INFLIGHT_LENT = 3 };

struct inflight {
    const struct backend *backend;
    const struct backend_async *async; /* NULL: all runs are synchronous */
    struct device *device;
    struct inflight_slot {
        void *memory; /* on the device */
        void *began, *filled, *used;
        struct lent_batch lent; /* .release is NULL after it was returned */
    } slot[INFLIGHT_SLOTS];
    void *finished[INFLIGHT_RUNS + 1]; /* for these runs and the one before them */
    bool told[INFLIGHT_RUNS];          /* this run left a snapshot */
    bool lockstep; /* snapshots of the last two runs are only seen after a drain */
    struct snapshot *snapshot;    /* [INFLIGHT_RUNS], pinned */
    float *vote;                  /* [INFLIGHT_RUNS], pinned: mean votes */
    int64_t voted[INFLIGHT_RUNS]; /* the run of each */
    size_t slot_size;
    int64_t batches, runs, seen, votes;
    int64_t drained;                     /* runs at the last inflight_drain() */
    void *marked;                        /* event recorded by inflight_mark() */
    int64_t mark;                        /* the run that followed it */
    double ended[INFLIGHT_RUNS], before; /* without events: clock_now() after each run */
    double seconds;                      /* runs since the last snapshot */
};

/* The arrays of a batch, in the order in which a slot holds them. */
enum batch_array {
    BATCH_PIXELS,
    BATCH_LABELS,
    BATCH_KEYS,
    BATCH_JOBS,
    BATCH_SHARES,
    BATCH_TARGETS,
    BATCH_SEED,
    BATCH_VOTE,
    BATCH_ARRAYS
};

/* Where a program reads its batch; an absent array has size 0. */
struct inflight_place {
    void *dst[BATCH_ARRAYS];
    size_t size[BATCH_ARRAYS]; /* bytes */
};

void inflight_init(struct inflight *q, const struct backend *b, struct device *dev,
                   size_t slot_size);
void inflight_release(struct inflight *q); /* Call after inflight_drain. */

/* Returns the bytes of a slot that holds arrays of these sizes. */
size_t inflight_slot_size(const size_t size[BATCH_ARRAYS]);

/* Returns the device memory that inflight_init allocates for slots of this size. */
size_t inflight_bytes(const struct backend *b, size_t slot_size);

/* Starts timing: later snapshots report the duration of their runs, without earlier ones. */
void inflight_mark(struct inflight *q);

void inflight_room(struct inflight *q);
void inflight_input(struct inflight *q, const struct inflight_place *dst,
                    const struct lent_batch *b);
/* `control` and `metrics` are on the device; NULL: this run leaves no snapshot. */
void inflight_ran(struct inflight *q, const void *control, const void *metrics);

/* Call before inflight_ran(): also reads the mean vote of this run from the device. */
void inflight_vote(struct inflight *q, const void *mean);
/* True if the votes of the last run with votes but one are not all 0; waits for that run. */
bool inflight_stop(struct inflight *q);

/*
 * Gets the next complete snapshot, each once and in the order of the runs; returns false
 * if there is none yet. Unread snapshots: the last few are kept.
 */
bool inflight_next(struct inflight *q, struct snapshot *dst);
void inflight_drain(struct inflight *q);

#endif
