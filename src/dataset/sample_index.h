/*
 * Where the samples of containers lie, kept in a file, so that a second start need not
 * read the containers: "index" of keep.h, its key a hash of what was asked for and of the
 * names, sizes and times of change of the containers and of their companions.
 * Files that are younger than two seconds may still change within the same tick of their
 * clock, and are indexed in memory alone. A damaged index is made anew, which the log
 * tells. Private to src/dataset.
 */
#ifndef DATASET_SAMPLE_INDEX_H
#define DATASET_SAMPLE_INDEX_H

#include "dataset/keep.h"
#include "dataset/samples.h"

/* Where the index lies; {0}: a container cannot be looked at, or is young. */
struct keep_paths sample_index_paths(const struct samples *s, const struct keep *k);

bool sample_index_load(struct samples *s, const char *path); /* NULL: false */
void sample_index_save(const struct samples *s, const struct keep_paths *paths);

#endif
