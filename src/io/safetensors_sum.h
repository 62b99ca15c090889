/*
 * Checksum of safetensors files, shared by their reader and writer: XXH3-64 of the whole
 * file with its own digits read as zeros. Add the header first; its digits do not matter.
 */
#ifndef IO_SAFETENSORS_SUM_H
#define IO_SAFETENSORS_SUM_H

#include <stddef.h>

#define SAFETENSORS_SUM_KEY "xxh3"
enum { SAFETENSORS_SUM_DIGITS = 16, SAFETENSORS_HEADER_MAX = 100000000 };

struct safetensors_sum;

/* Returns the digits in a header (NUL-terminated text), or NULL if it has none. */
char *safetensors_sum_find(char *header);

struct safetensors_sum *safetensors_sum_new(const char *header, size_t header_size);
void safetensors_sum_add(struct safetensors_sum *sum, const void *data, size_t len);
/* Writes the digits and a NUL to `digits`, and frees `sum`. */
void safetensors_sum_free(struct safetensors_sum *sum, char *digits);

#endif
