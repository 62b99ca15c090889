/*
 * How conv_amx reads the source of a window (cpu/conv/window.h). Tiles want results whose
 * sources lie at even distances. A source that does not give that is copied with borders
 * of zeros, `pitch` positions per row: the results of a band of rows then are positions
 * 0, 1, 2, ... of one line, position p = row * pitch + column, and those with a column of
 * `cols` or more mean nothing. The zeros to the right of a row are those to the left of
 * the next one. Where rows lie `step_h` apart, the copy has one plane for each phase of
 * them.
 */
#ifndef CPU_CONV_AMX_WINDOW_H
#define CPU_CONV_AMX_WINDOW_H

#include "cpu/conv/amx.h"
#include "cpu/conv/window.h"

/*
 * What a tap reads of x: the channels of a pixel. Of images of few channels, as of a
 * stem, a whole row of the kernel, which lies side by side in memory.
 */
struct amx_reach {
    int taps;
    int span;     /* pixels of a tap */
    int values;   /* of those pixels */
    int channels; /* read and multiplied: the values, then others by weights of zero */
};

static inline struct amx_reach amx_reach(const struct conv_shape *s)
{
    int row = s->kernel_w * s->c;

    if (s->c % 16 == 0)
        return (struct amx_reach){s->kernel_h * s->kernel_w, 1, s->c, s->c};
    return (struct amx_reach){s->kernel_h, s->kernel_w, row, (row + 15) / 16 * 16};
}

struct amx_window {
    struct conv_window of;
    int span, reads; /* pixels and channels that a tap reads, as of amx_reach */
    int packed;      /* taps of the packed weights */
    bool joined;     /* an image's rows of results follow the last one's, evenly */

    /* of the copy */
    int top, left;    /* the first tap's distance */
    int reach;        /* rows from the first tap to the last */
    int pitch;        /* positions in a row */
    int column, step; /* source pixels per copied one, copied pixels per position */
    bool plain; /* one image as it is needs no copy: positions lie as in the source */
};

struct amx_window amx_window_forward(const struct conv_shape *s);
/* The window over dy of phase [py, px] of dx. */
struct amx_window amx_window_data_grad(const struct conv_shape *s, int py, int px);

/* Copied rows in a plane, for `rows` rows of results. */
int amx_window_plane(const struct amx_window *v, int rows);
/* Elements of a copy of `rows` rows of results, and of what is readable after it. */
size_t amx_window_copied(const struct amx_window *v, int rows);
/* Rows of results whose copy fits in `bytes`; 1 at least. */
int amx_window_band(const struct amx_window *v, size_t bytes);

/* Copies what rows [y, y + rows) of the results of one image read. */
void amx_window_copy(const struct amx_window *v, const uint16_t *image, int y, int rows,
                     uint16_t *to);
/* Where a tap of position 0 reads in such a copy: elements from its start. */
ptrdiff_t amx_window_tap(const struct amx_window *v, const struct conv_tap *t, int rows);
/* Whether all images are one: each result reads the pixel in its own place. */
static inline bool amx_window_pointwise(const struct amx_window *v)
{
    return v->plain && v->joined && !v->reach && !v->top && v->of.rows == v->of.h;
}

/* Elements of the copy from one position to the next. */
static inline ptrdiff_t amx_window_step(const struct amx_window *v)
{
    return (ptrdiff_t)v->step * v->of.c;
}

#endif
