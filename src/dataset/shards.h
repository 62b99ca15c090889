/*
 * Finds the files of a split. For the split "train" and the ending ".tar" these are the
 * first of: PATH/train.tar; files in PATH that start with "train-" (or "train.tfrecord-",
 * as in TensorFlow's own data sets); files in PATH/train. They are in byte order. The
 * split may also be a file name, with braces for several as in WebDataset:
 * train-{000..127}.tar, {a,b}.tar. Private to src/dataset.
 */
#ifndef DATASET_SHARDS_H
#define DATASET_SHARDS_H

#include "dataset/samples.h"

/* Returns *n > 0 heap strings, or NULL and the reason in `why` (unless NULL). */
char **shards_find(const struct container *c, const struct dataset_source *s, int *n,
                   struct strbuf *why);

/* Expands "a{0..2}.tar" to a0.tar, a1.tar, a2.tar (numbers keep their width), to at most
 * a million names. A pattern without braces gives one name. Sets *n = 0 if braces are
 * malformed. */
char **shards_expand(const char *pattern, int *n);

#endif
