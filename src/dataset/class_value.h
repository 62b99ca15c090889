/*
 * Classes as files write them: numbers, texts, and one-hot vectors.
 *
 * Private to src/dataset.
 */
#ifndef DATASET_CLASS_VALUE_H
#define DATASET_CLASS_VALUE_H

#include <stddef.h>
#include <stdint.h>

struct sample;
struct samples;

/* A whole number in [0, INT32_MAX]; -1: any other. */
int32_t class_of_number(double v);

/* "7", "7.0" */
int32_t class_of_digits(const char *text);

/* The place of the only 1 among zeros, n >= 2 of them; -1: the values are others. */
int32_t class_of_one_hot(const double *v, size_t n);

/* The class of `to` from a text of `len` bytes, blanks at its ends aside: a number, or
 * a name. What can be neither makes the sample damaged; `from` then names the text. */
void class_of_text(struct samples *s, struct sample *to, const void *text, size_t len,
                   const char *from);

#endif
