/* Data sets by the name of their storage, for tests that make their files. */
#ifndef TESTS_DATASET_OPEN_STORAGE_H
#define TESTS_DATASET_OPEN_STORAGE_H

#include "dataset/table.h"

/* DATA.DATASET folder, of class folders in `dir`. */
struct dataset *open_folder(const char *dir);

/* The split "train" below `dir` of a storage of label maps. */
struct dataset *open_labels(const char *storage, const char *dir,
                            const struct label_options *o);

/* The name of the one index that a start left in `dir`, a heap string; NULL: none. */
char *index_in(const char *dir);

/* What to open, and opens it once, for a child process (tests/child.h). */
struct opening {
    const char *storage;
    struct dataset_source source;
};
void open_and_close(void *opening);

#endif
