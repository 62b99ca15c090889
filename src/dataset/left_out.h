/*
 * What a container holds and no sample takes, by reason: how often, and the name of the
 * first. One line of the log tells each reason when the data set is opened.
 *
 * Private to src/dataset.
 */
#ifndef DATASET_LEFT_OUT_H
#define DATASET_LEFT_OUT_H

#include <stdint.h>

#include "base/arena.h"

enum left_reason {
    LEFT_KIND,     /* neither an image nor a class or label map */
    LEFT_LINK,     /* a link to what the archive does not hold */
    LEFT_SPECIAL,  /* a device, a FIFO */
    LEFT_ALONE,    /* a class or a label map without an image next to it */
    LEFT_MORE,     /* a further image of one sample */
    LEFT_TWICE,    /* an earlier member of the same name */
    LEFT_BESIDE,   /* an image outside the class folders */
    LEFT_NO_IMAGE, /* a record without an image */
    LEFT_HIDDEN,
    LEFT_REASONS
};

struct left_out {
    int64_t n[LEFT_REASONS];
    const char *first[LEFT_REASONS]; /* in the arena of the data set; NULL if n is 0 */
};

/* `name` is copied into the arena if it is the first. */
void left_out_add(struct left_out *l, enum left_reason why, struct arena *mem,
                  const char *name);

/* A line for each reason. `name` is the data set's. */
void left_out_log(const struct left_out *l, const char *name);

#endif
