/* The containers of tests/golden/containers (scripts/golden/containers.py): the same samples
 * in each of them. */
#ifndef TESTS_DATASET_GOLDEN_CONTAINERS_H
#define TESTS_DATASET_GOLDEN_CONTAINERS_H

#include "dataset/dataset.h"

#define GOLDEN "tests/golden/containers"

/* Samples, classes; more bytes than a sample has. */
enum { GOLDEN_N = 5, GOLDEN_CLASSES = 3, GOLDEN_LIMIT = 1 << 20 };

extern const int32_t golden_label[GOLDEN_N];

/* A temporary folder with what a folder of the golden files holds, so that nothing is
 * written there. */
char *golden_copy(const char *folder);
void golden_copy_file(const char *from, const char *dir, const char *name);

/* Sample i has the pixels, or the label map, of the golden file i. */
void golden_expect_image(const struct dataset *d, int i);
void golden_expect_image_of(const struct dataset *d, int i, int file);
void golden_expect_grey(const struct dataset *d, int i); /* the red of the file */
void golden_expect_label_map(const struct dataset *d, int i);

/* Writes a text into a file of a folder. */
void golden_write_at(const char *dir, const char *name, int64_t at, const char *text);

#endif
