/*
 * Division by a number that is constant for a launch: a multiplication and a shift
 * instead of about 20 instructions, or 70 for 64 bits (Granlund and Montgomery, "Division
 * by Invariant Integers using Multiplication", 1994).
 *
 *   struct divider d = divider_of(width);          on the host, passed to the kernel
 *   unsigned row = divide(d, i), column = i - row * d.divisor;
 *
 * For i below 2^31 and 0 < divisor < 2^31.
 *
 *   struct quotient q = divide_item(packs, blockIdx.x, threadIdx.x);    of any number of items
 *
 * divides the number of a thread, also beyond 2^31, in two divisions of 32 bits.
 */
#ifndef CUDA_DIVIDE_H
#define CUDA_DIVIDE_H

#include <stdint.h>

#include "base/hostdev.h"

struct divider {
    unsigned divisor, factor, shift;
};

/* With the least shift s for which divisor <= 2^s:
 * factor = 2^32 (2^s - divisor) / divisor + 1. */
static inline struct divider divider_of(unsigned divisor)
{
    unsigned shift = 0;

    while (((uint64_t)1 << shift) < divisor)
        shift++;

    struct divider d = {divisor, 0, shift};

    d.factor = (unsigned)((((uint64_t)1 << shift) - divisor) * ((uint64_t)1 << 32) /
                          divisor + 1);
    return d;
}

HOST_DEVICE static inline unsigned divide(struct divider d, unsigned i)
{
    return (unsigned)(((uint64_t)i * d.factor >> 32) + i) >> d.shift;
}

/* Threads of a block for divide_item, whose divisor is at most DIVIDE_MAX. */
enum { DIVIDE_BLOCK = 256, DIVIDE_MAX = 1 << 22 };

struct quotient {
    int64_t quotient;
    int rest;
};

/* Divides block * DIVIDE_BLOCK + thread, for thread < DIVIDE_BLOCK. */
HOST_DEVICE static inline struct quotient divide_item(struct divider d, unsigned block,
                                                      unsigned thread)
{
    unsigned whole = divide(d, block), part = block - whole * d.divisor;
    unsigned i = part * DIVIDE_BLOCK + thread, more = divide(d, i);
    struct quotient q = {(int64_t)whole * DIVIDE_BLOCK + more, (int)(i - more * d.divisor)};

    return q;
}

#endif
