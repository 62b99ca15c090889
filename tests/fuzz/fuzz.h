/*
 * What the programs of this folder share. Each feeds bytes that clang's libFuzzer makes
 * up to one reader of foreign files; scripts/fuzz.sh builds and runs them.
 */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A file with these bytes, in memory; its path is good until the next call. */
const char *fuzz_file(const void *data, size_t size);

/* Ends the program, and with that names the input, unless `good`. */
void fuzz_expect(int good, const char *what);

#endif
