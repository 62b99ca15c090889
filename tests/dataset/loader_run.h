/* A folder of images and epochs over it, for tests of the loader. */
#ifndef TESTS_DATASET_LOADER_RUN_H
#define TESTS_DATASET_LOADER_RUN_H

#include "dataset/loader.h"

enum { IMAGES = 37, SIDE = 24 };

/* Creates a temporary folder with 37 images in three classes and several sizes; returns
 * its name, for free(). */
char *make_images(void);

/* Makes two of them unreadable: one empty, one with text. */
void damage_images(const char *dir);

/* Batches of 8 with random crops and colors, shuffled; half of the files may be
 * damaged. */
struct loader_options training_options(int workers);

uint64_t hash_batch(const struct batch *b);

/* Hashes an epoch's batches from `first` on, in order; returns their number. */
int run_epoch(struct loader *l, uint64_t epoch, int64_t first, uint64_t *hash);

#endif
