/*
 * The ring of batches and its threads.
 *
 * Batch k of an epoch lives in slot k % nslots. A worker takes a few samples of the
 * newest batch in work (a ticket), and starts a batch only when its slot is free. All of
 * that happens under one lock; decoding does not. Faults are kept in the slot and dealt
 * with by the consumer, batch after batch, so that what happens does not depend on the
 * threads.
 */
#include "dataset/loader.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "dataset/loader_sample.h"
#include "dataset/sampler.h"

enum slot_state { SLOT_FREE, SLOT_FILLING, SLOT_READY, SLOT_HELD };

struct slot {
    struct batch batch;
    enum slot_state state;
    int pending; /* samples that are not done */
    struct slot_fault {
        int at; /* in the batch */
        int64_t sample;
        char *reason;
    } * fault;
    int nfault, fault_cap;
};

/* Samples [from, to) of a slot's batch, in one worker's hands. */
struct ticket {
    struct slot *slot;
    int from, to;
};

struct loader {
    struct loader_options o;
    struct loader_source source;
    int64_t batches; /* of an epoch */
    uint8_t *bad;    /* by sample: named already */
    char *failure;   /* NULL: none */
    struct loader_stats stats;
    struct loader_worker own; /* of the caller, without workers */

    pthread_t *thread;
    pthread_mutex_t lock; /* for everything below */
    pthread_cond_t work, ready, idle;
    atomic_bool hurry; /* leave tickets unfinished */
    bool stop;
    int active; /* tickets in workers' hands */
    uint64_t epoch;
    int64_t start; /* next batch to be started or continued */
    int start_at;  /* its next sample */
    int64_t next;  /* next batch for the caller */
    struct slot *slot;
    int nslots;
};

static void *loader_heap_alloc(size_t size, void *arg)
{
    (void)arg;
    return xalloc_aligned(size);
}

static void loader_heap_free(void *p, void *arg)
{
    (void)arg;
    free(p);
}

static size_t loader_sample_size(const struct loader *l)
{
    return (size_t)l->o.transform.w * (size_t)l->o.transform.h * 3;
}

/* Of a sample's label picture; 0: there is none. */
static size_t loader_mask_size(const struct loader *l)
{
    int d = l->o.transform.label_divisor;

    return d ? (size_t)(l->o.transform.w / d) * (size_t)(l->o.transform.h / d) : 0;
}

/* Pixels and label pictures are one block, so that they may travel as one. */
static void slot_init(struct loader *l, struct slot *s)
{
    size_t n = (size_t)l->o.batch, pixels = (n * loader_sample_size(l) + 63) / 64 * 64;

    s->batch.size = l->o.batch;
    s->batch.pixel = l->o.alloc(pixels + n * loader_mask_size(l), l->o.arg);
    if (loader_mask_size(l))
        s->batch.mask = s->batch.pixel + pixels;
    s->batch.label = l->o.alloc(n * sizeof(*s->batch.label), l->o.arg);
    s->batch.sample = xcalloc(n, sizeof(*s->batch.sample));
}

static void slot_clear_faults(struct slot *s)
{
    for (int i = 0; i < s->nfault; i++)
        free(s->fault[i].reason);
    s->nfault = 0;
}

static void slot_release(struct loader *l, struct slot *s)
{
    slot_clear_faults(s);
    free(s->fault);
    l->o.free(s->batch.pixel, l->o.arg);
    l->o.free(s->batch.label, l->o.arg);
    free(s->batch.sample);
}

/* Keeps the reason. */
static void slot_add_fault(struct slot *s, int at, int64_t sample, char *reason)
{
    struct slot_fault *f;

    GROW(s->fault, s->nfault, s->fault_cap);
    f = &s->fault[s->nfault++];
    f->at = at;
    f->sample = sample;
    f->reason = reason;
}

/* The next samples to work on; false: nothing to do. Called with the lock. */
static bool loader_take(struct loader *l, struct ticket *t)
{
    int left = l->o.batch - l->start_at, share = l->o.batch / (4 * (l->o.workers + 1));
    struct slot *s = &l->slot[l->start % l->nslots];

    if (l->start >= l->batches || (l->start_at == 0 && s->state != SLOT_FREE))
        return false;
    if (l->start_at == 0) {
        s->state = SLOT_FILLING;
        s->pending = l->o.batch;
        s->batch.epoch = l->epoch;
        s->batch.number = l->start;
        slot_clear_faults(s);
    }
    share = share < 1 ? 1 : share > 16 ? 16 : share;
    t->slot = s;
    t->from = l->start_at;
    t->to = l->start_at + (left < share ? left : share);
    l->start_at = t->to;
    if (l->start_at == l->o.batch) {
        l->start_at = 0;
        l->start++;
    }
    return true;
}

/* Places of a batch that are filled with other samples look at so many, as timm does. */
enum { REPLACEMENTS = 50 };

static struct sampler loader_order(const struct loader *l, uint64_t epoch)
{
    return (struct sampler){l->o.seed, epoch, l->source.data->n, l->o.shuffle,
                            l->o.repeats};
}

/* The epoch of augmentation's key: the copies of a sample look different. */
static uint64_t loader_augmented(const struct loader *l, uint64_t epoch,
                                 const struct sampler *order, int64_t position)
{
    uint64_t repeats = l->o.repeats > 1 ? (uint64_t)l->o.repeats : 1;

    return epoch * repeats + (uint64_t)sampler_copy(order, position);
}

/* One place of a batch; returns the reason if the file of its *sample is damaged. */
static char *loader_fill(struct loader *l, struct loader_worker *w, struct batch *b,
                         int at, int64_t *sample)
{
    struct sampler order = loader_order(l, b->epoch);
    int64_t positions = sampler_len(&order);
    int tries = l->o.replace ? REPLACEMENTS : 0;
    int64_t position = (b->number * l->o.world + l->o.rank) * l->o.batch + at;
    size_t size = loader_sample_size(l), mask_size = loader_mask_size(l);
    uint8_t *pixel = b->pixel + (size_t)at * size;
    uint8_t *mask = b->mask ? b->mask + (size_t)at * mask_size : NULL;
    struct strbuf why = STRBUF_INIT, others = STRBUF_INIT;

    b->label[at] = -1;
    b->sample[at] = *sample = position < positions ? sampler_at(&order, position) : -1;
    for (int k = 0; *sample >= 0 && k <= tries && k < positions; k++) {
        int64_t other = (position + k) % positions, i = sampler_at(&order, other);

        if (loader_sample(w, &l->source, loader_augmented(l, b->epoch, &order, other), i,
                          pixel, mask, k ? &others : &why))
            continue;
        b->sample[at] = i;
        b->label[at] = dataset_label(l->source.data, i);
        strbuf_release(&others);
        return k ? strbuf_detach(&why) : NULL;
    }
    memset(pixel, 0, size);
    if (mask)
        memset(mask, LABEL_IGNORE, mask_size);
    strbuf_release(&others); /* their own places tell what is wrong with them */
    return *sample < 0 ? NULL : strbuf_detach(&why);
}

/* Does the ticket's work and books it. Called, and left, with the lock. */
static void loader_do(struct loader *l, struct loader_worker *w, const struct ticket *t)
{
    struct slot *s = t->slot;

    pthread_mutex_unlock(&l->lock);
    for (int at = t->from; at < t->to && !atomic_load(&l->hurry); at++) {
        int64_t sample;
        char *reason = loader_fill(l, w, &s->batch, at, &sample);

        if (!reason)
            continue;
        pthread_mutex_lock(&l->lock);
        slot_add_fault(s, at, sample, reason);
        pthread_mutex_unlock(&l->lock);
    }
    pthread_mutex_lock(&l->lock);
    s->pending -= t->to - t->from;
    if (s->pending == 0)
        s->state = SLOT_READY;
}

static void *loader_thread(void *arg)
{
    struct loader *l = arg;
    struct loader_worker w;
    struct ticket t;

    loader_worker_init(&w, &l->o.limits);
    pthread_mutex_lock(&l->lock);
    while (!l->stop) {
        if (!loader_take(l, &t)) {
            pthread_cond_wait(&l->work, &l->lock);
            continue;
        }
        l->active++;
        loader_do(l, &w, &t);
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

/* Signals are for the main thread: workers are born with all of them blocked. */
static void loader_start_threads(struct loader *l)
{
    sigset_t all, before;

    l->thread = xcalloc((size_t)l->o.workers, sizeof(*l->thread));
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (int i = 0; i < l->o.workers; i++) {
        int error = pthread_create(&l->thread[i], NULL, loader_thread, l);

        if (error)
            die("cannot start loader thread %d of %d: %s", i + 1, l->o.workers,
                strerror(error));
        pthread_setname_np(l->thread[i], "loader");
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void loader_check_options(const struct dataset *d, const struct loader_options *o)
{
    if (o->batch < 1 || o->workers < 0 || o->transform.w < 1 || o->transform.h < 1 ||
        o->rank < 0 || o->rank >= o->world || !o->alloc != !o->free)
        BUG("loader options: batch %d, workers %d, %d x %d, rank %d of %d", o->batch,
            o->workers, o->transform.w, o->transform.h, o->rank, o->world);
    if (o->transform.label_divisor && !dataset_has_labels(d))
        BUG("'%s' has no label pictures", d->name);
}

struct loader *loader_open(const struct dataset *d, const struct loader_options *o)
{
    struct loader *l = xcalloc(1, sizeof(*l));
    int64_t step, positions;

    l->o = *o;
    l->o.world = o->world ? o->world : 1;
    if (!o->alloc && !o->free) {
        l->o.alloc = loader_heap_alloc;
        l->o.free = loader_heap_free;
    }
    loader_check_options(d, &l->o);
    l->o.limits = image_limits_or_default(&o->limits);
    step = (int64_t)l->o.batch * l->o.world;
    positions = sampler_len(&(struct sampler){.n = d->n, .repeats = o->repeats});
    l->batches = (positions + (o->drop_last ? 0 : step - 1)) / step;
    l->bad = xcalloc((size_t)d->n, 1);
    l->source = (struct loader_source){
        .data = d, .transform = &l->o.transform, .limits = l->o.limits, .seed = o->seed};
    if (o->cache_bytes > 0)
        l->source.cache = cache_new(d->n, o->cache_bytes);
    l->nslots = (o->prefetch > 0 ? o->prefetch : 1) + (o->held > 0 ? o->held : 1);
    l->slot = xcalloc((size_t)l->nslots, sizeof(*l->slot));
    for (int i = 0; i < l->nslots; i++)
        slot_init(l, &l->slot[i]);
    l->start = l->next = l->batches; /* no epoch yet */
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->work, NULL);
    pthread_cond_init(&l->ready, NULL);
    pthread_cond_init(&l->idle, NULL);
    loader_worker_init(&l->own, &l->o.limits);
    loader_start_threads(l);
    return l;
}

void loader_close(struct loader *l)
{
    if (!l)
        return;
    pthread_mutex_lock(&l->lock);
    l->stop = true;
    atomic_store(&l->hurry, true);
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->lock);
    for (int i = 0; i < l->o.workers; i++)
        pthread_join(l->thread[i], NULL);
    free(l->thread);
    for (int i = 0; i < l->nslots; i++)
        slot_release(l, &l->slot[i]);
    free(l->slot);
    free(l->bad);
    free(l->failure);
    cache_free(l->source.cache);
    loader_worker_release(&l->own);
    pthread_cond_destroy(&l->work);
    pthread_cond_destroy(&l->ready);
    pthread_cond_destroy(&l->idle);
    pthread_mutex_destroy(&l->lock);
    free(l);
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
    l->start = l->batches; /* nothing to take */
    l->start_at = 0;
    while (l->active > 0)
        pthread_cond_wait(&l->idle, &l->lock);
    atomic_store(&l->hurry, false);
    for (int i = 0; i < l->nslots; i++)
        if (l->slot[i].state != SLOT_HELD)
            l->slot[i].state = SLOT_FREE;
    l->epoch = epoch;
    l->start = l->next = first_batch;
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->lock);
}

static int slot_compare_faults(const void *a, const void *b)
{
    const struct slot_fault *x = a, *y = b;

    return (x->at > y->at) - (x->at < y->at);
}

bool loader_too_many(int64_t bad, int64_t n, double share, int few)
{
    return !((double)bad <= share * (double)n) && !(share > 0 && bad <= few);
}

/* A damaged file that was not named before; sets l->failure if it is one too many. */
static void loader_name(struct loader *l, const struct slot_fault *f)
{
    const struct dataset *d = l->source.data;
    struct strbuf name = STRBUF_INIT;

    l->bad[f->sample] = 1;
    l->stats.bad_files++;
    dataset_describe(d, f->sample, &name);
    if (l->o.on_error == LOADER_FAIL)
        l->failure = xasprintf("cannot decode '%s': %s", name.buf, f->reason);
    else
        log_warning("cannot decode '%s', left out: %s", name.buf, f->reason);
    strbuf_release(&name);
    if (!l->failure &&
        loader_too_many(l->stats.bad_files, d->n, l->o.max_bad_share, l->o.few_bad))
        l->failure = xasprintf("'%s': %lld of %lld files are damaged, more than the "
                               "share of %g that DATA.MAX_BAD_SHARE allows",
                               d->name, (long long)l->stats.bad_files, (long long)d->n,
                               l->o.max_bad_share);
}

/* Names the batch's damaged files. False: they are too many. */
static bool loader_report(struct loader *l, struct slot *s)
{
    if (s->nfault)
        qsort(s->fault, (size_t)s->nfault, sizeof(*s->fault), slot_compare_faults);
    for (int i = 0; i < s->nfault && !l->failure; i++)
        if (!l->bad[s->fault[i].sample])
            loader_name(l, &s->fault[i]);
    return !l->failure;
}

/* Waits for, or makes, the next batch. Called with the lock. */
static void loader_await(struct loader *l, struct slot *s)
{
    double from = clock_now();
    struct ticket t;

    if (s->state == SLOT_HELD)
        BUG("loader_next while the caller holds the batch %lld, whose place it needs",
            (long long)s->batch.number);
    while (s->state != SLOT_READY) {
        if (l->o.workers > 0)
            pthread_cond_wait(&l->ready, &l->lock);
        else if (loader_take(l, &t))
            loader_do(l, &l->own, &t);
        else
            BUG("no work for batch %lld", (long long)l->next);
    }
    l->stats.wait_seconds += clock_now() - from;
}

const struct batch *loader_next(struct loader *l)
{
    struct slot *s = &l->slot[l->next % l->nslots];

    if (l->next >= l->batches || l->failure)
        return NULL;
    pthread_mutex_lock(&l->lock);
    loader_await(l, s);
    s->state = SLOT_HELD;
    l->next++;
    pthread_mutex_unlock(&l->lock);
    if (!loader_report(l, s))
        return NULL; /* its slot is not needed again */
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

const char *loader_failure(const struct loader *l)
{
    return l->failure;
}

struct loader_stats loader_stats(const struct loader *l)
{
    struct loader_stats s = l->stats;

    if (l->source.cache) {
        s.cached = cache_held(l->source.cache);
        s.cached_bytes = cache_used(l->source.cache);
    }
    return s;
}
