/*
 * Every sample of a data set, read and decoded once, by threads: what is known of it
 * then.
 *
 *   struct inspected *found = inspect(d, &options);
 *   found[i].why ...
 *   inspect_free(found, d->n);
 */
#ifndef DATASET_INSPECT_H
#define DATASET_INSPECT_H

#include "dataset/dataset.h"
#include "dataset/survey.h"
#include "image/image.h"

struct inspected {
    char *why;        /* the image or its label map cannot be used: the reason; or NULL */
    char *warning;    /* damage in spite of which the image was decoded; or NULL */
    int w, h;         /* of the image; 0: not known */
    uint64_t content; /* XXH3 of the image file's bytes, also if it is damaged; 0: none */
    bool empty;       /* a label map in which no pixel counts */
};

struct inspect_options {
    struct image_limits limits;
    int threads;
    struct survey *survey; /* of label maps, for what is added; NULL: not wanted */
    void (*progress)(int64_t done, int64_t total,
                     void *arg); /* any thread; may be NULL */
    void *arg;
};

/* d->n of them. What the machine cannot do for now is tried again, and then ends the
 * program. */
struct inspected *inspect(const struct dataset *d, const struct inspect_options *o);
void inspect_free(struct inspected *found, int64_t n);

#endif
