#include "dataset/loader.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hostmem.h"
#include "base/log.h"
#include "dataset/cache_path.h"
#include "dataset/cache_size.h"
#include "dataset/loader_ring.h"
#include "dataset/read.h"
#include "image/gate.h"

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

/* Pixels and label maps share one allocation, so that one copy transfers both. */
static void slot_init(struct loader *l, struct slot *s)
{
    size_t n = (size_t)l->o.batch, pixels = (n * loader_sample_size(l) + 63) / 64 * 64;

    s->batch.size = l->o.batch;
    s->batch.pixel = l->o.alloc(pixels + n * loader_label_map_size(l), l->o.arg);
    if (loader_label_map_size(l))
        s->batch.label_map = s->batch.pixel + pixels;
    s->batch.label = l->o.alloc(n * sizeof(*s->batch.label), l->o.arg);
    if (dataset_has_targets(l->source.data))
        s->batch.target = l->o.alloc(n * dataset_target_size(l->source.data), l->o.arg);
    s->batch.key = l->o.alloc(n * sizeof(*s->batch.key), l->o.arg);
    if (l->o.transform.resize_later)
        s->batch.job = l->o.alloc(n * sizeof(*s->batch.job), l->o.arg);
    s->batch.sample = xcalloc(n, sizeof(*s->batch.sample));
}

static void slot_release(struct loader *l, struct slot *s)
{
    slot_clear_faults(s);
    free(s->fault);
    l->o.free(s->batch.pixel, l->o.arg);
    l->o.free(s->batch.label, l->o.arg);
    l->o.free(s->batch.key, l->o.arg);
    if (s->batch.target)
        l->o.free(s->batch.target, l->o.arg);
    if (s->batch.job)
        l->o.free(s->batch.job, l->o.arg);
    free(s->batch.sample);
}

/* Signals are for the main thread: workers block all of them except SIGBUS, which their
 * own accesses to mapped files may raise (base/mapped_fault.h). */
static void loader_start_threads(struct loader *l)
{
    sigset_t all, before;

    l->thread = xcalloc((size_t)l->o.workers, sizeof(*l->thread));
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
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
        BUG("'%s' has no label maps", d->name);
}

/* Returns the number of threads that decode. */
static int loader_decoders(const struct loader *l)
{
    return l->o.workers ? l->o.workers : 1;
}

/* Opens the shared cache: the file in the data set's folder if it is valid and writable,
 * else the one in the user's folder. Logs a warning and returns NULL if neither can be
 * used. */
static struct cache *loader_share(const struct dataset *d, const struct loader_options *o)
{
    struct keep_paths p = cache_paths(d, &o->transform, &o->limits, &o->keep);
    int channels = transform_channels(&o->transform);
    struct strbuf why = STRBUF_INIT, size = STRBUF_INIT;
    const char *path = p.data;
    struct cache *c = path ? cache_share(d, path, channels, 0, &why) : NULL;

    if (!c && p.user) {
        strbuf_reset(&why);
        path = p.user;
        (void)keep_make_folder(&p);
        c = cache_share(d, path, channels, o->cache_bytes, &why);
    }
    if (c) {
        strbuf_add_bytes(&size, (double)cache_limit(c));
        log_info(
            "'%s': sharing decoded images in '%s' (limit %s); %lld of %lld are there",
            d->name, path, size.buf, (long long)cache_count(c), (long long)d->n);
    } else {
        log_warning("DATA.CACHE mmap: cannot use '%s': %s; decoding images every time "
                    "(set DATA.INDEX_DIR to another folder)",
                    p.user         ? p.user
                    : o->keep.dir ? o->keep.dir
                                  : "",
                    why.buf);
    }
    strbuf_release(&size);
    strbuf_release(&why);
    keep_paths_release(&p);
    return c;
}

static void loader_log_cache(const struct dataset *d, const struct loader_options *o)
{
    double about = cache_size(d, &o->transform, &o->limits);
    struct strbuf s = STRBUF_INIT;

    strbuf_addf(&s, "caching decoded images of '%s' in memory: ", d->name);
    if (about > 0) {
        strbuf_addstr(&s, "about ");
        strbuf_add_bytes(&s, about);
        strbuf_addstr(&s, about > (double)o->cache_bytes ? ", more than the limit of "
                                                         : " (limit ");
    } else {
        strbuf_addstr(&s, "at most ");
    }
    strbuf_add_bytes(&s, (double)o->cache_bytes);
    log_info("%s%s", s.buf, about > 0 && about <= (double)o->cache_bytes ? ")" : "");
    strbuf_release(&s);
}

/* Returns NULL if no cache is requested. */
static struct cache *loader_cache(const struct dataset *d, const struct loader_options *o)
{
    if (o->cache_bytes <= 0)
        return NULL;
    if (o->cache_shared)
        return loader_share(d, o);
    loader_log_cache(d, o);
    return cache_new(d->n, o->cache_bytes);
}

struct loader *loader_open(const struct dataset *d, const struct loader_options *o)
{
    struct loader *l = xcalloc(1, sizeof(*l));
    int64_t step, positions, shards;
    const int64_t *first;

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
    l->weights = sample_weights(d, l->o.shuffle ? l->o.sampling : SAMPLING_UNIFORM);
    l->bad = xcalloc((size_t)d->n, 1);
    l->source = (struct loader_source){
        .data = d,
        .transform = &l->o.transform,
        .limits = l->o.limits,
        .seed = o->seed,
        .mosaic = o->mosaic,
        .retry_seconds = o->retry_seconds > 0 ? o->retry_seconds : DATASET_RETRY_PAUSE,
        .hurry = &l->hurry,
    };
    l->source.cache = loader_cache(d, &l->o);
    first = dataset_shards(d, &shards);
    if (first && o->shuffle && o->shuffle_shards > 0)
        sampler_windows_init(&l->windows, first, shards, o->shuffle_shards);
    l->nslots =
        (o->prefetch > 0 ? o->prefetch : 1) + (o->held_batches > 0 ? o->held_batches : 1);
    l->slot = xcalloc((size_t)l->nslots, sizeof(*l->slot));
    for (int i = 0; i < l->nslots; i++)
        slot_init(l, &l->slot[i]);
    l->start = l->next = l->batches; /* no epoch yet */
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->work, NULL);
    pthread_cond_init(&l->ready, NULL);
    pthread_cond_init(&l->idle, NULL);
    loader_worker_init(&l->local_worker, &l->o.limits);
    l->local_worker.observed = o->observe != NULL;
    image_gate_plan(loader_decoders(l), host_memory());
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
    image_gate_plan(-loader_decoders(l), host_memory());
    for (int i = 0; i < l->nslots; i++)
        slot_release(l, &l->slot[i]);
    free(l->slot);
    free(l->bad);
    free(l->weights);
    free(l->failure);
    sampler_windows_release(&l->windows);
    cache_free(l->source.cache);
    loader_worker_release(&l->local_worker);
    pthread_cond_destroy(&l->work);
    pthread_cond_destroy(&l->ready);
    pthread_cond_destroy(&l->idle);
    pthread_mutex_destroy(&l->lock);
    free(l);
}
