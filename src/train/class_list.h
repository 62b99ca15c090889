/*
 * The names of the classes in the order of their labels, as files of weights keep them:
 * the metadata "classes", a JSON array.
 */
#ifndef TRAIN_CLASS_LIST_H
#define TRAIN_CLASS_LIST_H

#include <stdbool.h>

struct strbuf;

struct class_list {
    const char *const *name;
    int n;
};

/* Appends the JSON array. */
void class_list_put(const struct class_list *l, struct strbuf *text);

/*
 * Compares those of a file, of which `text` is the metadata (NULL: it has none), with
 * what is wanted: `what`, for instance "the data set" (`want` NULL or empty: anything).
 * Other classes end the program, or if not `strict` are warned about.
 */
void class_list_check(const char *path, const char *text, const char *what,
                      const struct class_list *want, bool strict);

#endif
