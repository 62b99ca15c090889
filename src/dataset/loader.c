/*
 * The loader's ring of batches and its threads.
 *
 * Batch k of an epoch uses slot k % nslots. A worker takes a few samples (a ticket) of
 * the newest batch in progress, and starts a new batch only if its slot is free.
 * Scheduling holds one lock; decoding does not. Faults are stored in the slot, and
 * loader_next handles them batch by batch, so the outcome does not depend on the order of
 * the threads.
 */
#include "dataset/loader.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "dataset/hold.h"
#include "dataset/loader_ring.h"

/* Samples [begin, end) of a slot's batch, assigned to one worker. */
struct ticket {
    struct slot *slot;
    int begin, end;
};

/* Assigns the next samples to `t`. Returns false if there is no work. Requires the
 * lock. */
static bool loader_claim_samples(struct loader *l, struct ticket *t)
{
    int left = l->o.batch - l->start_index, share = l->o.batch / (4 * (l->o.workers + 1));
    struct slot *s = &l->slot[l->start % l->nslots];

    if (l->start >= l->batches || (l->start_index == 0 && s->state != SLOT_FREE))
        return false;
    if (l->start_index == 0) {
        s->state = SLOT_FILLING;
        s->pending = l->o.batch;
        s->batch.epoch = l->epoch;
        s->batch.number = l->start;
        slot_clear_faults(s);
    }
    share = share < 1 ? 1 : share > 16 ? 16 : share;
    t->slot = s;
    t->begin = l->start_index;
    t->end = l->start_index + (left < share ? left : share);
    l->start_index = t->end;
    if (l->start_index == l->o.batch) {
        l->start_index = 0;
        l->start++;
    }
    return true;
}

/* Loads the sample at index `pos` of the slot's batch. */
static void loader_load(struct loader *l, struct loader_worker *w, struct slot *s,
                        int pos)
{
    struct loader_event seen = {.worker = w->number, .index = pos, .stages = &w->log};
    const struct image_decoder *d = w->transformer.decoder;
    bool machine = false;
    char *reason;

    seen.begin = w->observed ? clock_now() : 0;
    reason = loader_fill(l, w, &s->batch, pos, &seen.sample, &machine);
    if (w->observed) {
        seen.end = clock_now();
        seen.epoch = s->batch.epoch;
        seen.batch = s->batch.number;
        l->o.observe(&seen, l->o.observe_arg);
    }
    if (!reason && !image_decoder_warning(d))
        return;
    pthread_mutex_lock(&l->lock);
    if (reason)
        slot_add_fault(s, pos, seen.sample, reason,
                       machine ? FAULT_MACHINE : FAULT_DAMAGED);
    if (image_decoder_warning(d) && s->batch.sample[pos] >= 0)
        slot_add_fault(s, pos, s->batch.sample[pos], xstrdup(image_decoder_warning(d)),
                       FAULT_WARNED);
    pthread_mutex_unlock(&l->lock);
}

/* Loads the ticket's samples and updates the slot. Requires the lock, which is released
 * while samples are loaded. */
static void loader_run_ticket(struct loader *l, struct loader_worker *w,
                              const struct ticket *t)
{
    struct slot *s = t->slot;

    pthread_mutex_unlock(&l->lock);
    for (int pos = t->begin; pos < t->end && !atomic_load(&l->hurry); pos++)
        loader_load(l, w, s, pos);
    pthread_mutex_lock(&l->lock);
    stage_times_add(&l->stats.stages, &w->times, 1);
    w->times = (struct stage_times){0};
    s->pending -= t->end - t->begin;
    if (s->pending == 0)
        s->state = SLOT_READY;
}

void *loader_thread(void *arg)
{
    struct loader *l = arg;
    struct loader_worker w;
    struct ticket t;

    loader_worker_init(&w, &l->o.limits);
    w.observed = l->o.observe != NULL;
    pthread_mutex_lock(&l->lock);
    w.number = l->started++;
    while (!l->stop) {
        if (!loader_claim_samples(l, &t)) {
            pthread_cond_wait(&l->work, &l->lock);
            continue;
        }
        l->active++;
        loader_run_ticket(l, &w, &t);
        l->active--;
        if (t.slot->state == SLOT_READY)
            pthread_cond_signal(&l->ready);
        if (l->active == 0)
            pthread_cond_signal(&l->idle);
    }
    pthread_mutex_unlock(&l->lock);
    loader_worker_release(&w);
    return NULL;
}

int64_t loader_batches(const struct loader *l)
{
    return l->batches;
}

void loader_start_epoch(struct loader *l, uint64_t epoch, int64_t first_batch)
{
    if (first_batch < 0 || first_batch > l->batches)
        BUG("batch %lld of an epoch of %lld", (long long)first_batch,
            (long long)l->batches);
    pthread_mutex_lock(&l->lock);
    atomic_store(&l->hurry, true);
    l->start = l->batches; /* no more tickets */
    l->start_index = 0;
    while (l->active > 0)
        pthread_cond_wait(&l->idle, &l->lock);
    atomic_store(&l->hurry, false);
    for (int i = 0; i < l->nslots; i++)
        if (l->slot[i].state != SLOT_HELD)
            l->slot[i].state = SLOT_FREE;
    l->epoch = epoch;
    if (l->windows.shard)
        sampler_windows_order(&l->windows, l->o.seed, epoch);
    l->start = l->next = first_batch;
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->lock);
}

/* Waits for the next batch or, without workers, loads it. Requires the lock. */
static void loader_wait(struct loader *l, struct slot *s)
{
    double start = clock_now();
    struct ticket t;

    if (s->state == SLOT_HELD)
        BUG("loader_next while the caller holds the batch %lld, whose place it needs",
            (long long)s->batch.number);
    while (s->state != SLOT_READY) {
        if (l->o.workers > 0)
            pthread_cond_wait(&l->ready, &l->lock);
        else if (loader_claim_samples(l, &t))
            loader_run_ticket(l, &l->local_worker, &t);
        else
            BUG("no work for batch %lld", (long long)l->next);
    }
    l->stats.wait_seconds += clock_now() - start;
}

const struct batch *loader_next(struct loader *l)
{
    struct slot *s = &l->slot[l->next % l->nslots];

    if (l->next >= l->batches || l->failure)
        return NULL;
    pthread_mutex_lock(&l->lock);
    loader_wait(l, s);
    s->state = SLOT_HELD;
    l->next++;
    pthread_mutex_unlock(&l->lock);
    if (!loader_report(l, s))
        return NULL; /* the slot is not used again */
    s->batch.valid = 0;
    for (int i = 0; i < s->batch.size; i++) {
        s->batch.valid += s->batch.label[i] >= 0;
        l->stats.samples += s->batch.sample[i] >= 0;
    }
    return &s->batch;
}

void loader_release_batch(struct loader *l, const struct batch *b)
{
    struct slot *s = l->slot;

    while (s < l->slot + l->nslots && &s->batch != b)
        s++;
    if (s == l->slot + l->nslots || s->state != SLOT_HELD)
        BUG("release of a batch that is not held");
    pthread_mutex_lock(&l->lock);
    s->state = SLOT_FREE;
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->lock);
}

void loader_add_copy(struct loader *l, double seconds)
{
    pthread_mutex_lock(&l->lock);
    l->stats.stages.seconds[STAGE_COPY] += seconds;
    pthread_mutex_unlock(&l->lock);
}

const char *loader_failure(const struct loader *l)
{
    return l->failure;
}

struct loader_stats loader_stats(struct loader *l)
{
    struct loader_stats s;

    pthread_mutex_lock(&l->lock);
    s = l->stats;
    pthread_mutex_unlock(&l->lock);
    if (l->source.cache) {
        s.cached = cache_count(l->source.cache);
        s.cached_bytes = cache_used(l->source.cache);
    } else if (l->source.data->hold) {
        s.cached = hold_count(l->source.data->hold);
        s.cached_bytes = hold_used(l->source.data->hold);
    }
    return s;
}
