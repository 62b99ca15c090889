/*
 * Files that are mapped into memory (LMDB, decoded pixels, DATA.CACHE mmap): where the disk
 * fails, or the file was made shorter, an access is no error but the signal SIGBUS. From
 * mapped_fault_install() on it ends the program with one line that names the file, exit 1.
 * A SIGBUS elsewhere does what it did before.
 */
#ifndef BASE_MAPPED_FAULT_H
#define BASE_MAPPED_FAULT_H

void mapped_fault_install(void);

#endif
