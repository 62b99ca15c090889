/*
 * Decoded pictures, and their label pictures if they have any, kept in memory. Any number
 * of threads may get and put; what is in the cache stays until cache_free, unchanged.
 */
#ifndef DATASET_CACHE_H
#define DATASET_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "image/image.h"

struct cache;

/* Room for n samples, at most `bytes` of pixels and labels. */
struct cache *cache_new(int64_t n, int64_t bytes);
void cache_free(struct cache *c); /* NULL is fine */

/* Points at the sample's pixels and labels, which are the cache's. False: not there. */
bool cache_get(struct cache *c, int64_t sample, struct image *img, const uint8_t **label);

/*
 * Copies the picture in, and label (w * h values) unless NULL, unless the cache is full
 * or has it already.
 */
void cache_put(struct cache *c, int64_t sample, const struct image *img,
               const uint8_t *label);

int64_t cache_used(struct cache *c); /* bytes */
int64_t cache_held(struct cache *c); /* samples */

#endif
