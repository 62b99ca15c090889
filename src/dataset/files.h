/* Image files as a data set, in the given order and without classes: the loader's label
 * is 0 for each file that can be read. */
#ifndef DATASET_FILES_H
#define DATASET_FILES_H

#include "dataset/dataset.h"

/* Does not copy the paths. Close with dataset_close(). */
struct dataset *dataset_of_files(const char *const *path, int64_t n);

#endif
