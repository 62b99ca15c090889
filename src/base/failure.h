/*
 * Results of functions that read foreign files: the file is invalid, or the machine fails
 * temporarily (no memory, no descriptors, EIO, ESTALE). In the second case a retry may
 * help, and nothing is known about the file.
 */
#ifndef BASE_FAILURE_H
#define BASE_FAILURE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

enum failure { FAILURE_DATA = -1, FAILURE_MACHINE = -2 };

/* True if `err`, an errno, is a failure of the machine. */
bool failure_passes(int err);

/*
 * For a library that reports a lack of memory like a damaged file: returns
 * FAILURE_MACHINE, with only that reason, if `bytes`, its maximum request, cannot be
 * allocated; otherwise FAILURE_DATA. errno does not help: malloc may set it and succeed.
 */
int failure_of_memory(size_t bytes, struct strbuf *why);

#endif
