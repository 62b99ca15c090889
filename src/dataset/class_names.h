/* The names of a data set's classes, in the order of the labels. Private to src/dataset. */
#ifndef DATASET_CLASS_NAMES_H
#define DATASET_CLASS_NAMES_H

#include "dataset/dataset.h"

/* From dir/classes.txt, a line each. False: there is none; one that names nothing ends the
 * program. */
bool class_names_read(struct dataset *d, const char *dir);

void class_names_number(struct dataset *d, int n); /* "0", "1", ... */

/* From `name`, of which some may be the same, in byte order; the texts are copied. */
void class_names_sort(struct dataset *d, const char *const *name, int64_t n);

/* The index among names in byte order; -1: there is no such class. */
int32_t class_names_find(const struct dataset *d, const char *name);

void class_names_free(struct dataset *d);

#endif
