/*
 * Decoded images, and their label maps if they have any, kept in memory or in a file. Any
 * number of threads may get and put; what is in the cache stays until cache_free,
 * unchanged.
 */
#ifndef DATASET_CACHE_H
#define DATASET_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "dataset/dataset.h"
#include "image/image.h"

struct cache;

/* Room for n samples, at most `bytes` of pixels and labels. */
struct cache *cache_new(int64_t n, int64_t bytes);
/*
 * The same in a file, which the processes of a machine share, and a later run has again.
 * An item counts if its checksum is right, it has `channels` channels and no labels beyond
 * the classes, and the files of its sample are those of when it was made (dataset_stamp),
 * all of which is looked at once. What else the images
 * depend on must be part of the path. NULL and a reason: the file cannot be used.
 */
struct cache *cache_share(const struct dataset *d, const char *path, int channels,
                          int64_t bytes, struct strbuf *why);
void cache_free(struct cache *c); /* NULL is fine */

/* Points at the sample's pixels and labels, which are the cache's. False: not there. */
bool cache_get(struct cache *c, int64_t sample, struct image *img, const uint8_t **label);

/*
 * Copies the image in, and label (w * h values) unless NULL, unless the cache is full
 * or has it already.
 */
void cache_put(struct cache *c, int64_t sample, const struct image *img,
               const uint8_t *label);

int64_t cache_used(struct cache *c); /* bytes */
int64_t cache_limit(struct cache *c); /* bytes that it may have; of a file that was there,
                                      * what it was made for */
int64_t cache_held(struct cache *c); /* samples */

#endif
