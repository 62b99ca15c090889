/*
 * Class names in the order of their labels, as weights files store them: a JSON array in
 * the metadata "classes".
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
 * Compares the classes of file `path`, whose metadata is `text` (NULL if it has none),
 * with `want` (NULL or empty: accepts any), which messages call `what`, for example "the
 * data set". If they differ, dies, or warns unless `strict`.
 */
void class_list_check(const char *path, const char *text, const char *what,
                      const struct class_list *want, bool strict);

#endif
