/*
 * What a function that reads files of others returns: the file is at fault, or, for now,
 * the machine is (no memory, no descriptors, EIO, ESTALE). Then trying again may help, and
 * whether the file is damaged is not known.
 */
#ifndef BASE_FAILURE_H
#define BASE_FAILURE_H

#include <stdbool.h>

enum failure { FAILURE_DATA = -1, FAILURE_MACHINE = -2 };

/* Is `err`, an errno, a failure of the machine? */
bool failure_passes(int err);

#endif
