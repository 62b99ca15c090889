/* Loads one sample into a batch; knows nothing of threads. Private to src/dataset. */
#ifndef DATASET_LOADER_SAMPLE_H
#define DATASET_LOADER_SAMPLE_H

#include <stdatomic.h>

#include "dataset/cache.h"
#include "dataset/loader.h"
#include "image/transformer.h"

struct loader_source {
    const struct dataset *data;
    const struct transform *transform;
    struct image_limits limits;
    uint64_t seed;
    double mosaic;            /* loader_options.mosaic */
    struct cache *cache;      /* may be NULL */
    double retry_seconds;     /* dataset_retry.pause */
    const atomic_bool *hurry; /* set when the sample is no longer needed */
};

/* Per-thread state, reused. */
struct loader_worker {
    struct transformer transformer;
    struct dataset_bytes bytes;
    struct label_reader label;
    struct image fitted;           /* TRANSFORM_SEGMENT: image to cache */
    struct label_reader small;     /* its label map */
    struct dataset_bytes quarters; /* of a mosaic: pixels and labels */
    struct stage_times times;      /* of this thread's samples so far */
    struct stage_times measured;
    int64_t samples;
    int number;           /* thread number */
    bool observed;        /* every sample is timed, and its stages are in `log` */
    struct stage_log log; /* of the last sample */
};

void loader_worker_init(struct loader_worker *w, const struct image_limits *limits);
void loader_worker_release(struct loader_worker *w);

/* Returns a failure of base/failure.h and a reason; pixels and label_map are undefined
 * then. label_map is NULL without label maps. */
int loader_sample(struct loader_worker *w, const struct loader_source *s, uint64_t epoch,
                  int64_t sample, uint8_t *pixel, uint8_t *label_map, struct strbuf *why);

#endif
