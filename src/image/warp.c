#include "image/warp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clones.h"

/* The three channels of a pixel and a fourth, unused one. */
typedef float warp_v4 __attribute__((vector_size(16)));
typedef float warp_v16 __attribute__((vector_size(64))); /* four pixels */

enum { WARP_BORDER = 2 }; /* maximum pixels that bicubic reads beyond the edge */

struct warp_source {
    const warp_v4 *pixel; /* the image's corner, inside the border */
    ptrdiff_t stride;     /* in pixels */
};

void warp_canvas_release(struct warp_canvas *c)
{
    free(c->pixel);
    memset(c, 0, sizeof(*c));
}

static inline int warp_clip(int v, int n)
{
    return v < 0 ? 0 : v >= n ? n - 1 : v;
}

void *warp_canvas_reserve(struct warp_canvas *c, size_t need)
{
    if (need > c->cap) {
        free(c->pixel);
        c->pixel = xalloc_aligned(need);
        c->cap = need;
    }
    return c->pixel;
}

/* Converts the image to floats, with its outermost pixels repeated in the border. */
static struct warp_source warp_spread(struct warp_canvas *c, const uint8_t *rgb, int w,
                                      int h)
{
    ptrdiff_t stride = w + 2 * WARP_BORDER;
    size_t pixels = (size_t)stride * (size_t)(h + 2 * WARP_BORDER);
    warp_v4 *dst = warp_canvas_reserve(c, pixels * sizeof(*dst));

    for (int y = -WARP_BORDER; y < h + WARP_BORDER; y++) {
        const uint8_t *row = rgb + (size_t)warp_clip(y, h) * (size_t)w * 3;

        for (int x = -WARP_BORDER; x < w + WARP_BORDER; x++) {
            const uint8_t *p = row + 3 * (ptrdiff_t)warp_clip(x, w);

            *dst++ = (warp_v4){p[0], p[1], p[2], 0};
        }
    }
    dst = (warp_v4 *)c->pixel;
    return (struct warp_source){dst + WARP_BORDER * stride + WARP_BORDER, stride};
}

#if !defined(__clang__)
#pragma GCC optimize("O3") /* loops that the compiler turns into vectors */
#endif

#define WARP_INLINE static inline __attribute__((always_inline))

/* Interpolates between v2 and v3, d from v2, with Pillow's cubic of a = -1; floats or
 * vectors. */
#define WARP_CUBIC(v1, v2, v3, v4, d)                                                    \
    ((v2) + (d) * ((v3) - (v1) +                                                         \
                   (d) * (2.0f * ((v1) - (v2)) + (v3) - (v4) +                           \
                          (d) * ((v4) - (v3) + (v2) - (v1)))))
#define WARP_LINEAR(v2, v3, d) ((v2) + (d) * ((v3) - (v2)))

WARP_INLINE uint8_t warp_byte(float v)
{
    v = v > 0 ? v : 0;
    v = v < 255 ? v : 255;
    return (uint8_t)(int)v;
}

WARP_INLINE void warp_store(uint8_t *dst, warp_v4 v)
{
    for (int c = 0; c < 3; c++)
        dst[c] = warp_byte(v[c]);
}

/* floor(v) for v >= -1 */
WARP_INLINE int warp_floor(float v)
{
    return (int)(v + 1) - 1;
}

/* (x, y): the input position less half a pixel, at least -0.5 */
WARP_INLINE void warp_bilinear(const struct warp_source *s, float x, float y,
                               uint8_t *dst)
{
    int x0 = warp_floor(x), y0 = warp_floor(y);
    float dx = x - (float)x0, dy = y - (float)y0;
    const warp_v4 *p = s->pixel + y0 * s->stride + x0, *q = p + s->stride;
    warp_v4 top = WARP_LINEAR(p[0], p[1], dx), bottom = WARP_LINEAR(q[0], q[1], dx);

    warp_store(dst, WARP_LINEAR(top, bottom, dy));
}

/* Four rows of four pixels: along y in all of them at once, then along x. */
WARP_INLINE void warp_bicubic(const struct warp_source *s, float x, float y, uint8_t *dst)
{
    int x0 = warp_floor(x), y0 = warp_floor(y);
    const warp_v4 *p = s->pixel + (y0 - 1) * s->stride + x0 - 1;
    float dx = x - (float)x0, dy = y - (float)y0;
    warp_v16 row[4];
    warp_v4 v[4];

    for (int k = 0; k < 4; k++)
        memcpy(&row[k], p + k * s->stride, sizeof(row[k]));
    row[0] = WARP_CUBIC(row[0], row[1], row[2], row[3], dy);
    memcpy(v, &row[0], sizeof(v));
    warp_store(dst, WARP_CUBIC(v[0], v[1], v[2], v[3], dx));
}

/* (x, y): the input position; outside the image or NaN: fill. */
WARP_INLINE void warp_pixel(const struct warp_source *s, uint8_t *rgb, int w, int h,
                            double x, double y, enum warp_filter filter,
                            const uint8_t fill[3])
{
    if (!(x >= 0 && x < w && y >= 0 && y < h))
        memcpy(rgb, fill, 3);
    else if (filter == WARP_BILINEAR)
        warp_bilinear(s, (float)(x - 0.5), (float)(y - 0.5), rgb);
    else
        warp_bicubic(s, (float)(x - 0.5), (float)(y - 0.5), rgb);
}

CLONES static void warp_rows(const struct warp_source *s, uint8_t *rgb, int w, int h,
                             const double m[6], enum warp_filter filter,
                             const uint8_t fill[3])
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++, rgb += 3) {
            double sx = m[0] * (x + 0.5) + m[1] * (y + 0.5) + m[2];
            double sy = m[3] * (x + 0.5) + m[4] * (y + 0.5) + m[5];

            warp_pixel(s, rgb, w, h, sx, sy, filter, fill);
        }
}

CLONES static void warp_project_rows(const struct warp_source *s, uint8_t *rgb, int w,
                                     int h, const double m[9], enum warp_filter filter,
                                     const uint8_t fill[3])
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++, rgb += 3) {
            double u = x + 0.5, v = y + 0.5, d = m[6] * u + m[7] * v + m[8];

            warp_pixel(s, rgb, w, h, (m[0] * u + m[1] * v + m[2]) / d,
                       (m[3] * u + m[4] * v + m[5]) / d, filter, fill);
        }
}

/* Interpolates n bytes between those of v[1] and v[2]. */
CLONES static void warp_blend(uint8_t *restrict dst, const uint8_t *const v[4],
                              ptrdiff_t n, float d, enum warp_filter filter)
{
    const uint8_t *v0 = v[0], *v1 = v[1], *v2 = v[2], *v3 = v[3];

    if (filter == WARP_BILINEAR)
        for (ptrdiff_t i = 0; i < n; i++)
            dst[i] = warp_byte(WARP_LINEAR((float)v1[i], (float)v2[i], d));
    else
        for (ptrdiff_t i = 0; i < n; i++)
            dst[i] = warp_byte(
                WARP_CUBIC((float)v0[i], (float)v1[i], (float)v2[i], (float)v3[i], d));
}

/* The outputs [*lo, *hi) of n have their center inside the input, if output i comes from
 * i + shift. */
static void warp_inside(double shift, int n, int *lo, int *hi)
{
    double begin = ceil(-0.5 - shift), end = ceil(n - 0.5 - shift);

    *lo = (int)(begin < 0 ? 0 : begin > n ? n : begin);
    *hi = (int)(end < *lo ? *lo : end > n ? n : end);
}

static void warp_fill(uint8_t *rgb, int n, const uint8_t fill[3])
{
    for (int i = 0; i < n; i++)
        memcpy(rgb + 3 * (ptrdiff_t)i, fill, 3);
}

/* Shears along x: shifts row y by f (y + 0.5) + x. */
static void warp_along_x(struct warp_canvas *c, uint8_t *rgb, int w, int h, double f,
                         double x, enum warp_filter filter, const uint8_t fill[3])
{
    uint8_t *row = warp_canvas_reserve(c, (size_t)(w + 2 * WARP_BORDER) * 3);

    for (int y = 0; y < h; y++, rgb += 3 * (ptrdiff_t)w) {
        double shift = f * (y + 0.5) + x, whole = floor(shift);
        const uint8_t *v[4] = {NULL};
        int lo, hi;

        warp_inside(shift, w, &lo, &hi);
        for (int i = 0; i < WARP_BORDER; i++) {
            memcpy(row + 3 * i, rgb, 3);
            memcpy(row + 3 * (ptrdiff_t)(WARP_BORDER + w + i),
                   rgb + 3 * (ptrdiff_t)(w - 1), 3);
        }
        memcpy(row + (ptrdiff_t)3 * WARP_BORDER, rgb, (size_t)w * 3);
        warp_fill(rgb, lo, fill);
        for (int k = 0; k < 4 && lo < hi; k++)
            v[k] = row + 3 * (lo + (ptrdiff_t)whole + WARP_BORDER - 1 + k);
        if (lo < hi)
            warp_blend(rgb + 3 * (ptrdiff_t)lo, v, 3 * (ptrdiff_t)(hi - lo),
                       (float)(shift - whole), filter);
        warp_fill(rgb + 3 * (ptrdiff_t)hi, w - hi, fill);
    }
}

/* Shifts all rows by `shift` along y. */
static void warp_along_y(struct warp_canvas *c, uint8_t *rgb, int w, int h, double shift,
                         enum warp_filter filter, const uint8_t fill[3])
{
    size_t len = (size_t)w * 3;
    uint8_t *whole = warp_canvas_reserve(c, len * (size_t)h);
    int lo, hi, rows = (int)floor(shift);

    memcpy(whole, rgb, len * (size_t)h);
    warp_inside(shift, h, &lo, &hi);
    for (int y = 0; y < h; y++, rgb += len) {
        const uint8_t *v[4];

        for (int k = 0; k < 4; k++)
            v[k] = whole + (size_t)warp_clip(y + rows - 1 + k, h) * len;
        if (y < lo || y >= hi)
            warp_fill(rgb, w, fill);
        else
            warp_blend(rgb, v, (ptrdiff_t)len, (float)(shift - rows), filter);
    }
}

void warp_affine(struct warp_canvas *c, uint8_t *rgb, int w, int h, const double m[6],
                 enum warp_filter filter, const uint8_t fill[3])
{
    struct warp_source s;

    if (m[0] == 1 && m[3] == 0 && m[4] == 1 && m[5] == 0) {
        warp_along_x(c, rgb, w, h, m[1], m[2], filter, fill);
    } else if (m[0] == 1 && m[1] == 0 && m[2] == 0 && m[3] == 0 && m[4] == 1) {
        warp_along_y(c, rgb, w, h, m[5], filter, fill);
    } else {
        s = warp_spread(c, rgb, w, h);
        warp_rows(&s, rgb, w, h, m, filter, fill);
    }
}

void warp_projective(struct warp_canvas *c, uint8_t *rgb, int w, int h, const double m[9],
                     enum warp_filter filter, const uint8_t fill[3])
{
    struct warp_source s;

    if (m[6] == 0 && m[7] == 0 && m[8] == 1) {
        warp_affine(c, rgb, w, h, m, filter, fill);
        return;
    }
    s = warp_spread(c, rgb, w, h);
    warp_project_rows(&s, rgb, w, h, m, filter, fill);
}
