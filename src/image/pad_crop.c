#include "image/pad_crop.h"

#include <string.h>

int pad_source(enum pad_mode mode, int pos, int n)
{
    int64_t period = mode == PAD_REFLECT ? 2 * ((int64_t)n - 1) : 2 * (int64_t)n, i;

    if (pos >= 0 && pos < n)
        return pos;
    if (mode == PAD_CONSTANT)
        return -1;
    if (mode == PAD_EDGE || n == 1)
        return pos < 0 ? 0 : n - 1;
    i = pos % period;
    i = i < 0 ? i + period : i;
    if (i < n)
        return (int)i;
    return (int)(mode == PAD_REFLECT ? period - i : period - 1 - i);
}

static void pad_crop_mirror(uint8_t *dst, const uint8_t *src, int n)
{
    for (int i = 0; i < n; i++)
        memcpy(dst + 3 * (ptrdiff_t)i, src + 3 * (ptrdiff_t)(n - 1 - i), 3);
}

/* Computes columns [from, to) of the crop one by one. */
static void pad_crop_outside(const struct pad_crop *c, const uint8_t *row, int w,
                             int begin, int end, uint8_t *dst)
{
    for (int i = begin; i < end; i++) {
        uint8_t *p = dst + 3 * (ptrdiff_t)(c->flip ? c->w - 1 - i : i);
        int s = pad_source(c->mode, c->x + i, w);

        if (s < 0)
            memset(p, 0, 3);
        else
            memcpy(p, row + 3 * (ptrdiff_t)s, 3);
    }
}

/* Computes one row of the crop from a row of w pixels, which covers columns [lo, hi). */
static void pad_crop_row(const struct pad_crop *c, const uint8_t *row, int w,
                         uint8_t *dst)
{
    int lo = c->x < 0 ? -c->x : 0, hi = w - c->x < c->w ? w - c->x : c->w;

    lo = lo < c->w ? lo : c->w;
    hi = hi > lo ? hi : lo;
    pad_crop_outside(c, row, w, 0, lo, dst);
    pad_crop_outside(c, row, w, hi, c->w, dst);
    if (hi == lo)
        return;
    if (c->flip)
        pad_crop_mirror(dst + 3 * (ptrdiff_t)(c->w - hi),
                        row + 3 * (ptrdiff_t)(c->x + lo), hi - lo);
    else
        memcpy(dst + 3 * (ptrdiff_t)lo, row + 3 * (ptrdiff_t)(c->x + lo),
               (size_t)(hi - lo) * 3);
}

void pad_crop(const struct image *img, const struct pad_crop *c, uint8_t *dst)
{
    for (int i = 0; i < c->h; i++, dst += (size_t)c->w * 3) {
        int s = pad_source(c->mode, c->y + i, img->h);

        if (s < 0)
            memset(dst, 0, (size_t)c->w * 3);
        else
            pad_crop_row(c, img->pixel + (size_t)s * img->stride, img->w, dst);
    }
}
