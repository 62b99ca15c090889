/*
 * Kernels over [rows, channels] with values per channel: how a tensor is split into
 * tiles. A block's threads are `wide` packs of N neighboring channels times `high` rows;
 * if there are more channels than a tile has, `tiles` of them cover a row. A thread keeps
 * its channels, so it loads their values once and walks down the rows.
 *
 *   struct tile k = tile_of(rows, channels, pack_len<T>(channels));
 *   place p = place_of<N>(k);            block blockIdx.x % tiles, thread threadIdx.x
 *   for (row = ...; row < k.rows; ...) pack_load<N>(x + row * k.channels + p.channel)
 *
 * N is a 16-byte vector if channels are a multiple of it, else 1.
 */
#ifndef CUDA_CHANNELS_H
#define CUDA_CHANNELS_H

#include "cuda/launch.h"
#include "cuda/vec.h"

enum { TILE_THREADS = 256, TILE_WIDE = 32 };

struct tile {
    int64_t rows;
    int channels, wide, high, tiles;
};

static inline tile tile_of(int64_t rows, int64_t channels, int n)
{
    int packs = (int)(channels / n), tiles = (packs + TILE_WIDE - 1) / TILE_WIDE;
    int wide = (packs + tiles - 1) / tiles;

    return {rows, (int)channels, wide, TILE_THREADS / wide, tiles};
}

/* Returns the blocks of a reduction over rows: at most `limit`, each with at least one row. */
static inline int tile_chunks(const tile &k, int limit)
{
    int64_t groups = (k.rows + k.high - 1) / k.high, chunks = limit / k.tiles;

    return (int)(groups < chunks ? groups : chunks < 1 ? 1 : chunks);
}

/* Splits rows into n chunks: chunk i has the groups i, i + n, ... of `high` rows. */
struct chunking {
    int64_t rows;      /* minimum rows per chunk */
    int more;          /* the first `more` chunks have one group more */
    int last, missing; /* chunk with the last group, and the rows that group lacks */
    int high;
};

static inline chunking chunking_of(const tile &k, int n)
{
    int64_t groups = (k.rows + k.high - 1) / k.high;

    return {groups / n * k.high, (int)(groups % n), (int)((groups - 1) % n),
            (int)(groups * k.high - k.rows), k.high};
}

HOST_DEVICE static inline int64_t chunk_rows(const chunking &c, int i)
{
    return c.rows + (i < c.more ? c.high : 0) - (i == c.last ? c.missing : 0);
}

template <class T, int N> struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) pack {
    T v[N];

    HOST_DEVICE float get(int i) const { return to_float(v[i]); }
    HOST_DEVICE void set(int i, float x) { v[i] = from_float<T>(x); }
};

template <int N, class T> HOST_DEVICE static inline pack<T, N> pack_load(const T *p)
{
    return *reinterpret_cast<const pack<T, N> *>(p);
}

template <class T, int N> HOST_DEVICE static inline void pack_store(T *p, pack<T, N> a)
{
    *reinterpret_cast<pack<T, N> *>(p) = a;
}

/* Loads v = p[0..N): fp32 values of channels; tensors and flat segments are aligned to 64
 * bytes. */
template <int N> __device__ static inline void table_load(const float *p, float *v)
{
    constexpr int M = N % 4 ? 1 : 4;

    for (int i = 0; i < N; i += M) {
        pack<float, M> a = pack_load<M>(p + i);

        for (int k = 0; k < M; k++)
            v[i + k] = a.v[k];
    }
}

struct place {
    int channel, row, tile; /* the first of N channels; the row in the block */
    bool valid;
};

template <int N> __device__ static inline place place_of(const tile &k, int tile_index)
{
    int t = (int)threadIdx.x, row = t / k.wide;
    int channel = (tile_index * k.wide + t % k.wide) * N;

    return {channel, row, tile_index, row < k.high && channel < k.channels};
}

/* Runs one statement with N the pack for `channels` of T. */
#define WITH_PACK(T, channels, N, ...)                                                   \
    do {                                                                                 \
        if ((channels) % vec<T>::N == 0) {                                               \
            constexpr int N = vec<T>::N;                                                 \
            __VA_ARGS__;                                                                 \
        } else {                                                                         \
            constexpr int N = 1;                                                         \
            __VA_ARGS__;                                                                 \
        }                                                                                \
    } while (0)

/*
 * Sums v[i] over the threads of a block that share a channel, in a fixed order: thread t
 * gets the sum of channel t of the tile, if the tile has it. `shared` has TILE_THREADS *
 * N floats; all threads of the block must call it.
 */
template <int N>
__device__ static inline float tile_sum(const tile &k, const place &p, const float *v,
                                        float *shared)
{
    int t = (int)threadIdx.x, width = k.wide * N, parts = TILE_THREADS / width;
    int column = t % width, part = t / width;
    float sum = 0;

    __syncthreads(); /* wait until `shared` has been read */
    if (p.row < k.high)
        for (int i = 0; i < N; i++)
            shared[t * N + i] = p.valid ? v[i] : 0; /* row * width + column */
    __syncthreads();
    for (int r = part; part < parts && r < k.high; r += parts)
        sum += shared[r * width + column];
    __syncthreads();
    if (part < parts)
        shared[t] = sum;
    __syncthreads();
    for (int i = 1; i < parts && part == 0; i++)
        sum += shared[i * width + column];
    return sum;
}

#endif
