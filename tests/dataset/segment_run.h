/*
 * Trains ERFNet on small scenes, for tests of segmentation (see train_run.h).
 */
#ifndef TESTS_DATASET_SEGMENT_RUN_H
#define TESTS_DATASET_SEGMENT_RUN_H

#include "tests/session/train_run.h"

enum { W = 24, H = 16, K = 4, IMAGES = 8 };

/* erfnet, Adam, 4 classes, batch 2, 24x16 pixels, plus keys and values up to NULL. */
void segment_run(struct run *r, const char *const *more);

/* Returns scenes first, first + 1, ..., for free(); those from `end` on are padding. */
void segment_batch(struct run *r, int first, int end, int64_t batch, void **pixels,
                   void **labels);

/* Returns n micro-batches that cycle through the IMAGES scenes. */
void segment_steps(struct run *r, int n);

#endif
