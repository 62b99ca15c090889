/* How much memory the decoded images of a data set take in the cache (cache.h). */
#ifndef DATASET_CACHE_SIZE_H
#define DATASET_CACHE_SIZE_H

#include "dataset/dataset.h"
#include "image/transform.h"

/* Bytes, estimated from the headers of some images; 0: none of these can be read. */
double cache_size(const struct dataset *d, const struct transform *t,
                  const struct image_limits *limits);

#endif
