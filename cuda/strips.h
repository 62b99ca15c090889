/*
 * Depthwise convolutions in strips (cuda/depthwise.cu, cuda/depthwise_strip_grad.cu): how
 * the pixels that a strip of neighboring results reads are numbered. A strip has COLUMNS
 * results of one row and reads LOADS pixels of a row.
 *
 *   STRIP_SAME    stride 1, forward and data gradient, whose taps are flipped
 *   STRIP_DOWN    stride 2, forward
 *   STRIP_UP      stride 2, data gradient: a strip begins where a tap of even number hits
 */
#ifndef CUDA_STRIPS_H
#define CUDA_STRIPS_H

#include "cuda/channels.h"
#include "cuda/divide.h"

enum strip_kind { STRIP_SAME, STRIP_DOWN, STRIP_UP };

enum { STRIP_PACK = 4 /* channels per thread */ };

static constexpr int strip_columns(int kind)
{
    return kind == STRIP_DOWN ? 4 : 8;
}

template <int K, int KIND> struct strip {
    static constexpr int COLUMNS = strip_columns(KIND);
    static constexpr int LOADS = KIND == STRIP_SAME   ? COLUMNS + K - 1
                                 : KIND == STRIP_DOWN ? 2 * (COLUMNS - 1) + K
                                                      : COLUMNS / 2 + (K - 1) / 2;

    /* Returns the tap with which result `t` reads pixel `j`; below 0 or from K on: none. */
    __device__ static constexpr int tap(int j, int t)
    {
        return KIND == STRIP_SAME   ? j - t
               : KIND == STRIP_DOWN ? j - 2 * t
                                    : t - 2 * j + K - 1;
    }
    /* Returns the column of the first pixel for a strip that begins at `column`. */
    __device__ static inline int first(int column, int pad)
    {
        return KIND == STRIP_SAME   ? column - pad
               : KIND == STRIP_DOWN ? 2 * column - pad
                                    : (column + pad) / 2 - (K - 1) / 2;
    }
};

/* Strips of all images, in the order image, strip of a row, row. */
struct strip_grid {
    divider height, strips;
    int shift; /* the first strip of a row begins at column -shift */
};

struct strip_place {
    int image, row, column;
};

__device__ static inline strip_place strip_place_of(const strip_grid &g, int columns,
                                                    unsigned q)
{
    unsigned pos = divide(g.height, q), image = divide(g.strips, pos);

    return {(int)image, (int)(q - pos * g.height.divisor),
            (int)(pos - image * g.strips.divisor) * columns - g.shift};
}

static inline strip_grid strip_grid_of(int height, int width, int columns, int shift)
{
    return {divider_of((unsigned)height),
            divider_of((unsigned)((width + shift + columns - 1) / columns)), shift};
}

/* Bit j: pixel first + j lies within a row of `width` pixels. */
template <int LOADS> __device__ static inline unsigned strip_mask(int first, int width)
{
    int begin = first < 0 ? -first : 0;
    int end = width - first < LOADS ? width - first : LOADS;

    return end > begin && begin < LOADS ? ((1u << end) - 1) & ~((1u << begin) - 1) : 0;
}

/* Loads the pixels of the mask, one `step` apart; all of them with WHOLE. */
template <bool WHOLE, int LOADS, class T>
__device__ static inline void strip_load(const T *src, int step, unsigned mask,
                                         words<T, STRIP_PACK> (&v)[LOADS])
{
    UNROLL_WHOLE
    for (int j = 0; j < LOADS; j++) {
        if (!WHOLE)
            v[j] = {};
        if (WHOLE || mask >> j & 1)
            v[j] = words_load<STRIP_PACK>(src);
        src += step;
    }
}

#endif
