/* The containers of tests/golden/containers (scripts/golden/containers.py), which all
 * hold the same samples. */
#ifndef TESTS_DATASET_GOLDEN_CONTAINERS_H
#define TESTS_DATASET_GOLDEN_CONTAINERS_H

#include "dataset/dataset.h"

#define GOLDEN "tests/golden/containers"

/* Samples, classes; more bytes than any sample has. */
enum { GOLDEN_N = 5, GOLDEN_CLASSES = 3, GOLDEN_LIMIT = 1 << 20 };

extern const int32_t golden_label[GOLDEN_N];

/* Returns a temporary copy of a folder of golden files, so that nothing is written
 * there. */
char *golden_copy(const char *folder);
void golden_copy_file(const char *src, const char *dir, const char *name);

/* Fails unless sample i has the pixels or the label map of golden file i. */
void golden_expect_image(const struct dataset *d, int i);
void golden_expect_image_of(const struct dataset *d, int i, int file);
void golden_expect_gray(const struct dataset *d, int i); /* the file's red channel */
void golden_expect_label_map(const struct dataset *d, int i);

/* Writes text at an offset of a file. */
void golden_write_at(const char *dir, const char *name, int64_t pos, const char *text);

#endif
