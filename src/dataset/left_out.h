/*
 * Counts the entries of a container that no sample uses, by reason, with the name of the
 * first. When the data set is opened, each reason gives one line in the log. Private to
 * src/dataset.
 */
#ifndef DATASET_LEFT_OUT_H
#define DATASET_LEFT_OUT_H

#include <stdint.h>

#include "base/arena.h"

enum left_reason {
    LEFT_KIND,        /* neither an image nor a class or label map */
    LEFT_LINK,        /* link to a file outside the archive */
    LEFT_SPECIAL,     /* device or FIFO */
    LEFT_UNPAIRED,    /* class or label map without an image */
    LEFT_EXTRA_IMAGE, /* additional image of a sample */
    LEFT_DUPLICATE,   /* replaced by a later member of the same name */
    LEFT_BESIDE,      /* image outside the class folders */
    LEFT_NO_IMAGE,    /* record without an image */
    LEFT_HIDDEN,
    LEFT_REASONS
};

struct left_out {
    int64_t n[LEFT_REASONS];
    const char *first[LEFT_REASONS]; /* in the data set's arena; NULL if n is 0 */
};

/* Copies `name` into the arena if it is the first for this reason. */
void left_out_add(struct left_out *l, enum left_reason why, struct arena *mem,
                  const char *name);

/* Logs one line per reason. `name` is the data set's. */
void left_out_log(const struct left_out *l, const char *name);

#endif
