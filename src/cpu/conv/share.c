#include "cpu/conv/share.h"

#include "cpu/conv/conv.h"

enum {
    SMALL = 1 << 20, /* bytes */
    ROWS = 16,
    COLS = 32,
};

struct conv_share conv_share_of(int rows, int cols, size_t bytes, int threads)
{
    struct conv_share h = {threads > 1 && bytes <= SMALL, rows, cols, 1};
    int units = round_up(cols, COLS) / COLS, row_parts;

    if (h.by_result || threads == 1)
        return h;
    h.side = min_int(threads, units);
    h.cols = (units + h.side - 1) / h.side * COLS;
    row_parts = min_int(threads / h.side, round_up(rows, ROWS) / ROWS);
    h.rows = round_up((rows + row_parts - 1) / row_parts, ROWS);
    return h;
}

struct conv_part conv_share_part(const struct conv_share *h, int rows, int cols,
                                 int thread)
{
    struct conv_part p = {0, rows, 0, cols};

    if (h->by_result)
        return p;
    p.row = thread / h->side * h->rows;
    p.col = thread % h->side * h->cols;
    p.rows = p.row < rows ? min_int(rows - p.row, h->rows) : 0;
    p.cols = p.col < cols ? min_int(cols - p.col, h->cols) : 0;
    return p;
}
