/*
 * Sliding windows: sizes and positions for convolutions and pools. Positions outside [0,
 * in) are padding.
 */
#ifndef OPS_WINDOW_H
#define OPS_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Returns the outputs along one direction. With `ceil`, the last window may extend beyond
 * the end if it starts inside the input or its left padding (PyTorch's rule), even the
 * first one of a smaller input. 0 or less: does not fit.
 */
static inline int64_t window_count(int64_t in, int kernel, int stride, int pad,
                                   int dilation, bool ceil)
{
    int64_t room = in + 2 * (int64_t)pad - (int64_t)dilation * (kernel - 1) - 1;

    room += ceil ? stride - 1 : 0;
    if (room < 0)
        return 0;

    int64_t out = room / stride + 1;

    return ceil && (out - 1) * stride >= in + pad ? out - 1 : out;
}

/* Returns the input position under tap k of window o; may be padding. */
static inline int64_t window_at(int64_t o, int k, int stride, int pad, int dilation)
{
    return o * stride - pad + (int64_t)k * dilation;
}

/* Gets the positions [*first, *end) of the input that window o covers. */
static inline void window_span(int64_t o, int64_t in, int kernel, int stride, int pad,
                               int64_t *first, int64_t *end)
{
    *first = window_at(o, 0, stride, pad, 1);
    *end = *first + kernel < in ? *first + kernel : in;
    *first = *first > 0 ? *first : 0;
}

/* Gets the windows [*first, *end) of `out` that cover input position i. */
static inline void window_cover(int64_t i, int64_t out, int kernel, int stride, int pad,
                                int64_t *first, int64_t *end)
{
    int64_t low = i + pad - kernel + stride; /* first start + stride */

    *first = low > 0 ? low / stride : 0;
    *end = (i + pad) / stride + 1 < out ? (i + pad) / stride + 1 : out;
}

#endif
