/*
 * Where the samples of containers lie, kept in a file, so that a second start need not
 * read the containers: DATA_PATH/.trainc-index-KEY, KEY a hash of what was asked for and
 * of the names, sizes and times of change of the containers and of their companions.
 * Files that are younger than two seconds may still change within the same tick of their
 * clock, and are indexed in memory alone. A damaged index is made anew, which the log
 * tells; so does it if the folder cannot be written. Private to src/dataset.
 */
#ifndef DATASET_SAMPLE_INDEX_H
#define DATASET_SAMPLE_INDEX_H

#include "dataset/samples.h"

/* The index's path, a heap string; NULL: a container cannot be looked at, or is young. */
char *sample_index_path(const struct samples *s, const char *dir);

bool sample_index_load(struct samples *s, const char *path);
void sample_index_save(const struct samples *s, const char *path);

#endif
