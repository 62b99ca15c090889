#include "session/inflight.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "session/shares.h"

enum { ALIGN = 256 };

static size_t aligned(size_t size)
{
    return (size + ALIGN - 1) / ALIGN * ALIGN;
}

size_t inflight_slot_size(const size_t size[BATCH_ARRAYS])
{
    size_t sum = 0;

    for (int i = 0; i < BATCH_ARRAYS; i++)
        sum += aligned(size[i]);
    return sum;
}

size_t inflight_bytes(const struct backend *b, size_t slot_size)
{
    return b->async ? INFLIGHT_SLOTS * slot_size : 0;
}

void inflight_init(struct inflight *q, const struct backend *b, struct device *dev,
                   size_t slot_size)
{
    size_t ring = INFLIGHT_RUNS * (sizeof(*q->snapshot) + sizeof(*q->vote));

    *q = (struct inflight){
        .backend = b, .async = b->async, .device = dev, .slot_size = slot_size};
    q->snapshot = b->async ? b->async->host_alloc(dev, ring) : xcalloc(1, ring);
    q->vote = (float *)(void *)(q->snapshot + INFLIGHT_RUNS);
    for (int i = 0; b->async && i < INFLIGHT_SLOTS; i++) {
        q->slot[i].memory = b->alloc(dev, slot_size);
        q->slot[i].began = b->async->event_new(dev);
        q->slot[i].filled = b->async->event_new(dev);
        q->slot[i].used = b->async->event_new(dev);
    }
    for (int i = 0; b->async && i <= INFLIGHT_RUNS; i++)
        q->finished[i] = b->async->event_new(dev);
    if (b->async)
        q->marked = b->async->event_new(dev);
    inflight_mark(q);
}

void inflight_release(struct inflight *q)
{
    if (!q->async) {
        free(q->snapshot);
        *q = (struct inflight){0};
        return;
    }
    q->async->host_free(q->device, q->snapshot);
    for (int i = 0; i < INFLIGHT_SLOTS; i++) {
        q->backend->free(q->device, q->slot[i].memory);
        q->async->event_free(q->device, q->slot[i].began);
        q->async->event_free(q->device, q->slot[i].filled);
        q->async->event_free(q->device, q->slot[i].used);
    }
    for (int i = 0; i <= INFLIGHT_RUNS; i++)
        q->async->event_free(q->device, q->finished[i]);
    q->async->event_free(q->device, q->marked);
    *q = (struct inflight){0};
}

static void give_back(struct lent_batch *b, double seconds)
{
    if (b->copied)
        b->copied(b->owner, seconds);
    if (b->release)
        b->release(b->owner, b->token);
    *b = (struct lent_batch){0};
}

/* Requires a filled slot. */
static void give_back_slot(struct inflight *q, struct inflight_slot *slot)
{
    give_back(&slot->lent, slot->lent.copied
                               ? q->async->seconds(q->device, slot->began, slot->filled)
                               : 0);
}

static void give_back_copied(struct inflight *q)
{
    for (int i = 0; i < INFLIGHT_SLOTS; i++)
        if (q->slot[i].lent.release && q->async->done(q->device, q->slot[i].filled))
            give_back_slot(q, &q->slot[i]);
}

static void *finished(const struct inflight *q, int64_t run)
{
    return q->finished[run % (INFLIGHT_RUNS + 1)];
}

void inflight_mark(struct inflight *q)
{
    if (q->async)
        q->async->record(q->device, LANE_RUN, q->marked);
    q->mark = q->runs;
    q->before = clock_now();
    q->seconds = 0;
}

void inflight_room(struct inflight *q)
{
    void *event;

    if (!q->async)
        return;
    if (q->runs >= 2) {
        event = finished(q, q->runs - 2);
        if (!q->async->done(q->device, event))
            q->async->await(q->device, event);
    }
    give_back_copied(q);
}

static const float ones[SHARES] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
_Static_assert(SHARES == 9, "one for each share");
static const float votes[] = {0, 1}; /* batch.stop as a float */

/* Writes the addresses of a batch's arrays in host memory. */
static void sources_of(const struct lent_batch *b, const size_t size[BATCH_ARRAYS],
                       const void *src[BATCH_ARRAYS])
{
    src[BATCH_PIXELS] = b->pixels;
    src[BATCH_LABELS] = b->labels;
    src[BATCH_KEYS] = b->keys;
    src[BATCH_JOBS] = b->jobs;
    src[BATCH_SHARES] = b->shares ? b->shares : ones;
    src[BATCH_TARGETS] = b->targets;
    src[BATCH_SEED] = b->seed;
    src[BATCH_VOTE] = &votes[b->stop];
    for (int i = 0; i < BATCH_ARRAYS; i++)
        if (size[i] && !src[i])
            BUG("a batch without array %d, of %zu bytes", i, size[i]);
}

static void copy_ahead(struct inflight *q, const struct inflight_place *dst,
                       const void *const src[BATCH_ARRAYS], const struct lent_batch *b)
{
    struct inflight_slot *slot = &q->slot[q->batches++ % INFLIGHT_SLOTS];
    const struct backend_async *a = q->async;
    struct device *dev = q->device;
    char *array[BATCH_ARRAYS], *end = slot->memory;

    for (int i = 0; i < BATCH_ARRAYS; i++) {
        array[i] = end;
        end += aligned(dst->size[i]);
    }
    if (end - (char *)slot->memory > (ptrdiff_t)q->slot_size)
        BUG("a batch of %td bytes for slots of %zu", end - (char *)slot->memory,
            q->slot_size);
    if (slot->lent.release) { /* two batches ago: its copy has completed */
        a->await(dev, slot->filled);
        give_back_slot(q, slot);
    }
    a->wait(dev, LANE_COPY, slot->used);
    a->record(dev, LANE_COPY, slot->began);
    for (int i = 0; i < BATCH_ARRAYS; i++)
        if (dst->size[i])
            a->copy_in(dev, LANE_COPY, array[i], src[i], dst->size[i]);
    a->record(dev, LANE_COPY, slot->filled);
    a->wait(dev, LANE_RUN, slot->filled);
    for (int i = 0; i < BATCH_ARRAYS; i++)
        if (dst->size[i])
            a->copy(dev, LANE_RUN, dst->dst[i], array[i], dst->size[i]);
    a->record(dev, LANE_RUN, slot->used);
    if (b->release)
        slot->lent = *b;
    else
        a->await(dev, slot->filled);
}

void inflight_input(struct inflight *q, const struct inflight_place *dst,
                    const struct lent_batch *b)
{
    struct lent_batch lent = *b;
    const void *src[BATCH_ARRAYS];
    double began = clock_now();

    sources_of(b, dst->size, src);
    if (q->async) {
        copy_ahead(q, dst, src, b);
        return;
    }
    for (int i = 0; i < BATCH_ARRAYS; i++)
        if (dst->size[i])
            q->backend->copy_in(q->device, dst->dst[i], src[i], dst->size[i]);
    give_back(&lent, clock_now() - began);
}

void inflight_vote(struct inflight *q, const void *mean)
{
    int item = (int)(q->votes++ % INFLIGHT_RUNS);
    float *vote = &q->vote[item];

    q->voted[item] = q->runs;
    if (q->async)
        q->async->copy_out(q->device, LANE_RUN, vote, mean, sizeof(*vote));
    else
        q->backend->copy_out(q->device, vote, mean, sizeof(*vote));
}

bool inflight_stop(struct inflight *q)
{
    int item = (int)((q->votes - 2) % INFLIGHT_RUNS);
    void *event;

    if (q->votes < 2)
        return false;
    event = finished(q, q->voted[item]);
    if (q->async && q->runs - q->voted[item] <= INFLIGHT_RUNS &&
        !q->async->done(q->device, event))
        q->async->await(q->device, event);
    return !(q->vote[item] == 0); /* NaN is a vote, too */
}

void inflight_ran(struct inflight *q, const void *control, const void *metrics)
{
    int pos = (int)(q->runs % INFLIGHT_RUNS);
    struct snapshot *s = &q->snapshot[pos];

    q->told[pos] = control != NULL;
    if (control && q->async) {
        q->async->copy_out(q->device, LANE_RUN, &s->control, control, sizeof(s->control));
        q->async->copy_out(q->device, LANE_RUN, &s->metrics, metrics, sizeof(s->metrics));
    } else if (control) {
        q->backend->copy_out(q->device, &s->control, control, sizeof(s->control));
        q->backend->copy_out(q->device, &s->metrics, metrics, sizeof(s->metrics));
    }
    if (q->async)
        q->async->record(q->device, LANE_RUN, finished(q, q->runs));
    else
        q->ended[pos] = clock_now();
    q->runs++;
}

/* Adds the duration of `run`, which has completed. */
static void add_time(struct inflight *q, int64_t run)
{
    double ended = q->ended[run % INFLIGHT_RUNS];

    if (run < q->mark)
        return;
    if (q->async) {
        q->seconds += q->async->seconds(q->device,
                                        run == q->mark ? q->marked : finished(q, run - 1),
                                        finished(q, run));
        return;
    }
    q->seconds += ended - q->before;
    q->before = ended;
}

/* True if the snapshot of `run` may be read: in lockstep inflight_room() must have waited
 * for it, which it does in all processes alike. */
static bool is_ready(const struct inflight *q, int64_t run)
{
    if (!q->async)
        return true;
    if (q->lockstep && run >= q->drained && run > q->runs - 3)
        return false;
    return q->async->done(q->device, finished(q, run));
}

bool inflight_next(struct inflight *q, struct snapshot *dst)
{
    if (q->runs - q->seen > INFLIGHT_RUNS)
        q->seen = q->runs - INFLIGHT_RUNS;
    while (q->seen < q->runs) {
        int pos = (int)(q->seen % INFLIGHT_RUNS);

        if (!is_ready(q, q->seen))
            return false;
        add_time(q, q->seen++);
        if (!q->told[pos])
            continue;
        *dst = q->snapshot[pos];
        dst->seconds = q->seconds;
        q->seconds = 0;
        return true;
    }
    return false;
}

void inflight_drain(struct inflight *q)
{
    if (!q->async)
        return;
    q->backend->sync(q->device);
    q->drained = q->runs;
    for (int i = 0; i < INFLIGHT_SLOTS; i++)
        if (q->slot[i].lent.release)
            give_back_slot(q, &q->slot[i]);
}
