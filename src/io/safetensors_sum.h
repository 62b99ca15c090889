/*
 * The checksum, shared by reader and writer of safetensors files: XXH3-64 of the whole
 * file with its own digits read as zeros. The header comes first, with any digits.
 */
#ifndef IO_SAFETENSORS_SUM_H
#define IO_SAFETENSORS_SUM_H

#include <stddef.h>

#define SAFETENSORS_SUM_KEY "xxh3"
enum { SAFETENSORS_SUM_DIGITS = 16, SAFETENSORS_HEADER_MAX = 100000000 };

struct safetensors_sum;

/* Returns the digits in a header (NUL-terminated text), or NULL if there are none. */
char *safetensors_sum_find(char *header);

struct safetensors_sum *safetensors_sum_new(const char *header, size_t header_size);
void safetensors_sum_add(struct safetensors_sum *sum, const void *data, size_t len);
/* Writes the digits and a NUL to `digits`, and frees `sum`. */
void safetensors_sum_free(struct safetensors_sum *sum, char *digits);

#endif
