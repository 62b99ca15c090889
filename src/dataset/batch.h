/*
 * A batch of the loader: pixels and labels in host memory, one sample after the other. A
 * sample that is missing (at the end of an epoch), or damaged and not replaced, is black
 * and is not counted.
 */
#ifndef DATASET_BATCH_H
#define DATASET_BATCH_H

#include <stdint.h>

struct augment_key;
struct resize_job;

struct batch {
    uint8_t *pixel; /* [size, h, w, transform_channels] */
    int32_t *label; /* [size]; -1: missing or damaged sample; 0 with label maps */
    /* [size, h / d, w / d], d = transform.label_divisor: classes, or LABEL_IGNORE where a
     * pixel does not count, which includes all pixels of a missing or damaged sample.
     * NULL without label maps. Follows `pixel` in the same allocation. */
    uint8_t *label_map;
    uint8_t *target; /* [size]: targets of each image (dataset_targets), or NULL */
    /* [size]; keys of the augmentations that the caller applies; .sample -1: missing or
     * damaged sample */
    struct augment_key *key;
    /* [size], with transform.resize_later: how to resize each image; its pixels then take
     * transform_size() bytes */
    struct resize_job *job;
    int64_t *sample; /* [size]; index in the data set; -1: missing */
    int size;        /* loader_options.batch */
    int valid;       /* number of labels that are not -1 */
    uint64_t epoch;
    int64_t number; /* index in the epoch, from 0 */
};

#endif
