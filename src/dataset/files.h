/* Single image files as a data set, in the order given and without classes: a loader's
 * label is 0 for each that could be read. */
#ifndef DATASET_FILES_H
#define DATASET_FILES_H

#include "dataset/dataset.h"

/* The paths stay the caller's. For dataset_close(). */
struct dataset *dataset_of_files(const char *const *path, int64_t n);

#endif
