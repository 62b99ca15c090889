/* Estimates the memory that the decoded images of a data set take in the cache
 * (cache.h). */
#ifndef DATASET_CACHE_SIZE_H
#define DATASET_CACHE_SIZE_H

#include "dataset/dataset.h"
#include "image/transform.h"

/* Returns bytes, estimated from the headers of up to 16 images, or 0 if none of them can
 * be read. */
double cache_size(const struct dataset *d, const struct transform *t,
                  const struct image_limits *limits);

#endif
