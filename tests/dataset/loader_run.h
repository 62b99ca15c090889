/* A folder of images and epochs over it, for tests of the loader. */
#ifndef TESTS_DATASET_LOADER_RUN_H
#define TESTS_DATASET_LOADER_RUN_H

#include "dataset/loader.h"

enum { IMAGES = 37, SIDE = 24 };

/* A temporary folder of 37 images of three classes and several sizes; its heap name. */
char *make_images(void);

/* Makes two of them unreadable: one empty, one a text. */
void damage_images(const char *dir);

/* Batches of 8 with random crops and colours, shuffled; half of the files may be bad. */
struct loader_options training_options(int workers);

uint64_t hash_batch(const struct batch *b);

/* Hashes of an epoch's batches from `first` on, in order; returns how many. */
int run_epoch(struct loader *l, uint64_t epoch, int64_t first, uint64_t *hash);

#endif
