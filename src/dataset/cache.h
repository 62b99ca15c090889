/*
 * Decoded pictures kept in memory, for data sets of small images. Any number of threads
 * may get and put; what is in the cache stays until cache_free, unchanged.
 */
#ifndef DATASET_CACHE_H
#define DATASET_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "image/image.h"

struct cache;

/* Room for n samples, at most `bytes` of pixels. */
struct cache *cache_new(int64_t n, int64_t bytes);
void cache_free(struct cache *c); /* NULL is fine */

/* Points img at the sample's pixels, which are the cache's. False: not there. */
bool cache_get(struct cache *c, int64_t sample, struct image *img);

/* Copies the picture in, unless the cache is full or has it already. */
void cache_put(struct cache *c, int64_t sample, const struct image *img);

int64_t cache_used(struct cache *c); /* bytes */

#endif
