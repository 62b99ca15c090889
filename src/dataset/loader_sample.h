/*
 * One sample into its place in a batch: the part of the loader that knows nothing of
 * threads. Private to src/dataset.
 */
#ifndef DATASET_LOADER_SAMPLE_H
#define DATASET_LOADER_SAMPLE_H

#include "dataset/cache.h"
#include "dataset/loader.h"

struct loader_source {
    const struct dataset *data;
    const struct transform *transform;
    struct image_limits limits;
    uint64_t seed;
    struct cache *cache; /* NULL: none */
};

/* What one thread needs, reused. */
struct loader_worker {
    struct transformer transformer;
    struct dataset_bytes bytes;
    struct label_reader label;
    struct image fitted;       /* TRANSFORM_SCENE: what goes into the cache */
    struct label_reader small; /* its label */
};

void loader_worker_init(struct loader_worker *w, const struct image_limits *limits);
void loader_worker_release(struct loader_worker *w);

/* -1 and a reason; then pixels and mask are unset. mask is NULL without label pictures.
 */
int loader_sample(struct loader_worker *w, const struct loader_source *s, uint64_t epoch,
                  int64_t sample, uint8_t *pixel, uint8_t *mask, struct strbuf *why);

#endif
