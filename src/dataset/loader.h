/*
 * Loads batches of pixels from a data set, ahead of time and in threads.
 *
 *   struct loader_options o = {.transform = transform_for_training(224), .batch = 256,
 *                              .workers = 8, .prefetch = 4, .seed = 1, .shuffle = true,
 *                              .drop_last = true, .max_bad_share = 0.01};
 *   struct loader *l = loader_open(dataset, &o);
 *   loader_start_epoch(l, epoch, first_batch);
 *   while ((b = loader_next(l))) {
 *       ... b->pixel, b->label ...
 *       loader_release_batch(l, b);
 *   }
 *   loader_close(l);
 *
 * Batches come in order. Batch k of an epoch depends only on (seed, epoch, k) and the
 * files: never on the number of workers, `prefetch`, or the cache. loader_start_epoch may
 * be called at any time and drops unfinished batches. If it is called for the next epoch
 * right after the last batch, workers fill the ring while the caller validates.
 *
 * With transform.label_divisor a batch also has label maps. A pair is damaged if either
 * file is, if their sizes differ, or if a label value belongs to no class.
 *
 * Damaged files: a sample that cannot be read or decoded becomes black pixels with label
 * -1, which losses and metrics ignore. With `replace` the first valid one of the next 50
 * samples of the epoch takes its place, so that batch norm statistics include no black
 * images. Each file is logged once. With LOADER_FAIL, or once more than max_bad_share of
 * the data set is damaged, the loader fails: loader_next returns NULL, and loader_failure
 * the reason. This happens at the same batch in every run.
 *
 * An image decoded in spite of damage (image_decoder_warning) is used like any other. The
 * first ten are logged, all are counted.
 *
 * Failures of the machine (no memory, no descriptors, EIO, ESTALE) are retried for
 * several seconds. If they persist, the loader fails regardless of on_error. The memory
 * for decoding is limited across all loaders (image/gate.h).
 *
 * One thread calls these functions; only loader_next waits for files. With workers = 0
 * loader_next loads the samples itself.
 */
#ifndef DATASET_LOADER_H
#define DATASET_LOADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dataset/batch.h"
#include "dataset/dataset.h"
#include "dataset/keep.h"
#include "dataset/sample_weights.h"
#include "image/transform.h"

enum loader_on_error { LOADER_SKIP, LOADER_FAIL };

/* Argument of loader_options.observe: one sample. Valid only during the call. */
struct loader_event {
    int worker; /* from 0; 0 without workers */
    uint64_t epoch;
    int64_t batch, sample; /* sample: index in the data set, or -1: none */
    int index;             /* index in the batch */
    double begin, end;     /* clock_now(), in seconds */
    const struct stage_log *stages;
};

struct loader_options {
    struct transform transform;
    int batch;
    int workers;      /* threads; 0: none */
    int prefetch;     /* batches ready or in progress, besides those held; 0: 1 */
    int held_batches; /* batches that the caller may hold at once; 0: 1 */
    uint64_t seed;
    bool shuffle;           /* order of sampler.h; otherwise the data set's order */
    int shuffle_shards;     /* as sampler_windows.shards; 0: no windows */
    enum sampling sampling; /* requires shuffle; excludes windows, repeats, part */
    int repeats;            /* copies of each sample per epoch (sampler.h); 0: 1 */
    bool drop_last;         /* drop an incomplete last batch */
    /* This process takes positions rank, rank + world, ... of the epoch; 0, 0: all. */
    int rank, world;
    /* From this index of a batch on, takes the positions of rank world - 1 - rank instead
     * (reason: ops/share.h); 0: never. */
    int half;
    bool part; /* takes samples rank, rank + world, ... of the data set instead */

    struct image_limits limits;
    enum loader_on_error on_error;
    double mosaic;        /* with label maps: share of mosaics (mosaic.h) */
    bool replace;         /* replace damaged samples, for training */
    double max_bad_share; /* of the samples in the data set */
    int few_bad;          /* this many bad files are fine, unless the share is 0 */
    double retry_seconds; /* pause before the first retry; 0: 0.1 */
    int64_t cache_bytes;  /* maximum size of the cache of decoded images; 0: no cache */
    /* Cache in a file (cache_path.h) that processes and later runs share; cache_bytes is
     * then the size of a new file. If the file cannot be used, logs a warning and caches
     * nothing. */
    bool cache_shared;
    struct keep keep;

    /* For profilers: called after each sample by the thread that loaded it; then all
     * samples are timed, not one in eight. May be NULL. */
    void (*observe)(const struct loader_event *s, void *arg);
    void *observe_arg;

    /* Allocator for batches, for instance of pinned memory. NULL: heap. */
    void *(*alloc)(size_t size, void *arg);
    void (*free)(void *p, void *arg);
    void *arg;
};

struct loader;

/* Does not copy the data set, which must outlive the loader. */
struct loader *loader_open(const struct dataset *d, const struct loader_options *o);

/* Waits for each thread to finish its sample, then frees everything. Accepts NULL. */
void loader_close(struct loader *l);

/* Returns the batches per epoch: n / batch / world, rounded up unless drop_last. */
int64_t loader_batches(const struct loader *l);

void loader_start_epoch(struct loader *l, uint64_t epoch, int64_t first_batch);

/* Returns the next batch, to be released, or NULL after the last batch or a failure. */
const struct batch *loader_next(struct loader *l);
void loader_release_batch(struct loader *l, const struct batch *b);

/* True if `bad` of n files exceed `share` of them and, unless it is 0, also `few`. */
bool loader_too_many_bad(int64_t bad, int64_t n, double share, int few);

/* Returns why the loader has failed, a string that it owns, or NULL. */
const char *loader_failure(const struct loader *l);

struct loader_stats {
    double wait_seconds;  /* time in loader_next: waiting or, without workers, loading */
    int64_t samples;      /* delivered samples, including damaged ones */
    int64_t bad_files;    /* number of distinct damaged files so far */
    int64_t warned_files; /* the same for files decoded in spite of damage */
    int64_t cached, cached_bytes; /* samples in the cache, and their size */
    struct stage_times stages;    /* sum over all threads, estimated from every eighth
                                   * sample; STAGE_COPY is the sum of loader_add_copy */
};

struct loader_stats loader_stats(struct loader *l); /* since loader_open */

/* Adds the time of copying a batch to the device, which only the caller knows, to
 * STAGE_COPY. */
void loader_add_copy(struct loader *l, double seconds);

#endif
