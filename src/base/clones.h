/*
 * A function whose loops the compiler turns into vectors, once for each instruction set;
 * the one for this processor is picked when the program starts. Arithmetic is the same in
 * all: C11 contracts no products and sums. At -O2 gcc makes few vectors: such a file says
 * #pragma GCC optimize("O3").
 */
#ifndef BASE_CLONES_H
#define BASE_CLONES_H

#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) &&      \
    !defined(__SANITIZE_THREAD__)
#define CLONES                                                                           \
    __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CLONES
#endif

#endif
