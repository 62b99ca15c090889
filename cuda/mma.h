/*
 * GEMMs of a warp on tensor cores, from tiles of 16-bit elements in shared memory; sums
 * are fp32 in registers (PTX ISA, mma.m16n8k16 and ldmatrix; Ampere and newer). A tile is
 * row-major with `stride` elements between rows; rows are aligned to 16 bytes, and a
 * stride of an odd number of 16 bytes spreads them over the banks.
 *
 *   mma_a a = mma_a_of(x, stride, row, k);          16 rows x 16 of x [rows][k]
 *   mma_a a = mma_a_of_columns(z, stride, k, row);  the same of z [k][rows]
 *   mma_a a = mma_a_of_sums<T>(s0, s1);             of the sums of two GEMMs, rounded
 *   mma_b b = mma_b_of_rows(y, stride, column, k);  16 x 16 columns of y [columns][k]
 *   mma_b b = mma_b_of(v, stride, k, column);       the same of v [k][columns]
 *   mma<T>(sum[0], sum[1], a, b);                   adds a b, of 8 columns each
 *
 * Of a 16 x 8 sum, lane l holds rows mma_row(i) and columns mma_column(i), i < 4,
 * relative to the first. All 32 lanes must participate.
 */
#ifndef CUDA_MMA_H
#define CUDA_MMA_H

#include "cuda/mma_instructions.h"

struct mma_a {
    uint32_t v[4]; /* rows 0-7 and 8-15 of k 0-7, then of k 8-15 */
};
struct mma_b {
    uint32_t v[4]; /* k 0-7 and 8-15 of columns 0-7, then of columns 8-15 */
};

__device__ static inline int mma_lane(void)
{
    return (int)threadIdx.x % 32;
}
__device__ static inline int mma_row(int i)
{
    return mma_lane() / 4 + 8 * (i / 2);
}
__device__ static inline int mma_column(int i)
{
    return mma_lane() % 4 * 2 + i % 2;
}

/* Coordinates, within a 16 x 16 block of four matrices, of the matrix row that this lane
 * addresses. */
__device__ static inline int mma_across(int lane) /* 0-7 of matrices 0, 1; 8-15 of 2, 3 */
{
    return lane % 8 + lane / 16 * 8;
}
__device__ static inline int mma_down(int lane) /* 0-7 of matrices 0, 2; 8-15 of 1, 3 */
{
    return lane % 16;
}

template <class T>
__device__ static inline mma_a mma_a_of(const T *x, int stride, int row, int k)
{
    int lane = mma_lane();
    mma_a a;

    ldmatrix_rows(a.v, x + (row + mma_down(lane)) * stride + k + lane / 16 * 8);
    return a;
}

template <class T>
__device__ static inline mma_a mma_a_of_columns(const T *z, int stride, int k, int row)
{
    int lane = mma_lane();
    mma_a a;

    ldmatrix_columns(a.v,
                     z + (k + mma_across(lane)) * stride + row + lane / 8 % 2 * 8);
    return a;
}

/* Columns 0-7 and 8-15 of the sums become k. */
template <class T>
__device__ static inline mma_a mma_a_of_sums(const float (&low)[4],
                                             const float (&high)[4])
{
    return {{mma_pack(T{}, low[0], low[1]), mma_pack(T{}, low[2], low[3]),
             mma_pack(T{}, high[0], high[1]), mma_pack(T{}, high[2], high[3])}};
}

template <class T>
__device__ static inline mma_b mma_b_of_rows(const T *y, int stride, int column, int k)
{
    int lane = mma_lane();
    mma_b b;

    ldmatrix_rows(b.v,
                  y + (column + mma_across(lane)) * stride + k + lane / 8 % 2 * 8);
    return b;
}

template <class T>
__device__ static inline mma_b mma_b_of(const T *v, int stride, int k, int column)
{
    int lane = mma_lane();
    mma_b b;

    ldmatrix_columns(b.v, v + (k + mma_down(lane)) * stride + column + lane / 16 * 8);
    return b;
}

template <class T>
__device__ static inline void mma(float (&low)[4], float (&high)[4], const mma_a &a,
                                  const mma_b &b)
{
    mma_16x8x16(T{}, low, a.v, b.v[0], b.v[1]);
    mma_16x8x16(T{}, high, a.v, b.v[2], b.v[3]);
}

/* Sums over the 4 lanes that share rows. */
__device__ static inline float mma_row_sum(float v)
{
    v += __shfl_xor_sync(0xffffffffu, v, 1);
    return v + __shfl_xor_sync(0xffffffffu, v, 2);
}

#endif
