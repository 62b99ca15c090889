/*
 * What the programs of this folder share. Each feeds bytes that clang's libFuzzer makes
 * up to one reader of foreign files; scripts/fuzz.sh builds and runs them.
 */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "dataset/samples.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A file with these bytes, in memory; its path is good until the next call. */
const char *fuzz_file(const void *data, size_t size);

/* A file `train` with an ending, in a folder in memory; a heap string. */
char *fuzz_train(const char *ending, const void *data, size_t size);

/*
 * A file of a container: its samples are listed as classes and as label maps, and the
 * first of them read. `beside`, if it is no NULL, is the ending of a file beside it,
 * which gets the bytes up to the first zero, and the container those after it.
 */
void fuzz_container(const struct container *c, const char *beside, const uint8_t *data,
                    size_t size);

/* Ends the program, and with that names the input, unless `good`. */
void fuzz_expect(int good, const char *what);

#endif
