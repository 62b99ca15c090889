#include "session/inflight.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"

size_t inflight_bytes(const struct backend *b, size_t slot_size)
{
    return b->async ? INFLIGHT_SLOTS * slot_size : 0;
}

void inflight_init(struct inflight *q, const struct backend *b, struct device *dev,
                   size_t slot_size)
{
    size_t ring = INFLIGHT_RUNS * sizeof(*q->snapshot);

    *q = (struct inflight){
        .backend = b, .async = b->async, .device = dev, .slot_size = slot_size};
    q->snapshot = b->async ? b->async->host_alloc(dev, ring) : xcalloc(1, ring);
    for (int i = 0; b->async && i < INFLIGHT_SLOTS; i++) {
        q->slot[i].memory = b->alloc(dev, slot_size);
        q->slot[i].filled = b->async->event_new(dev);
        q->slot[i].used = b->async->event_new(dev);
    }
    for (int i = 0; b->async && i < INFLIGHT_RUNS; i++)
        q->finished[i] = b->async->event_new(dev);
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
        q->async->event_free(q->device, q->slot[i].filled);
        q->async->event_free(q->device, q->slot[i].used);
    }
    for (int i = 0; i < INFLIGHT_RUNS; i++)
        q->async->event_free(q->device, q->finished[i]);
    *q = (struct inflight){0};
}

static void give_back(struct lent_batch *b)
{
    if (b->release)
        b->release(b->owner, b->token);
    *b = (struct lent_batch){0};
}

static void give_back_copied(struct inflight *q)
{
    for (int i = 0; i < INFLIGHT_SLOTS; i++)
        if (q->slot[i].lent.release && q->async->done(q->device, q->slot[i].filled))
            give_back(&q->slot[i].lent);
}

void inflight_room(struct inflight *q)
{
    void *event;

    if (!q->async)
        return;
    if (q->runs >= 2) {
        event = q->finished[(q->runs - 2) % INFLIGHT_RUNS];
        if (!q->async->done(q->device, event))
            q->async->await(q->device, event);
    }
    give_back_copied(q);
}

static void copy_ahead(struct inflight *q, const struct inflight_place *to,
                       const struct lent_batch *b)
{
    struct inflight_slot *slot = &q->slot[q->batches++ % INFLIGHT_SLOTS];
    const struct backend_async *a = q->async;
    struct device *dev = q->device;
    size_t size = inflight_slot_size(to->pixel_size, to->label_size);
    size_t labels = size - to->label_size;
    char *memory = slot->memory;

    if (size > q->slot_size)
        BUG("a batch of %zu bytes for slots of %zu", size, q->slot_size);
    if (slot->lent.release) { /* two batches ago: copied long since */
        a->await(dev, slot->filled);
        give_back(&slot->lent);
    }
    a->wait(dev, LANE_COPY, slot->used);
    a->copy_in(dev, LANE_COPY, memory, b->pixels, to->pixel_size);
    if (to->label_size)
        a->copy_in(dev, LANE_COPY, memory + labels, b->labels, to->label_size);
    a->record(dev, LANE_COPY, slot->filled);
    a->wait(dev, LANE_RUN, slot->filled);
    a->copy(dev, LANE_RUN, to->pixels, memory, to->pixel_size);
    if (to->label_size)
        a->copy(dev, LANE_RUN, to->labels, memory + labels, to->label_size);
    a->record(dev, LANE_RUN, slot->used);
    if (b->release)
        slot->lent = *b;
    else
        a->await(dev, slot->filled);
}

void inflight_input(struct inflight *q, const struct inflight_place *to,
                    const struct lent_batch *b)
{
    struct lent_batch lent = *b;

    if (q->async) {
        copy_ahead(q, to, b);
        return;
    }
    q->backend->copy_in(q->device, to->pixels, b->pixels, to->pixel_size);
    if (to->label_size)
        q->backend->copy_in(q->device, to->labels, b->labels, to->label_size);
    give_back(&lent);
}

void inflight_ran(struct inflight *q, const void *control, const void *metrics)
{
    int at = (int)(q->runs++ % INFLIGHT_RUNS);
    struct snapshot *s = &q->snapshot[at];

    q->told[at] = control != NULL;
    if (control && q->async) {
        q->async->copy_out(q->device, LANE_RUN, &s->control, control, sizeof(s->control));
        q->async->copy_out(q->device, LANE_RUN, &s->metrics, metrics, sizeof(s->metrics));
    } else if (control) {
        q->backend->copy_out(q->device, &s->control, control, sizeof(s->control));
        q->backend->copy_out(q->device, &s->metrics, metrics, sizeof(s->metrics));
    }
    if (q->async)
        q->async->record(q->device, LANE_RUN, q->finished[at]);
}

bool inflight_next(struct inflight *q, struct snapshot *to)
{
    if (q->runs - q->seen > INFLIGHT_RUNS)
        q->seen = q->runs - INFLIGHT_RUNS;
    while (q->seen < q->runs) {
        int at = (int)(q->seen % INFLIGHT_RUNS);

        if (q->async && !q->async->done(q->device, q->finished[at]))
            return false;
        q->seen++;
        if (!q->told[at])
            continue;
        *to = q->snapshot[at];
        return true;
    }
    return false;
}

void inflight_drain(struct inflight *q)
{
    if (!q->async)
        return;
    q->backend->sync(q->device);
    for (int i = 0; i < INFLIGHT_SLOTS; i++)
        give_back(&q->slot[i].lent);
}
