/* Path of the cache of decoded images (cache.h) if it is a file. */
#ifndef DATASET_CACHE_PATH_H
#define DATASET_CACHE_PATH_H

#include "dataset/dataset.h"
#include "dataset/keep.h"
#include "image/transform.h"

/* "cache" of keep.h. The key is a hash of the list of samples, of the meaning of label
 * values, and of the transform's settings that determine the cached pixels. */
struct keep_paths cache_paths(const struct dataset *d, const struct transform *t,
                              const struct image_limits *limits, const struct keep *k);

/* Returns half of the free disk space, at least 1 byte, of the file system that holds dir
 * or, if dir does not exist yet, its nearest existing parent. */
int64_t cache_path_free_space(const char *dir);

#endif
