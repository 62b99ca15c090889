/* Class names of a data set, in label order. Private to src/dataset. */
#ifndef DATASET_CLASS_NAMES_H
#define DATASET_CLASS_NAMES_H

#include "dataset/dataset.h"

/* Reads dir/classes.txt, one name per line. Returns false if there is no such file; ends
 * the program if it names no classes. */
bool class_names_read(struct dataset *d, const char *dir);

/* Adds n names: "0", "1", ... (counted from `first`). If n is 0, the last one is
 * `largest`, the largest class index of the data set. */
void class_names_add_numbers(struct dataset *d, int first, int n, int32_t largest);

/* Adds the distinct strings of `name`, copied and in byte order. */
void class_names_add_sorted(struct dataset *d, const char *const *name, int64_t n);

/* Returns the index of a class, or -1. Requires names in byte order. */
int32_t class_names_find(const struct dataset *d, const char *name);

void class_names_free(struct dataset *d);

/* Warns that DATA.FIRST_CLASS (`first`) has no effect if classes have names. */
void class_names_warn_first(const struct dataset *d, int first);

/* Returns advice that ends the message about a class index of d->nclass or more. */
const char *class_names_advice(const struct dataset *d, int32_t label, int first);

#endif
