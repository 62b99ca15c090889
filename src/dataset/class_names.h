/* The names of a data set's classes, in the order of the labels. Private to
 * src/dataset. */
#ifndef DATASET_CLASS_NAMES_H
#define DATASET_CLASS_NAMES_H

#include "dataset/dataset.h"

/* From dir/classes.txt, a line each. False: there is none; one that names nothing ends
 * the program. */
bool class_names_read(struct dataset *d, const char *dir);

/* n names, "0", "1", ..., or from `first` on; n 0: up to `largest`, the largest index that
 * the data set has. */
void class_names_number(struct dataset *d, int first, int n, int32_t largest);

/* From `name`, of which some may be the same, in byte order; the texts are copied. */
void class_names_sort(struct dataset *d, const char *const *name, int64_t n);

/* The index among names in byte order; -1: there is no such class. */
int32_t class_names_find(const struct dataset *d, const char *name);

void class_names_free(struct dataset *d);

/* Warns if classes that are no numbers should be counted from `first`. */
void class_names_count_none(const struct dataset *d, int first);

/* What to do about a class that is one of d->nclass or more: ends a message. */
const char *class_names_advice(const struct dataset *d, int32_t label, int first);

#endif
