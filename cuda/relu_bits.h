/* The mask of a relu as bits (ops/relu_bits.h), for the kernels that write or read it. */
#ifndef CUDA_RELU_BITS_H
#define CUDA_RELU_BITS_H

#include "graph/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct kernel cuda_relu_bits;

#ifdef __cplusplus
}

#include "cuda/channels.h"
#include "ops/pointwise.h"

/* Returns the byte of eight outputs, as they are stored. */
template <class T>
HOST_DEVICE static inline uint8_t relu_bits_of(const pack<T, 8> &y, float limit)
{
    unsigned bits = 0;

    for (int k = 0; k < 8; k++)
        bits |= (unsigned)relu_passes(y.get(k), limit) << k;
    return (uint8_t)bits;
}

/* Returns the bits of N channels, N a divisor of 8, of the element at `pos`. */
template <int N>
HOST_DEVICE static inline unsigned relu_bits_load(const uint8_t *bits, int64_t pos)
{
    return (unsigned)bits[pos / 8] >> (N < 8 ? (int)pos % 8 : 0);
}

#endif

#endif
