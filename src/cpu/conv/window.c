#include "cpu/conv/window.h"

static void add_tap(struct conv_window *v, int y, int x, int index)
{
    v->tap[v->taps++] = (struct conv_tap){y, x, index};
}

struct conv_window conv_window_forward(const struct conv_shape *s, int span)
{
    struct conv_window v = {
        .n = s->n,
        .h = s->h,
        .w = s->w,
        .c = s->c,
        .rows = s->ho,
        .cols = s->wo,
        .channels = s->k,
        .step_h = s->stride_h,
        .step_w = s->stride_w,
        .image = (ptrdiff_t)s->ho * s->wo,
        .row = s->wo,
        .col = 1,
    };

    for (int r = 0; r < s->kernel_h; r++)
        for (int c = 0; c < s->kernel_w; c += span)
            add_tap(&v, r * s->dilation_h - s->pad_h, c * s->dilation_w - s->pad_w,
                    v.taps);
    return v;
}

/* dx[y] = sum of dy[(y + pad - r dilation) / stride] where that is an integer. */
struct conv_window conv_window_data_grad(const struct conv_shape *s, int py, int px)
{
    struct conv_window v = {
        .n = s->n,
        .h = s->ho,
        .w = s->wo,
        .c = s->k,
        .rows = (s->h - py + s->stride_h - 1) / s->stride_h,
        .cols = (s->w - px + s->stride_w - 1) / s->stride_w,
        .channels = s->c,
        .step_h = 1,
        .step_w = 1,
        .image = (ptrdiff_t)s->h * s->w,
        .row = (ptrdiff_t)s->stride_h * s->w,
        .col = s->stride_w,
        .first = (ptrdiff_t)py * s->w + px,
    };

    if (py >= s->h || px >= s->w)
        v.rows = v.cols = 0;
    for (int r = 0; r < s->kernel_h; r++)
        for (int c = 0; c < s->kernel_w; c++) {
            int y = py + s->pad_h - r * s->dilation_h;
            int x = px + s->pad_w - c * s->dilation_w;

            if (y % s->stride_h == 0 && x % s->stride_w == 0)
                add_tap(&v, y / s->stride_h, x / s->stride_w, r * s->kernel_w + c);
        }
    return v;
}
