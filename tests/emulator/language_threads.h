/* CUDA for the host compiler (launch.h): barriers, and exchanges within a warp. */
#ifndef EMULATOR_LANGUAGE_THREADS_H
#define EMULATOR_LANGUAGE_THREADS_H

#include <stdint.h>
#include <string.h>
#include <type_traits>

#include "tests/emulator/block.h"

static inline void __syncthreads(int line = __builtin_LINE())
{
    (void)emulator_barrier(0, line);
}

static inline int __syncthreads_count(int predicate, int line = __builtin_LINE())
{
    return emulator_barrier(predicate, line);
}

static inline int __syncthreads_or(int predicate, int line = __builtin_LINE())
{
    return emulator_barrier(predicate, line) > 0;
}

static inline int __syncthreads_and(int predicate, int line = __builtin_LINE())
{
    int n = (int)(blockDim.x * blockDim.y * blockDim.z);

    return emulator_barrier(predicate, line) == n;
}

static inline void __syncwarp(unsigned mask = ~0u, int line = __builtin_LINE())
{
    (void)emulator_warp(EMULATOR_SYNC, mask, 0, 0, warpSize, line);
}

static inline void __threadfence() {}
static inline void __threadfence_block() {}

template <class T>
static inline T emulator_shuffle(emulator_warp_t op, unsigned mask, T v, int lane,
                                 int width, int line)
{
    uint64_t bits = 0;

    static_assert(sizeof(T) <= sizeof(bits) && std::is_arithmetic_v<T>,
                  "shuffles take numbers of up to 8 bytes");
    memcpy(&bits, &v, sizeof(v));
    bits = emulator_warp(op, mask, bits, lane, width, line);
    memcpy(&v, &bits, sizeof(v));
    return v;
}

template <class T>
static inline T __shfl_sync(unsigned mask, T v, int lane, int width = 32,
                            int line = __builtin_LINE())
{
    return emulator_shuffle(EMULATOR_SHUFFLE, mask, v, lane, width, line);
}

template <class T>
static inline T __shfl_up_sync(unsigned mask, T v, unsigned delta, int width = 32,
                               int line = __builtin_LINE())
{
    return emulator_shuffle(EMULATOR_UP, mask, v, (int)delta, width, line);
}

template <class T>
static inline T __shfl_down_sync(unsigned mask, T v, unsigned delta, int width = 32,
                                 int line = __builtin_LINE())
{
    return emulator_shuffle(EMULATOR_DOWN, mask, v, (int)delta, width, line);
}

template <class T>
static inline T __shfl_xor_sync(unsigned mask, T v, int lanes, int width = 32,
                                int line = __builtin_LINE())
{
    return emulator_shuffle(EMULATOR_XOR, mask, v, lanes, width, line);
}

static inline unsigned __ballot_sync(unsigned mask, int predicate,
                                     int line = __builtin_LINE())
{
    return (unsigned)emulator_warp(EMULATOR_BALLOT, mask, predicate != 0, 0, warpSize,
                                   line);
}

static inline int __any_sync(unsigned mask, int predicate, int line = __builtin_LINE())
{
    return __ballot_sync(mask, predicate, line) != 0;
}

static inline int __all_sync(unsigned mask, int predicate, int line = __builtin_LINE())
{
    return __ballot_sync(mask, !predicate, line) == 0;
}

#endif
