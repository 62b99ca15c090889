/*
 * Warms up (for one epoch if images are cached, otherwise one second), then loads batches
 * for some seconds. "Per core" divides by the CPU time of this process, so it depends
 * neither on the number of workers nor on other processes.
 */
#include "cmd/bench_loader.h"

#include <math.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/say.h"
#include "io/json.h"
#include "io/written.h"
#include "session/devices.h"
#include "train/data_config.h"

static const double warm_seconds = 1;

struct bench_mark {
    double wall, cpu;
    int64_t samples;
    struct stage_times stages;
};

static struct bench_mark bench_mark(struct loader *l)
{
    struct loader_stats stats = loader_stats(l);
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (struct bench_mark){
        .wall = clock_now(),
        .cpu = (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
               1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec),
        .samples = stats.samples,
        .stages = stats.stages,
    };
}

/* Device memory for one batch. */
struct bench_device {
    const struct backend *backend;
    struct device *device;
    void *memory;
    size_t size;
};

static void *device_host_alloc(size_t size, void *arg)
{
    const struct bench_device *d = arg;

    return d->backend->async->host_alloc(d->device, size);
}

static void device_host_free(void *p, void *arg)
{
    const struct bench_device *d = arg;

    d->backend->async->host_free(d->device, p);
}

/* Allocates batches as a run does: in pinned memory if the device supports it. */
static void device_open(struct bench_device *d, const struct config *cfg,
                        struct loader_options *o)
{
    struct device_options how;

    d->backend = device_options(cfg, &how);
    d->device = d->backend->open(&how);
    d->size = (size_t)o->batch * transform_size(&o->transform);
    d->memory = d->backend->alloc(d->device, d->size);
    if (!d->backend->async || !cfg->data.pin_memory)
        return;
    o->alloc = device_host_alloc;
    o->free = device_host_free;
    o->arg = d;
}

static void device_close(struct bench_device *d)
{
    d->backend->free(d->device, d->memory);
    d->backend->close(d->device);
}

static void bench_copy_in(struct loader *l, const struct bench_device *d,
                          const struct batch *b)
{
    double start = clock_now();

    d->backend->copy_in(d->device, d->memory, b->pixel, d->size);
    d->backend->sync(d->device);
    loader_add_copy(l, clock_now() - start);
}

/* Loads batches for `seconds`, at least one; increments `epoch` at the end of each. */
static void bench_batches(struct loader *l, const struct bench_device *d, double seconds,
                          uint64_t *epoch)
{
    double until = clock_now() + seconds;

    do {
        const struct batch *b = loader_next(l);

        if (b)
            bench_copy_in(l, d, b);
        if (b)
            loader_release_batch(l, b);
        else
            loader_start_epoch(l, ++*epoch, 0);
    } while (!loader_failure(l) && clock_now() < until);
}

static void bench_warm_up(struct loader *l, const struct bench_device *d, double seconds,
                          bool whole_epoch, uint64_t *epoch)
{
    const struct batch *b;

    loader_start_epoch(l, 0, 0);
    if (!whole_epoch) {
        bench_batches(l, d, seconds, epoch);
        return;
    }
    while ((b = loader_next(l)))
        loader_release_batch(l, b);
}

/* Writes the thread seconds per thousand images of each stage. */
static void bench_put_stages(struct json_writer *w, const struct stage_times *t,
                             int64_t samples)
{
    json_begin_object(w, "stage_seconds_per_1000");
    for (int i = 0; i < STAGES; i++)
        json_put_double(w, stage_name((enum stage)i),
                        1000 * t->seconds[i] / (double)samples);
    json_end(w);
}

static void bench_print_stages(const struct stage_times *t, int64_t samples)
{
    struct strbuf s = STRBUF_INIT;

    stage_times_show(t, &s);
    say("stages: %s; ", s.buf);
    for (int i = 0; i < STAGES; i++)
        say("%s%s %.1f", i ? ", " : "", stage_name((enum stage)i),
            1e6 * t->seconds[i] / (double)samples);
    say(" us per image\n");
    strbuf_release(&s);
}

static void bench_add_json(struct strbuf *text, const struct loader_options *o,
                           double rate, double per_core, const struct loader_stats *stats,
                           int64_t samples)
{
    struct json_writer w = json_writer(text);

    w.pretty = true;
    written_begin(&w);
    json_put_double(&w, "images_per_second", rate);
    json_put_double(&w, "images_per_second_per_core", per_core);
    json_put_int(&w, "batch", o->batch);
    json_put_int(&w, "size", o->transform.w);
    json_put_int(&w, "height", o->transform.h);
    json_put_int(&w, "workers", o->workers);
    json_put_int(&w, "bad_files", stats->bad_files);
    json_put_int(&w, "cached_bytes", stats->cached_bytes);
    bench_put_stages(&w, &stats->stages, samples);
    json_end(&w);
    strbuf_addch(text, '\n');
}

void bench_loader(const struct config *cfg, double seconds, struct strbuf *json)
{
    struct dataset *d = data_open(cfg, DATA_TRAIN);
    struct loader_options o;
    struct bench_device device;
    struct loader *l;
    struct bench_mark begin, end;
    struct loader_stats stats;
    uint64_t epoch = 0;
    double rate, per_core;

    data_loader_options(cfg, DATA_TRAIN, &o);
    o.drop_last = false; /* small sets too */
    device_open(&device, cfg, &o);
    l = loader_open(d, &o);
    bench_warm_up(l, &device, fmin(warm_seconds, seconds), o.cache_bytes > 0, &epoch);
    begin = bench_mark(l);
    bench_batches(l, &device, seconds, &epoch);
    if (loader_failure(l))
        die("%s", loader_failure(l));
    end = bench_mark(l);
    stats = loader_stats(l);
    stats.stages = end.stages;
    stage_times_add(&stats.stages, &begin.stages, -1);
    rate = (double)(end.samples - begin.samples) / (end.wall - begin.wall);
    per_core = (double)(end.samples - begin.samples) / (end.cpu - begin.cpu);
    say("loader: %.0f images/s, %.0f images/s per core (%lld images of '%s' to %dx%d, "
        "%d workers%s)\n",
        rate, per_core, (long long)d->n, d->name, o.transform.w, o.transform.h, o.workers,
        stats.cached_bytes ? ", cached" : "");
    bench_print_stages(&stats.stages, end.samples - begin.samples);
    bench_add_json(json, &o, rate, per_core, &stats, end.samples - begin.samples);
    loader_close(l);
    device_close(&device);
    dataset_close(d);
}
