/*
 * Splits a list file into lines, without empty ones, those that start with #, and blanks
 * at both ends. Private to src/dataset.
 */
#ifndef DATASET_LIST_FILE_H
#define DATASET_LIST_FILE_H

#include <stdbool.h>
#include <stddef.h>

struct list_file {
    char *path, *text; /* path: root/train.txt; text: lines end in NUL */
    struct line {
        char *text;
        int number; /* line number in the file, from 1 */
    } * line;
    int n;
    size_t cap;
};

/* Reads root/name. Returns false if there is no such file; ends the program if it cannot
 * be read. */
bool list_file_read(struct list_file *l, const char *root, const char *name);
void list_file_release(struct list_file *l);

/* Ends the program: line `line` of `path` is not `expected`. The message mentions CSV if
 * the line looks like it. */
_Noreturn void list_file_refuse(const char *path, const struct line *line,
                                const char *expected);

#endif
