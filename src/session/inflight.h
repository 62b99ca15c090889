/*
 * Runs that are in flight: batches on their way to the device, and the snapshots of
 * control and metrics after each update.
 *
 *   inflight_mark(q);                       before the first of runs that are timed
 *   inflight_room(q);                       at most one run is unfinished then
 *   inflight_input(q, to, &batch);          starts copying, beside what runs
 *   program_run(p);
 *   inflight_ran(q, control, metrics);
 *   while (inflight_next(q, &snapshot)) ... those that are complete, in order
 *   inflight_drain(q);                      nothing is in flight, all batches given back
 *
 * So the host is never more than two runs ahead, and waits only for a run that has
 * another after it: the device does not run dry. A batch goes to one of two slots on the
 * device in LANE_COPY while the last run is still on; in front of its own run it is
 * copied from there to where the program reads (77 MB of traffic for 256 images of
 * 224x224: 0.02 ms of a step of 30 ms). With that, one captured graph serves both slots
 * and no kernel has to look up which slot is meant.
 *
 * On a backend without lanes all of this happens at once and the same calls are exact.
 */
#ifndef SESSION_INFLIGHT_H
#define SESSION_INFLIGHT_H

#include "graph/backend.h"
#include "ops/control.h"

/*
 * A batch in host memory. It is lent until release(owner, token) is called, by one of the
 * functions here; without `release` the call that takes it waits until it is copied.
 */
struct lent_batch {
    const void *pixels, *labels;
    void (*release)(void *owner, const void *token);
    void *owner;
    const void *token;
    /* Just before that: how long the device took to copy it; NULL: nobody asks. */
    void (*copied)(void *owner, double seconds);
    const void *keys, *jobs; /* where a program has a place for them */
    const float *shares;     /* [SHARES], session/shares.h; NULL: ones */
};

struct snapshot {
    struct control control;
    struct metrics metrics;
    /* What the runs of this update took: from the end of the last one before them, or
     * from inflight_mark(), to their own end, whenever that is read. */
    double seconds;
};

enum { INFLIGHT_SLOTS = 2, INFLIGHT_RUNS = 4, INFLIGHT_LENT = 3 };

struct inflight {
    const struct backend *backend;
    const struct backend_async *async; /* NULL: nothing is ever in flight */
    struct device *device;
    struct inflight_slot {
        void *memory; /* on the device */
        void *began, *filled, *used;
        struct lent_batch lent; /* .release is NULL: given back */
    } slot[INFLIGHT_SLOTS];
    void *finished[INFLIGHT_RUNS + 1]; /* and that of the run before them */
    bool told[INFLIGHT_RUNS];          /* this run left a snapshot */
    struct snapshot *snapshot;         /* [INFLIGHT_RUNS], pinned */
    size_t slot_size;
    int64_t batches, runs, seen;
    void *marked;                        /* the event of inflight_mark() */
    int64_t mark;                        /* the run that came next then */
    double ended[INFLIGHT_RUNS], before; /* without events: clock_now() after each run */
    double seconds;                      /* of runs since the last snapshot */
};

/* Where a program reads its batch; what it has no place for has size 0. */
struct inflight_place {
    void *pixels, *labels;
    size_t pixel_size, label_size;
    void *keys, *jobs, *shares;
    size_t key_size, job_size, share_size;
};

void inflight_init(struct inflight *q, const struct backend *b, struct device *dev,
                   size_t slot_size);
void inflight_release(struct inflight *q); /* after inflight_drain */

/* What a slot must hold for a batch of these sizes: one after the other. */
static inline size_t inflight_slot_size(size_t pixels, size_t labels, size_t keys,
                                        size_t jobs, size_t shares)
{
    return (pixels + 255) / 256 * 256 + (labels + 255) / 256 * 256 +
           (keys + 255) / 256 * 256 + (jobs + 255) / 256 * 256 + shares;
}

/* Device memory that inflight_init allocates for slots of this size. */
size_t inflight_bytes(const struct backend *b, size_t slot_size);

/* From here on snapshots say how long their runs took; what came before is not in it. */
void inflight_mark(struct inflight *q);

void inflight_room(struct inflight *q);
void inflight_input(struct inflight *q, const struct inflight_place *to,
                    const struct lent_batch *b);
/* `control` and `metrics` are on the device; NULL: this run leaves no snapshot. */
void inflight_ran(struct inflight *q, const void *control, const void *metrics);

/*
 * The next snapshot that is complete, each once and in the order of the runs; false: none
 * yet. Of those that nobody asked for, the last few are kept.
 */
bool inflight_next(struct inflight *q, struct snapshot *to);
void inflight_drain(struct inflight *q);

#endif
