/* Where the cache of decoded images of a data set lies, if it is a file (cache.h). */
#ifndef DATASET_CACHE_PATH_H
#define DATASET_CACHE_PATH_H

#include "dataset/dataset.h"
#include "image/transform.h"

/* dir/.trainc-cache-KEY, a heap string. KEY is a hash of the list of samples, of what
 * their label values mean, and of what of the transform decides which pixels are kept. */
char *cache_path(const struct dataset *d, const struct transform *t,
                 const struct image_limits *limits, const char *dir);

/* Half of the free space of the disk that dir is on; 0: it is not there. */
int64_t cache_path_room(const char *dir);

#endif
