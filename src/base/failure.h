/*
 * What a function that reads files of others returns: the file is at fault, or, for now,
 * the machine is (no memory, no descriptors, EIO, ESTALE). Then trying again may help, and
 * whether the file is damaged is not known.
 */
#ifndef BASE_FAILURE_H
#define BASE_FAILURE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

enum failure { FAILURE_DATA = -1, FAILURE_MACHINE = -2 };

/* Is `err`, an errno, a failure of the machine? */
bool failure_passes(int err);

/*
 * For the failure of a library that reports a lack of memory and a damaged file alike:
 * FAILURE_MACHINE, with that reason alone, if `bytes`, the most that it asks for, cannot
 * be had; else FAILURE_DATA. errno says nothing here: malloc may set it and succeed.
 */
int failure_of_memory(size_t bytes, struct strbuf *why);

#endif
