/*
 * What a function that reads files of others returns: the file is at fault, or, for now,
 * the machine is (no memory, no descriptors, EIO, ESTALE). Then trying again may help, and
 * whether the file is damaged is not known.
 */
#ifndef BASE_FAILURE_H
#define BASE_FAILURE_H

#include <stdbool.h>

#include "base/strbuf.h"

enum failure { FAILURE_DATA = -1, FAILURE_MACHINE = -2 };

/* Is `err`, an errno, a failure of the machine? */
bool failure_passes(int err);

/* Of a library that tells failures of the machine from those of the file at most in words:
 * errno = 0 goes before the call, and of FAILURE_DATA becomes FAILURE_MACHINE what malloc,
 * or a read, has left in it; `why` then says that alone. Other `rc` are returned as they
 * are. */
int failure_of_library(int rc, struct strbuf *why);

#endif
