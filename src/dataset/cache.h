/*
 * A cache of decoded images and their label maps, in memory or in a file. Thread-safe.
 * Cached items do not change and stay until cache_free.
 */
#ifndef DATASET_CACHE_H
#define DATASET_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "dataset/dataset.h"
#include "image/image.h"

struct cache;

/* Returns an empty cache for n samples that holds at most `bytes` of pixels and
 * labels. */
struct cache *cache_new(int64_t n, int64_t bytes);
/*
 * The same, in a file that the processes of a machine share and later runs reuse. Each
 * item is validated once: its checksum is right, it has `channels` channels and no label
 * beyond the classes, and the sample's files have not changed since (dataset_stamp).
 * Everything else that the images depend on must be part of the path. Returns NULL and a
 * reason if the file cannot be used.
 */
struct cache *cache_share(const struct dataset *d, const char *path, int channels,
                          int64_t bytes, struct strbuf *why);
void cache_free(struct cache *c); /* accepts NULL */

/* Sets pointers to the sample's pixels and labels, which the cache owns. Returns false if
 * the sample is not cached. */
bool cache_get(struct cache *c, int64_t sample, struct image *img, const uint8_t **label);

/*
 * Copies the image and, unless NULL, its label map (w * h values). Does nothing if the
 * cache is full or already holds the sample.
 */
void cache_put(struct cache *c, int64_t sample, const struct image *img,
               const uint8_t *label);

int64_t cache_used(struct cache *c);  /* bytes */
int64_t cache_limit(struct cache *c); /* bytes; for an existing file the limit that it was
                                       * created with */
int64_t cache_count(struct cache *c); /* samples */

#endif
