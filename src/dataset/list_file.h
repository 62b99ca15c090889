/*
 * A list file cut into the lines that count: none that are empty or start with #, without
 * blanks at either end. Private to src/dataset.
 */
#ifndef DATASET_LIST_FILE_H
#define DATASET_LIST_FILE_H

#include <stdbool.h>
#include <stddef.h>

struct list_file {
    char *path, *text; /* of root/train.txt; text with NULs for line ends */
    struct line {
        char *text;
        int number; /* in the file, from 1 */
    } * line;
    int n;
    size_t cap;
};

/* root/name. False: there is no such file; the program ends if it cannot be read. */
bool list_file_read(struct list_file *l, const char *root, const char *name);
void list_file_release(struct list_file *l);

/* Ends the program: line `at` of `path` is not `expected`. Says so if it looks like CSV. */
_Noreturn void list_file_refuse(const char *path, const struct line *at,
                                const char *expected);

#endif
