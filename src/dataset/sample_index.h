/*
 * The positions of samples in containers, cached so that later runs need not read the
 * containers: "index" of keep.h. Its key is a hash of the request and of the names,
 * sizes, and modification times of the containers and their companions. Files less than
 * two seconds old may change again without a new timestamp, so their index is not
 * written. A damaged index is rebuilt, with a warning. Private to src/dataset.
 */
#ifndef DATASET_SAMPLE_INDEX_H
#define DATASET_SAMPLE_INDEX_H

#include "dataset/keep.h"
#include "dataset/samples.h"

/* Returns the paths of the index, or {0} if a container cannot be read or is too new. */
struct keep_paths sample_index_paths(const struct samples *s, const struct keep *k);

bool sample_index_load(struct samples *s, const char *path); /* path may be NULL */
void sample_index_save(const struct samples *s, const struct keep_paths *paths);

#endif
