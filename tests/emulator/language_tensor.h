/*
 * CUDA for the host compiler (launch.h): the tensor-core instructions of cuda/mma.h. The
 * last lane to arrive does the work of all.
 */
#ifndef EMULATOR_LANGUAGE_TENSOR_H
#define EMULATOR_LANGUAGE_TENSOR_H

#include <stdint.h>

#include "tests/emulator/block.h"

/* Lanes wait with `job`; its first member is the function that one of them runs for
 * all. */
static inline void emulator_meet(const emulator_together_t *job, int line)
{
    (void)emulator_warp(EMULATOR_TOGETHER, ~0u, (uint64_t)(uintptr_t)job, 0, warpSize,
                        line);
}

struct emulator_ldmatrix {
    emulator_together_t together;
    uint32_t *dst;
    const void *row;
    bool columns;
    int line;
};

static inline void emulator_load_all(const uint64_t *all)
{
    auto job = [&](int lane) { return (const emulator_ldmatrix *)(uintptr_t)all[lane]; };

    for (int lane = 0; lane < warpSize; lane++)
        for (int i = 0; i < 4; i++) {
            const emulator_ldmatrix *lane_job = job(lane);
            int down = lane / 4, across = lane % 4 * 2;
            uint32_t pair[2];

            for (int e = 0; e < 2; e++) {
                int r = lane_job->columns ? across + e : down;
                int c = lane_job->columns ? down : across + e;
                const void *row = job(8 * i + r)->row;

                if ((uintptr_t)row % 16)
                    emulator_unaligned(lane_job->line);
                pair[e] = ((const uint16_t *)row)[c];
            }
            lane_job->dst[i] = pair[0] | pair[1] << 16;
        }
}

static inline void ldmatrix_rows(uint32_t (&dst)[4], const void *row,
                                 int line = __builtin_LINE())
{
    emulator_ldmatrix job = {{emulator_load_all}, dst, row, false, line};

    emulator_meet(&job.together, line);
}

static inline void ldmatrix_columns(uint32_t (&dst)[4], const void *row,
                                    int line = __builtin_LINE())
{
    emulator_ldmatrix job = {{emulator_load_all}, dst, row, true, line};

    emulator_meet(&job.together, line);
}

struct emulator_mma {
    emulator_together_t together;
    float *sum;
    const uint32_t *a;
    uint32_t b[2];
};

/* Sums in the order of k; a GPU's order differs. */
template <class T> static inline void emulator_multiply_all(const uint64_t *all)
{
    float a[16][16], b[16][8];
    auto job = [&](int lane) { return (const emulator_mma *)(uintptr_t)all[lane]; };
    auto number = [](uint32_t word, int e) {
        return to_float(T{(uint16_t)(word >> 16 * e)});
    };

    for (int lane = 0; lane < warpSize; lane++)
        for (int i = 0; i < 8; i++) {
            int k = lane % 4 * 2 + i % 2 + i / 4 * 8;

            a[lane / 4 + i / 2 % 2 * 8][k] = number(job(lane)->a[i / 2], i % 2);
            if (i / 2 % 2 == 0)
                b[k][lane / 4] = number(job(lane)->b[i / 4], i % 2);
        }
    for (int lane = 0; lane < warpSize; lane++)
        for (int i = 0; i < 4; i++)
            for (int k = 0; k < 16; k++)
                job(lane)->sum[i] +=
                    a[lane / 4 + i / 2 * 8][k] * b[k][lane % 4 * 2 + i % 2];
}

template <class T>
static inline void mma_16x8x16(T, float (&sum)[4], const uint32_t (&a)[4], uint32_t b0,
                               uint32_t b1, int line = __builtin_LINE())
{
    emulator_mma job = {{emulator_multiply_all<T>}, sum, a, {b0, b1}};

    emulator_meet(&job.together, line);
}

#endif
