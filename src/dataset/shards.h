/*
 * The files of a split. Of the split "train" and the ending ".tar" they are the first of
 * these that is there: PATH/train.tar; those that start with "train-" in PATH (or, of
 * TensorFlow's, "train.tfrecord-"); those in PATH/train; all in byte order. The split may
 * be a file's name, and one with braces, as in WebDataset, names several:
 * train-{000..127}.tar, {a,b}.tar. Private to src/dataset.
 */
#ifndef DATASET_SHARDS_H
#define DATASET_SHARDS_H

#include "dataset/samples.h"

/* Heap strings, of which *n > 0. NULL, and `why` (unless NULL) gets what is missing. */
char **shards_find(const struct container *c, const struct dataset_source *s, int *n,
                   struct strbuf *why);

/* "a{0..2}.tar" -> a0.tar, a1.tar, a2.tar; numbers keep their width. One name without
 * braces. At most a million; *n = 0: the braces do not fit. */
char **shards_expand(const char *pattern, int *n);

#endif
