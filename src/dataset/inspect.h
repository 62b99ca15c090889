/*
 * Reads and decodes every sample of a data set once, in threads, and reports on each.
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
    char *why;        /* why the image or its label map cannot be used, or NULL */
    char *warning;    /* damage in spite of which the image was decoded, or NULL */
    int w, h;         /* size of the image; 0: unknown */
    uint64_t content; /* XXH3 of the image file, also if damaged; 0: unknown */
    bool empty;       /* the label map has only ignored pixels */
};

struct inspect_options {
    struct image_limits limits;
    int threads;
    struct survey *survey; /* statistics of label maps are added to it; may be NULL */
    void (*progress)(int64_t done, int64_t total,
                     void *arg); /* called from any thread; may be NULL */
    void *arg;
};

/* Returns d->n results. Errors of the machine are retried, then end the program. */
struct inspected *inspect(const struct dataset *d, const struct inspect_options *o);
void inspect_free(struct inspected *found, int64_t n);

#endif
