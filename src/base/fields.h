/*
 * What a field may be that a key of the configuration fills, beside int64_t, double, bool
 * and const char *: lists, and values that may be None. Fields of struct config and the
 * options of a model family (models/options.h) have these types.
 */
#ifndef BASE_FIELDS_H
#define BASE_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

struct int_list {
    const int64_t *item;
    int n;
};

struct float_list {
    const double *item; /* NULL: None, where the key may be None; or a word: */
    int n;              /* then this is its value (config/choices.h) */
};

struct str_list {
    const char *const *item;
    int n;
};

struct int_table {
    const struct int_list *item;
    int n;
};

/* Structs whose type the key's users know: RECORD(cfg->hooks, struct config_hook, i). */
struct record_list {
    const void *item;
    int n;
};
#define RECORD(list, type, i) (&((const type *)(list).item)[i])

/* A value that may be None; `value` is zero then. */
struct float_opt {
    double value;
    bool has;
};

struct bool_opt {
    bool value, has;
};

#endif
