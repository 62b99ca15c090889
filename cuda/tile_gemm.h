/*
 * GEMMs of tiles in shared memory by a block of 256 threads, 16 x 16: thread (y, x) has
 * rows y + 16 a of the result. Tiles are fp32 and row-major with `stride` floats between
 * rows, a multiple of 4 (a multiple of 16 plus 4 spreads the rows over the banks); `len`
 * is a multiple of 4, too. Sums have a fixed order.
 *
 *   float sum[R][C] = {};
 *   tile_gemm_dot(sum, x, y, stride, len);      x y^T, columns x + 16 b: of rows of y
 *   tile_gemm_mul(sum, p, ps, v, vs, len);      p v, columns x * C + c
 */
#ifndef CUDA_TILE_GEMM_H
#define CUDA_TILE_GEMM_H

#include "cuda/channels.h"

constexpr int TILE_GEMM_SIDE = 16, TILE_GEMM_THREADS = TILE_GEMM_SIDE * TILE_GEMM_SIDE;

__device__ static inline int tile_gemm_row(int a)
{
    return (int)threadIdx.x / TILE_GEMM_SIDE + TILE_GEMM_SIDE * a;
}

__device__ static inline int tile_gemm_x(void)
{
    return (int)threadIdx.x % TILE_GEMM_SIDE;
}

template <int R, int C>
__device__ static inline void tile_gemm_dot(float (&sum)[R][C], const float *x,
                                            const float *y, int stride, int len)
{
    for (int d = 0; d < len; d += 4) {
        pack<float, 4> p[R], q[C];

        UNROLL_WHOLE
        for (int a = 0; a < R; a++)
            p[a] = pack_load<4>(x + tile_gemm_row(a) * stride + d);
        UNROLL_WHOLE
        for (int b = 0; b < C; b++)
            q[b] = pack_load<4>(y + (tile_gemm_x() + TILE_GEMM_SIDE * b) * stride + d);
        UNROLL_WHOLE
        for (int i = 0; i < 4 * R * C; i++) {
            int a = i / C % R, b = i % C, k = i / C / R;

            sum[a][b] += p[a].v[k] * q[b].v[k];
        }
    }
}

template <int R, int C>
__device__ static inline void tile_gemm_mul(float (&sum)[R][C], const float *p, int ps,
                                            const float *v, int vs, int len)
{
    constexpr int M = C % 4 ? C % 2 ? 1 : 2 : 4;

    for (int j = 0; j < len; j += 4) {
        pack<float, 4> r[R];

        UNROLL_WHOLE
        for (int a = 0; a < R; a++)
            r[a] = pack_load<4>(p + tile_gemm_row(a) * ps + j);
        UNROLL_WHOLE
        for (int i = 0; i < 4 * C; i += M) {
            int k = i / C, c = i % C;
            pack<float, M> w = pack_load<M>(v + (j + k) * vs + tile_gemm_x() * C + c);

            UNROLL_WHOLE
            for (int e = 0; e < R * M; e++)
                sum[e / M][c + e % M] += r[e / M].v[k] * w.v[e % M];
        }
    }
}

#endif
