/*
 * What a result of a convolution reads: results as grids, each the sum over taps at fixed
 * distances from a result's place in the source image. Forward is one window; the data
 * gradient of a stride is one for each phase of dx, over dy.
 */
#ifndef CPU_CONV_WINDOW_H
#define CPU_CONV_WINDOW_H

#include "cpu/conv/conv.h"

enum { CONV_TAPS = 49 };

struct conv_tap {
    int y, x;  /* pixels of the source from a result's place */
    int index; /* of the weights */
};

struct conv_window {
    int n, h, w, c;           /* of the source */
    int rows, cols, channels; /* of the results; 0 rows: there are none in this phase */
    int step_h, step_w;       /* source pixels from one result to the next */
    ptrdiff_t image, row, col, first; /* pixels between results, and before the first */
    int taps;
    struct conv_tap tap[CONV_TAPS];
};

/* `span`: every so many taps of a row of the kernel; what a tap reads is that wide. */
struct conv_window conv_window_forward(const struct conv_shape *s, int span);
/* The window over dy of phase [py, px] of dx. */
struct conv_window conv_window_data_grad(const struct conv_shape *s, int py, int px);

/* The place of a result of images of rows x cols results, counted over all images. */
struct conv_place {
    int64_t image;
    int row, col;
};

static inline struct conv_place conv_place(int rows, int cols, int64_t at)
{
    int64_t row = at / cols;

    return (struct conv_place){row / rows, (int)(row % rows), (int)(at % cols)};
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
