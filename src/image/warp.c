#include "image/warp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* The three channels of a pixel and an unused one. */
typedef float warp_v4 __attribute__((vector_size(16)));

enum { WARP_BORDER = 2 }; /* pixels that bicubic looks beyond the edge, at most */

struct warp_source {
    const warp_v4 *pixel; /* of the image's corner, inside the border */
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

/* The image as floats, its outermost pixels repeated into the border. */
static struct warp_source warp_spread(struct warp_canvas *c, const uint8_t *rgb, int w,
                                      int h)
{
    ptrdiff_t stride = w + 2 * WARP_BORDER;
    size_t need = (size_t)stride * (size_t)(h + 2 * WARP_BORDER) * sizeof(warp_v4);
    warp_v4 *to;

    if (need > c->cap) {
        free(c->pixel);
        c->pixel = xalloc_aligned(need);
        c->cap = need;
    }
    to = (warp_v4 *)c->pixel;
    for (int y = -WARP_BORDER; y < h + WARP_BORDER; y++) {
        const uint8_t *row = rgb + (size_t)warp_clip(y, h) * (size_t)w * 3;

        for (int x = -WARP_BORDER; x < w + WARP_BORDER; x++) {
            const uint8_t *p = row + 3 * (ptrdiff_t)warp_clip(x, w);

            *to++ = (warp_v4){p[0], p[1], p[2], 0};
        }
    }
    to = (warp_v4 *)c->pixel;
    return (struct warp_source){to + WARP_BORDER * stride + WARP_BORDER, stride};
}

static inline uint8_t warp_byte(float v)
{
    return (uint8_t)(v <= 0 ? 0 : v >= 255 ? 255 : (int)v);
}

static inline void warp_store(uint8_t *dst, warp_v4 v)
{
    for (int c = 0; c < 3; c++)
        dst[c] = warp_byte(v[c]);
}

/* floor(v) for v >= -1 */
static inline int warp_floor(float v)
{
    return (int)(v + 1) - 1;
}

/* (x, y): the input position less half a pixel, at least -0.5 */
static void warp_bilinear(const struct warp_source *s, float x, float y, uint8_t *dst)
{
    int x0 = warp_floor(x), y0 = warp_floor(y);
    float dx = x - (float)x0, dy = y - (float)y0;
    const warp_v4 *p = s->pixel + y0 * s->stride + x0, *q = p + s->stride;
    warp_v4 top = p[0] + (p[1] - p[0]) * dx, bottom = q[0] + (q[1] - q[0]) * dx;

    warp_store(dst, top + (bottom - top) * dy);
}

/* Weights of the pixels -1, 0, 1, 2 at distance d from pixel 0: the cubic with a = -1. */
static inline void warp_cubic(float d, float w[4])
{
    w[0] = d * (-1 + d * (2 - d));
    w[1] = 1 + d * d * (d - 2);
    w[2] = d * (1 + d * (1 - d));
    w[3] = d * d * (d - 1);
}

static void warp_bicubic(const struct warp_source *s, float x, float y, uint8_t *dst)
{
    int x0 = warp_floor(x), y0 = warp_floor(y);
    const warp_v4 *p = s->pixel + (y0 - 1) * s->stride + x0 - 1;
    float wx[4], wy[4];
    warp_v4 sum = {0};

    warp_cubic(x - (float)x0, wx);
    warp_cubic(y - (float)y0, wy);
    for (int k = 0; k < 4; k++, p += s->stride)
        sum += (p[0] * wx[0] + p[1] * wx[1] + p[2] * wx[2] + p[3] * wx[3]) * wy[k];
    warp_store(dst, sum);
}

void warp_affine(struct warp_canvas *c, uint8_t *rgb, int w, int h, const double m[6],
                 enum warp_filter filter, const uint8_t fill[3])
{
    struct warp_source s = warp_spread(c, rgb, w, h);

    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++, rgb += 3) {
            double sx = m[0] * (x + 0.5) + m[1] * (y + 0.5) + m[2];
            double sy = m[3] * (x + 0.5) + m[4] * (y + 0.5) + m[5];

            if (!(sx >= 0 && sx < w && sy >= 0 && sy < h))
                memcpy(rgb, fill, 3);
            else if (filter == WARP_BILINEAR)
                warp_bilinear(&s, (float)(sx - 0.5), (float)(sy - 0.5), rgb);
            else
                warp_bicubic(&s, (float)(sx - 0.5), (float)(sy - 0.5), rgb);
        }
}

static void warp_set(double m[6], const double v[6])
{
    memcpy(m, v, 6 * sizeof(*m));
}

void warp_shear_x(double m[6], double factor)
{
    warp_set(m, (const double[6]){1, factor, 0, 0, 1, 0});
}

void warp_shear_y(double m[6], double factor)
{
    warp_set(m, (const double[6]){1, 0, 0, factor, 1, 0});
}

void warp_translate(double m[6], double x, double y)
{
    warp_set(m, (const double[6]){1, 0, x, 0, 1, y});
}

void warp_rotate(double m[6], double degrees, int w, int h)
{
    double c = cos(-degrees * M_PI / 180), s = sin(-degrees * M_PI / 180);
    double cx = w / 2.0, cy = h / 2.0;

    warp_set(m,
             (const double[6]){c, s, cx - c * cx - s * cy, -s, c, cy + s * cx - c * cy});
}
