#include "cpu/conv/amx_window.h"

#include <string.h>

enum { SLACK = 64 }; /* positions that may be read past the last one */

static void plan_copy(struct amx_window *v)
{
    int right, end, need;

    v->top = v->left = v->reach = 0;
    right = v->span - 1;
    for (int t = 0; t < v->conv.taps; t++) {
        const struct conv_tap *tap = &v->conv.tap[t];

        if (!t || tap->y < v->top)
            v->top = tap->y;
        if (!t || tap->x < v->left)
            v->left = tap->x;
        if (!t || tap->x + v->span - 1 > right)
            right = tap->x + v->span - 1;
    }
    for (int t = 0; t < v->conv.taps; t++)
        if (v->conv.tap[t].y - v->top > v->reach)
            v->reach = v->conv.tap[t].y - v->top;

    if (v->left == right) { /* only the columns that are read */
        v->column = v->conv.step_w;
        v->step = 1;
        v->pitch = v->conv.cols;
        v->plain = v->conv.step_h == 1 && v->conv.step_w == 1 && v->left == 0 &&
                   v->conv.cols == v->conv.w && v->reads * v->groups == v->conv.c;
        return;
    }
    v->column = 1;
    v->step = v->conv.step_w;
    need = (v->conv.cols - 1) * v->conv.step_w + right - v->left + 1;
    end = v->conv.w - v->left < need ? v->conv.w - v->left : need;
    if (v->left < 0)
        need += v->left; /* the next row's border is the rest */
    if (need < end)
        need = end;
    v->pitch = (need + v->conv.step_w - 1) / v->conv.step_w;
    if (v->pitch < v->conv.cols)
        v->pitch = v->conv.cols;
}

struct amx_window amx_window_forward(const struct conv_shape *s)
{
    struct amx_reach reach = amx_reach(s);
    struct amx_window v = {
        .conv = conv_window_forward(s, reach.span),
        .groups = conv_groups(s),
        .span = reach.span,
        .reads = reach.channels,
        .packed = reach.taps,
        .joined = true,
    };

    plan_copy(&v);
    return v;
}

struct amx_window amx_window_data_grad(const struct conv_shape *s, int py, int px)
{
    struct amx_window v = {
        .conv = conv_window_data_grad(s, py, px),
        .groups = conv_groups(s),
        .span = 1,
        .reads = s->k / conv_groups(s),
        .packed = s->kernel_h * s->kernel_w,
        .joined = s->h % s->stride_h == 0,
    };

    plan_copy(&v);
    return v;
}

int amx_window_plane(const struct amx_window *v, int rows)
{
    return ((rows - 1) * v->conv.step_h + v->reach) / v->conv.step_h + 1;
}

static size_t row_len(const struct amx_window *v)
{
    return (size_t)v->pitch * (size_t)amx_window_step(v);
}

/* Zeros after a plane: the border of its last row, and the reach of the last tap. */
static size_t tail_len(const struct amx_window *v)
{
    return (size_t)(v->left < 0 ? -v->left : 0) * (size_t)v->conv.c + (size_t)v->reads;
}

size_t amx_window_copied(const struct amx_window *v, int rows)
{
    return (size_t)(v->conv.step_h * amx_window_plane(v, rows)) * row_len(v) +
           tail_len(v) + (size_t)(SLACK * amx_window_step(v));
}

int amx_window_band(const struct amx_window *v, size_t bytes)
{
    int rows = v->conv.rows;

    while (rows > 1 && amx_window_copied(v, rows) * sizeof(uint16_t) > bytes)
        rows = (rows + 1) / 2;
    return rows;
}

ptrdiff_t amx_window_tap(const struct amx_window *v, const struct conv_tap *t, int rows)
{
    int down = t->y - v->top, right = v->column == 1 ? t->x - v->left : 0;

    return (ptrdiff_t)(down % v->conv.step_h * amx_window_plane(v, rows) +
                       down / v->conv.step_h) *
               (ptrdiff_t)row_len(v) +
           (ptrdiff_t)right * v->conv.c;
}

static bool phase_read(const struct amx_window *v, int phase)
{
    for (int t = 0; t < v->conv.taps; t++)
        if ((v->conv.tap[t].y - v->top) % v->conv.step_h == phase)
            return true;
    return false;
}

/* Copies row y of the image, which may be outside, with its borders. */
static void copy_row(const struct amx_window *v, const uint16_t *image, int y,
                     uint16_t *dst)
{
    int width = v->pitch * v->step, c = v->conv.c;
    /* copied columns [lo, hi) are inside the image */
    int lo = v->left < 0 ? (-v->left + v->column - 1) / v->column : 0;
    int hi = (v->conv.w - v->left + v->column - 1) / v->column;
    size_t pixel = (size_t)c * sizeof(*dst);

    if (hi > width)
        hi = width;
    if (y < 0 || y >= v->conv.h || lo >= hi) {
        memset(dst, 0, (size_t)width * pixel);
        return;
    }
    image += ((ptrdiff_t)y * v->conv.w + v->left) * c;
    memset(dst, 0, (size_t)lo * pixel);
    if (v->column == 1)
        memcpy(dst + (ptrdiff_t)lo * c, image + (ptrdiff_t)lo * c,
               (size_t)(hi - lo) * pixel);
    else
        for (int x = lo; x < hi; x++)
            memcpy(dst + (ptrdiff_t)x * c, image + (ptrdiff_t)x * v->column * c, pixel);
    memset(dst + (ptrdiff_t)hi * c, 0, (size_t)(width - hi) * pixel);
}

void amx_window_copy(const struct amx_window *v, const uint16_t *image, int y, int rows,
                     uint16_t *dst)
{
    int count = amx_window_plane(v, rows);

    for (int phase = 0; phase < v->conv.step_h; phase++) {
        uint16_t *plane = dst + (size_t)(phase * count) * row_len(v);

        if (!phase_read(v, phase))
            continue;
        for (int i = 0; i < count; i++)
            copy_row(v, image, (y + i) * v->conv.step_h + v->top + phase,
                     plane + (size_t)i * row_len(v));
        memset(plane + (size_t)count * row_len(v), 0, tail_len(v) * sizeof(*dst));
    }
}
