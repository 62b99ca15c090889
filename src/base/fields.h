/*
 * Types of fields filled by configuration keys, besides int64_t, double, bool, and const
 * char *: lists, and values that may be None. Used in struct config and in the options of
 * a model family (models/options.h).
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
    const double *item; /* NULL: None, if the key allows it; or a word, */
    int n;              /* which is this value then (config/choices.h) */
};

struct str_list {
    const char *const *item;
    int n;
};

struct int_table {
    const struct int_list *item;
    int n;
};

/* Structs whose type the readers of the key know: RECORD(cfg->hooks, struct config_hook,
 * i). */
struct record_list {
    const void *item;
    int n;
};
#define RECORD(list, type, i) (&((const type *)(list).item)[i])

/* A value that may be None (then `value` is zero). */
struct float_opt {
    double value;
    bool has;
};

struct bool_opt {
    bool value, has;
};

#endif
