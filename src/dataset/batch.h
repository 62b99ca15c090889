/*
 * A batch of the loader: pixels and labels in host memory, sample after sample. A sample
 * that is missing (after the last one of an epoch), or damaged and not replaced, is black
 * and not counted.
 */
#ifndef DATASET_BATCH_H
#define DATASET_BATCH_H

#include <stdint.h>

struct augment_key;
struct resize_job;

struct batch {
    uint8_t *pixel; /* [size, h, w, transform_channels] */
    int32_t *label; /* [size]; -1: no sample, or a damaged one; 0 with label maps */
    /* [size, h / d, w / d], d = transform.label_divisor: classes; LABEL_IGNORE where
     * nothing counts, as in all of a sample that is missing or damaged. NULL without
     * label maps. It lies after `pixel` in one block. */
    uint8_t *label_map;
    uint8_t *target; /* [size, K]: sets of labels (dataset_targets); NULL without them */
    /* [size]; of each sample, for augmentation that is left to the caller; .sample -1: no
     * sample, or a damaged one */
    struct augment_key *key;
    /* [size], with transform.resize_later: what is to be done to each image, whose pixels
     * then take transform_size() bytes */
    struct resize_job *job;
    int64_t *sample; /* [size]; index in the data set; -1: no sample */
    int size;        /* loader_options.batch */
    int valid;       /* labels that are not -1 */
    uint64_t epoch;
    int64_t number; /* in the epoch, from 0 */
};

#endif
