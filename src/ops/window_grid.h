/*
 * Windows that tile a map of tokens, for host and device. The map is rolled (row y of the
 * rolled map is row (y + roll_h) mod height), then padded: pad_top rows above, and below
 * up to whole windows; same for columns. Windows are numbered row by row, and so are the
 * tokens of a window.
 *
 * Swin rolls and pads below (Liu et al. 2021, arXiv 2103.14030); Swin-MLP pads on all
 * sides and does not roll.
 */
#ifndef OPS_WINDOW_GRID_H
#define OPS_WINDOW_GRID_H

#include "base/hostdev.h"

struct window_grid {
    int height, width; /* of the map */
    int window_h, window_w;
    int roll_h, roll_w;    /* less than the map */
    int pad_top, pad_left; /* less than a window */
    int rows, columns;     /* of windows */
};

HOST_DEVICE static inline int window_grid_tokens(const struct window_grid *g)
{
    return g->window_h * g->window_w;
}

HOST_DEVICE static inline int window_grid_windows(const struct window_grid *g)
{
    return g->rows * g->columns;
}

/* Returns the row of a token on the padded map. */
HOST_DEVICE static inline int window_grid_row(const struct window_grid *g, int window,
                                              int token)
{
    return window / g->columns * g->window_h + token / g->window_w;
}

HOST_DEVICE static inline int window_grid_column(const struct window_grid *g, int window,
                                                 int token)
{
    return window % g->columns * g->window_w + token % g->window_w;
}

/* Returns the pixel of a token on the map, y * width + x; -1: padding. */
HOST_DEVICE static inline int window_grid_pixel(const struct window_grid *g, int window,
                                                int token)
{
    int y = window_grid_row(g, window, token) - g->pad_top;
    int x = window_grid_column(g, window, token) - g->pad_left;

    if (y < 0 || y >= g->height || x < 0 || x >= g->width)
        return -1;
    y += g->roll_h;
    x += g->roll_w;
    return (y < g->height ? y : y - g->height) * g->width +
           (x < g->width ? x : x - g->width);
}

/*
 * Tokens of one window that are neighbors only because of the roll have different
 * regions. The cut is roll_h rows before the end of the padded map, as in timm and
 * Microsoft's code.
 */
HOST_DEVICE static inline int window_grid_region(const struct window_grid *g, int window,
                                                 int token)
{
    int y = window_grid_row(g, window, token);
    int x = window_grid_column(g, window, token);

    return 2 * (y >= g->rows * g->window_h - g->roll_h) +
           (x >= g->columns * g->window_w - g->roll_w);
}

/* True if tokens of this window have different regions. */
HOST_DEVICE static inline int window_grid_divided(const struct window_grid *g, int window)
{
    return (g->roll_h && window / g->columns == g->rows - 1) ||
           (g->roll_w && window % g->columns == g->columns - 1);
}

/* Returns the rows of a table with one row per offset between two tokens of a window. */
HOST_DEVICE static inline int window_grid_offsets(const struct window_grid *g)
{
    return (2 * g->window_h - 1) * (2 * g->window_w - 1);
}

/* Returns the row of that table for query i and key j. */
HOST_DEVICE static inline int window_grid_offset(const struct window_grid *g, int i,
                                                 int j)
{
    int y = i / g->window_w - j / g->window_w + g->window_h - 1;
    int x = i % g->window_w - j % g->window_w + g->window_w - 1;

    return y * (2 * g->window_w - 1) + x;
}

#endif
