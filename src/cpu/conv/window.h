/*
 * The input windows of a convolution: results as grids, each the sum over taps at fixed
 * offsets from a result's position in the source image. Forward is one window; the data
 * gradient of a stride is one window over dy for each phase of dx.
 */
#ifndef CPU_CONV_WINDOW_H
#define CPU_CONV_WINDOW_H

#include "cpu/conv/conv.h"

enum { CONV_TAPS = 49 };

struct conv_tap {
    int y, x;  /* offset in source pixels from a result's position */
    int index; /* of the weights */
};

struct conv_window {
    int n, h, w, c;           /* of the source */
    int rows, cols, channels; /* of the results; rows 0: this phase has none */
    int step_h, step_w;       /* source pixels between results */
    ptrdiff_t image, row, col, first; /* pixels between results, and before the first */
    int taps;
    struct conv_tap tap[CONV_TAPS];
};

/* span: width of a tap in pixels; only every span-th tap of a kernel row is used. */
struct conv_window conv_window_forward(const struct conv_shape *s, int span);
/* Returns the window over dy for phase [py, px] of dx. */
struct conv_window conv_window_data_grad(const struct conv_shape *s, int py, int px);

/* The position of a result, counted over all images with rows x cols results. */
struct conv_place {
    int64_t image;
    int row, col;
};

static inline struct conv_place conv_place(int rows, int cols, int64_t pos)
{
    int64_t row = pos / cols;

    return (struct conv_place){row / rows, (int)(row % rows), (int)(pos % cols)};
}

static inline void conv_place_next(int rows, int cols, struct conv_place *p)
{
    if (++p->col < cols)
        return;
    p->col = 0;
    if (++p->row < rows)
        return;
    p->row = 0;
    p->image++;
}

#endif
