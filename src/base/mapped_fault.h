/*
 * Memory-mapped files (LMDB, decoded pixels, DATA.CACHE mmap): if the disk fails or the
 * file was truncated, an access raises SIGBUS. After mapped_fault_install() this ends the
 * program with one line that names the file, exit 1. Any other SIGBUS is handled as
 * before.
 */
#ifndef BASE_MAPPED_FAULT_H
#define BASE_MAPPED_FAULT_H

void mapped_fault_install(void);

#endif
