/*
 * CUDA for the host compiler (launch.h): what cuda/mma.h has of the tensor cores. Lanes
 * tell each other where their operands are, and none goes on before all have read them.
 */
#ifndef EMULATOR_LANGUAGE_TENSOR_H
#define EMULATOR_LANGUAGE_TENSOR_H

#include <stdint.h>

#include "tests/emulator/block.h"

/* What each lane of the warp gave; until it gives something again. */
static inline const uint64_t *emulator_of_all(const void *mine, int line)
{
    return (const uint64_t *)(uintptr_t)emulator_warp(
        EMULATOR_ALL, ~0u, (uint64_t)(uintptr_t)mine, 0, warpSize, line);
}

static inline void emulator_all_read(int line)
{
    (void)emulator_warp(EMULATOR_SYNC, ~0u, 0, 0, warpSize, line);
}

static inline void emulator_ldmatrix(uint32_t (&to)[4], const void *row, bool columns,
                                     int line)
{
    const uint64_t *rows = emulator_of_all(row, line);
    int lane = (int)threadIdx.x % warpSize, down = lane / 4, across = lane % 4 * 2;

    for (int i = 0; i < 4; i++) {
        uint32_t pair[2];

        for (int e = 0; e < 2; e++) {
            int r = columns ? across + e : down, c = columns ? down : across + e;

            if (rows[8 * i + r] % 16)
                emulator_unaligned(line);
            pair[e] = ((const uint16_t *)(uintptr_t)rows[8 * i + r])[c];
        }
        to[i] = pair[0] | pair[1] << 16;
    }
    emulator_all_read(line);
}

static inline void ldmatrix_rows(uint32_t (&to)[4], const void *row,
                                 int line = __builtin_LINE())
{
    emulator_ldmatrix(to, row, false, line);
}

static inline void ldmatrix_columns(uint32_t (&to)[4], const void *row,
                                    int line = __builtin_LINE())
{
    emulator_ldmatrix(to, row, true, line);
}

/* Sums are in the order of k; a GPU has an order of its own. */
template <class T>
static inline void mma_16x8x16(T, float (&sum)[4], const uint32_t (&a)[4], uint32_t b0,
                               uint32_t b1, int line = __builtin_LINE())
{
    struct operands {
        uint32_t a[4], b[2];
    } mine = {{a[0], a[1], a[2], a[3]}, {b0, b1}};
    const uint64_t *all = emulator_of_all(&mine, line);
    int lane = (int)threadIdx.x % warpSize;
    auto number = [](const uint32_t *words, int e) {
        return to_float(T{(uint16_t)(words[0] >> 16 * e)});
    };

    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 16; k++) {
            int row = lane / 4, column = lane % 4 * 2 + i % 2, at = k % 8 / 2;
            auto *x = (const operands *)(uintptr_t)all[row * 4 + at];
            auto *y = (const operands *)(uintptr_t)all[column * 4 + at];

            sum[i] += number(&x->a[i / 2 + k / 8 * 2], k % 2) *
                      number(&y->b[k / 8], k % 2);
        }
    emulator_all_read(line);
}

#endif
