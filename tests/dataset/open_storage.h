/* Opens data sets by the name of their storage, for tests that create the files. */
#ifndef TESTS_DATASET_OPEN_STORAGE_H
#define TESTS_DATASET_OPEN_STORAGE_H

#include "dataset/table.h"

/* Opens the class folders in `dir`. */
struct dataset *open_folder(const char *dir);

/* Opens the split "train" in `dir` with a storage of label maps. */
struct dataset *open_labels(const char *storage, const char *dir,
                            const struct label_options *o);

/* Returns the name of the only index that an earlier start left in `dir`, for free(), or
 * NULL. */
char *index_in(const char *dir);

/* A data set, and a function that opens it once, for a child process (tests/child.h). */
struct opening {
    const char *storage;
    struct dataset_source source;
};
void open_and_close(void *opening);

#endif
