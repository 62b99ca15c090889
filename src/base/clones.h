/*
 * A function with vectorizable loops, compiled for several instruction sets; the one for
 * this processor is selected when the program starts. Arithmetic is the same in all: C11
 * does not contract products and sums. At -O2 gcc vectorizes little, so such a file uses
 * #pragma GCC optimize("O3").
 */
#ifndef BASE_CLONES_H
#define BASE_CLONES_H

/* gcc 11 does not know these levels here. */
#if defined(__x86_64__) && !defined(__clang__) && __GNUC__ >= 12 &&                      \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CLONES                                                                           \
    __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CLONES
#endif

#endif
