/*
 * One sample into its place in a batch: the part of the loader that knows nothing of
 * threads. Private to src/dataset.
 */
#ifndef DATASET_LOADER_SAMPLE_H
#define DATASET_LOADER_SAMPLE_H

#include <stdatomic.h>

#include "dataset/cache.h"
#include "dataset/loader.h"

struct loader_source {
    const struct dataset *data;
    const struct transform *transform;
    struct image_limits limits;
    uint64_t seed;
    double mosaic;            /* loader_options */
    struct cache *cache;      /* NULL: none */
    double retry_seconds;     /* dataset_retry.pause */
    const atomic_bool *hurry; /* nobody waits for the sample any more */
};

/* What one thread needs, reused. */
struct loader_worker {
    struct transformer transformer;
    struct dataset_bytes bytes;
    struct label_reader label;
    struct image fitted;           /* TRANSFORM_SEGMENT: what goes into the cache */
    struct label_reader small;     /* its label */
    struct dataset_bytes quarters; /* of a mosaic: their pixels and labels */
    struct stage_times times;      /* of its samples so far */
    struct stage_times measured;
    int64_t samples;
    int number;           /* of the thread */
    bool observed;        /* each sample is measured and its stretches are in `log` */
    struct stage_log log; /* of the last sample */
};

void loader_worker_init(struct loader_worker *w, const struct image_limits *limits);
void loader_worker_release(struct loader_worker *w);

/* A failure of base/failure.h and a reason; then pixels and label_map are unset.
 * label_map is NULL without label maps.
 */
int loader_sample(struct loader_worker *w, const struct loader_source *s, uint64_t epoch,
                  int64_t sample, uint8_t *pixel, uint8_t *label_map, struct strbuf *why);

#endif
