/* Floats to 8 bits, what the kernels share. */
#ifndef CPU_QUANTIZE_H
#define CPU_QUANTIZE_H

#include <stdbool.h>
#include <stdint.h>

enum { QUANTIZE_BLOCK = 256 };

/*
 * A function whose loops the compiler turns into vectors, once for each instruction set;
 * the one for this processor is picked when the program starts. Arithmetic is the same in
 * all: C11 contracts no products and sums.
 */
#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) &&      \
    !defined(__SANITIZE_THREAD__)
#define CPU_CLONES                                                                       \
    __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CPU_CLONES
#endif

/* As ops/quantize_formula.h. */
void quantize_block(const float *v, int64_t n, float scale, bool is_unsigned, void *to);

#endif
