/*
 * Shared code of the programs in this folder. Each feeds libFuzzer's bytes to one reader
 * of foreign files; scripts/fuzz.sh builds and runs them.
 */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "dataset/samples.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Returns the path of an in-memory file with these bytes, valid until the next call. */
const char *fuzz_file(const void *data, size_t size);

/* Returns the path of a file `train` with an extension in an in-memory folder, for
 * free(). */
char *fuzz_train(const char *ending, const void *data, size_t size);

/*
 * Lists a container's samples as classes and as label maps, and reads the first of them.
 * If `companion` is not NULL, it is the extension of a second file next to it, which gets
 * the bytes up to the first zero; the container gets the bytes after it.
 */
void fuzz_container(const struct container *c, const char *companion, const uint8_t *data,
                    size_t size);

/* Ends the program, which prints the input, unless `good`. */
void fuzz_expect(int good, const char *what);

#endif
