/* Where the cache of decoded images of a data set lies, if it is a file (cache.h). */
#ifndef DATASET_CACHE_PATH_H
#define DATASET_CACHE_PATH_H

#include "dataset/dataset.h"
#include "dataset/keep.h"
#include "image/transform.h"

/* "cache" of keep.h. Its key is a hash of the list of samples, of what their label values
 * mean, and of what of the transform decides which pixels are kept. */
struct keep_paths cache_paths(const struct dataset *d, const struct transform *t,
                              const struct image_limits *limits, const struct keep *k);

/* Half of the free space of the disk that dir is on, or will be when it is made; at least
 * 1. */
int64_t cache_path_room(const char *dir);

#endif
