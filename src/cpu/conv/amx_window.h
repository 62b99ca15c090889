/*
 * How conv_amx reads the source of a window (cpu/conv/window.h). Tiles need results whose
 * sources are evenly spaced. Other sources are copied with zero borders, `pitch`
 * positions per row: the results of a band of rows are then positions 0, 1, 2, ... of one
 * line, position p = row * pitch + column, and columns from `cols` on are ignored. The
 * zeros to the right of a row are also those to the left of the next. With a row stride
 * `step_h`, the copy has one plane for each phase.
 */
#ifndef CPU_CONV_AMX_WINDOW_H
#define CPU_CONV_AMX_WINDOW_H

#include "cpu/conv/amx.h"
#include "cpu/conv/window.h"

/*
 * What a tap reads of x: the channels of a pixel, or of a group of them. With few channels, as in a stem, it is
 * a whole row of the kernel, whose pixels are adjacent in memory.
 */
struct amx_reach {
    int taps;
    int span;     /* pixels per tap */
    int values;   /* values of those pixels */
    int channels; /* read and multiplied: the values, then others with zero weights */
};

static inline struct amx_reach amx_reach(const struct conv_shape *s)
{
    int row = s->kernel_w * s->c, c = s->c / conv_groups(s);

    if (c % 16 == 0)
        return (struct amx_reach){s->kernel_h * s->kernel_w, 1, c, c};
    return (struct amx_reach){s->kernel_h, s->kernel_w, row, (row + 15) / 16 * 16};
}

struct amx_window {
    struct conv_window conv;
    int groups;
    int span, reads; /* pixels and channels that a tap reads (see amx_reach) */
    int packed;      /* taps of the packed weights */
    bool joined;     /* the rows of all images' results are evenly spaced */

    /* of the copy */
    int top, left;    /* offset of the first tap */
    int reach;        /* rows from the first tap to the last */
    int pitch;        /* positions per row */
    int column, step; /* source pixels per copied one, copied pixels per position */
    bool plain; /* a single image needs no copy: positions are spaced as in the source */
};

struct amx_window amx_window_forward(const struct conv_shape *s);
/* Returns the window over dy for phase [py, px] of dx. */
struct amx_window amx_window_data_grad(const struct conv_shape *s, int py, int px);

/* Returns the copied rows per plane for `rows` rows of results. */
int amx_window_plane(const struct amx_window *v, int rows);
/* Returns the elements of a copy for `rows` rows of results, including readable padding. */
size_t amx_window_copied(const struct amx_window *v, int rows);
/* Returns the rows of results whose copy fits in `bytes`; at least 1. */
int amx_window_band(const struct amx_window *v, size_t bytes);

/* Copies the input of rows [y, y + rows) of one image's results. */
void amx_window_copy(const struct amx_window *v, const uint16_t *image, int y, int rows,
                     uint16_t *dst);
/* Returns the offset in such a copy that a tap of position 0 reads, in elements. */
ptrdiff_t amx_window_tap(const struct amx_window *v, const struct conv_tap *t, int rows);
/* True if all images count as one: each result reads the pixel at its own position. */
static inline bool amx_window_pointwise(const struct amx_window *v)
{
    return v->plain && v->joined && !v->reach && !v->top && v->conv.rows == v->conv.h;
}

/* Returns the elements of the copy between positions. */
static inline ptrdiff_t amx_window_step(const struct amx_window *v)
{
    return (ptrdiff_t)v->step * v->conv.c;
}

#endif
