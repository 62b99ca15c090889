/*
 * Parses class values of files: numbers, names, and one-hot vectors. Private to
 * src/dataset.
 */
#ifndef DATASET_CLASS_VALUE_H
#define DATASET_CLASS_VALUE_H

#include <stddef.h>
#include <stdint.h>

struct sample;
struct samples;

/* Returns v if it is a whole number in [0, INT32_MAX], else -1. */
int32_t class_of_number(double v);

/* Parses "7" or "7.0". Returns -1 for anything else. */
int32_t class_of_digits(const char *text);

/* Returns the index of the only 1 among zeros, or -1. Requires n >= 2. */
int32_t class_of_one_hot(const double *v, size_t n);

/* Sets the class of `dst` from a text of `len` bytes, a number or a name; blanks at both
 * ends are ignored. Marks the sample as damaged if the text is neither; the reason starts
 * with `src`. */
void class_of_text(struct samples *s, struct sample *dst, const void *text, size_t len,
                   const char *src);

#endif
