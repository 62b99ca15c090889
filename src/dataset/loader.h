/*
 * Batches of pixels from a data set, made ahead by threads.
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
 * Batches come in order, and what is in batch k of an epoch depends on (seed, epoch, k)
 * and on the files alone: never on the number of workers, on `prefetch` or on the cache.
 * loader_start_epoch may be called at any time, and drops the batches under way. Called
 * for the next epoch right after the last batch, it lets the workers fill the ring while
 * the caller validates.
 *
 * With transform.label_divisor a batch also has label maps. A pair counts as damaged if
 * either file is, if their sizes differ, or if a label's value belongs to no class.
 *
 * Damaged files. A sample whose file cannot be read or decoded keeps its place with black
 * pixels and the label -1, which losses and metrics leave out; with `replace` the sample
 * after it in the epoch takes the place, if one of the next 50 is sound, so that the
 * statistics of batch norms see no black images. Its file is named in the log once.
 * With LOADER_FAIL, or once more than max_bad_share of the data set has turned out to be
 * damaged, the loader has failed: loader_next has no more batches, and loader_failure
 * tells why. It does so at the same batch in every run.
 *
 * An image that is decoded in spite of damage (image_decoder_warning) is a sample as any
 * other; the first ten are named once each, and all are counted.
 *
 * Failures of the machine (no memory, no descriptors, EIO, ESTALE) are tried again, with
 * pauses of several seconds in all; if they last, the loader has failed, whatever
 * on_error says. The memory that decoding takes is bounded over all loaders
 * (image/gate.h).
 *
 * One thread calls these functions; no call but loader_next waits for a file. With
 * workers = 0 loader_next does the work itself.
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

/* What loader_options.observe is told about one sample. Valid during that call only. */
struct loader_sight {
    int worker; /* from 0; 0 without workers */
    uint64_t epoch;
    int64_t batch, sample; /* of the data set; -1: the batch has none at this index */
    int at;                /* index in the batch */
    double from, to;       /* clock_now(), in seconds */
    const struct stage_log *stages;
};

struct loader_options {
    struct transform transform;
    int batch;
    int workers;  /* threads; 0: none */
    int prefetch; /* batches that are ready or in work beside those in use; 0: 1 */
    int held;     /* batches that the caller may hold at once; 0: 1 */
    uint64_t seed;
    bool shuffle;           /* the order of sampler.h; else that of the data set */
    int shuffle_shards;     /* of containers: as sampler_windows.shards; 0: no windows */
    enum sampling sampling; /* by weights: with shuffle, without the two below */
    int repeats;            /* of each sample in an epoch, as sampler.h says; 0: 1 */
    bool drop_last;         /* leave out a batch that cannot be filled */
    /* This process takes positions rank, rank + world, ... of the epoch; 0, 0: alone. */
    int rank, world;
    /* From this index of a batch on, it takes the positions of rank world - 1 - rank
     * instead (why: ops/share.h); 0: never. */
    int half;
    bool part; /* it has the samples rank, rank + world, ... of the data set instead */

    struct image_limits limits;
    enum loader_on_error on_error;
    double mosaic;        /* with label maps: share of samples made of four (mosaic.h) */
    bool replace;         /* damaged samples by others, for training */
    double max_bad_share; /* of the data set's samples */
    int few_bad;          /* up to so many are never too many, unless the share is 0 */
    double retry_seconds; /* pause before the first of several tries; 0: 0.1 */
    int64_t cache_bytes;  /* keep decoded images, up to this size; 0: no */
    /* Keep them in a file (cache_path.h), which several processes and later runs share;
     * cache_bytes is then the size of a new one. Without one, the log warns and nothing is
     * kept. */
    bool cache_shared;
    struct keep keep;

    /* For a profiler: called after each sample by the thread that has made it. With it
     * every sample is measured, not one of eight. NULL: no. */
    void (*observe)(const struct loader_sight *s, void *arg);
    void *observe_arg;

    /* Memory of the batches, for instance pinned; NULL: the heap. */
    void *(*alloc)(size_t size, void *arg);
    void (*free)(void *p, void *arg);
    void *arg;
};

struct loader;

/* The data set stays the caller's and must outlive the loader. */
struct loader *loader_open(const struct dataset *d, const struct loader_options *o);

/* Lets each thread finish its current sample, and frees everything. NULL is fine. */
void loader_close(struct loader *l);

/* Batches of an epoch: n / batch / world, rounded up unless drop_last. */
int64_t loader_batches(const struct loader *l);

void loader_start_epoch(struct loader *l, uint64_t epoch, int64_t first_batch);

/* Returns the next batch, to be released; NULL at the epoch's end or after a failure. */
const struct batch *loader_next(struct loader *l);
void loader_release_batch(struct loader *l, const struct batch *b);

/* True if `bad` of n files exceed `share` of them and, unless it is 0, also `few`. */
bool loader_too_many(int64_t bad, int64_t n, double share, int few);

/* Returns why the loader has failed for good, as a string of the loader's, or NULL. */
const char *loader_failure(const struct loader *l);

struct loader_stats {
    double wait_seconds;  /* spent in loader_next: waiting or, without workers, working */
    int64_t samples;      /* delivered, damaged ones included */
    int64_t bad_files;    /* different ones, so far */
    int64_t warned_files; /* the same of those decoded in spite of damage */
    int64_t cached, cached_bytes; /* samples of the cache, and their size */
    struct stage_times stages;    /* the sum over all threads, estimated from every eighth
                                * sample; STAGE_COPY is what loader_add_copy was told */
};

struct loader_stats loader_stats(struct loader *l); /* since loader_open */

/* Adds a batch's copy to the device, which only the caller can time, to STAGE_COPY. */
void loader_add_copy(struct loader *l, double seconds);

#endif
