#include "image/warp.h"

#include <math.h>
#include <string.h>

/* The three channels of a pixel and an unused one. */
typedef float warp_v4 __attribute__((vector_size(16)));

struct warp_source {
    const uint8_t *pixel;
    int w, h;
};

static inline int warp_clip(int v, int n)
{
    return v < 0 ? 0 : v >= n ? n - 1 : v;
}

static inline warp_v4 warp_load(const uint8_t *row, int x)
{
    const uint8_t *p = row + 3 * x;

    return (warp_v4){p[0], p[1], p[2], 0};
}

static inline const uint8_t *warp_row(const struct warp_source *s, int y)
{
    return s->pixel + (size_t)warp_clip(y, s->h) * (size_t)s->w * 3;
}

static inline void warp_store(uint8_t *dst, warp_v4 v)
{
    for (int c = 0; c < 3; c++)
        dst[c] = (uint8_t)(v[c] <= 0 ? 0 : v[c] >= 255 ? 255 : (int)v[c]);
}

/* (x, y): the input position less half a pixel */
static void warp_bilinear(const struct warp_source *s, float x, float y, uint8_t *dst)
{
    int x0 = (int)floorf(x), y0 = (int)floorf(y);
    float dx = x - (float)x0, dy = y - (float)y0;
    int left = warp_clip(x0, s->w), right = warp_clip(x0 + 1, s->w);
    const uint8_t *a = warp_row(s, y0), *b = warp_row(s, y0 + 1);
    warp_v4 top = warp_load(a, left), bottom = warp_load(b, left);

    top += (warp_load(a, right) - top) * dx;
    bottom += (warp_load(b, right) - bottom) * dx;
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
    int x0 = (int)floorf(x), y0 = (int)floorf(y), at[4];
    float wx[4], wy[4];
    warp_v4 sum = {0};

    warp_cubic(x - (float)x0, wx);
    warp_cubic(y - (float)y0, wy);
    for (int k = 0; k < 4; k++)
        at[k] = warp_clip(x0 - 1 + k, s->w);
    for (int k = 0; k < 4; k++) {
        const uint8_t *row = warp_row(s, y0 - 1 + k);

        sum += (warp_load(row, at[0]) * wx[0] + warp_load(row, at[1]) * wx[1] +
                warp_load(row, at[2]) * wx[2] + warp_load(row, at[3]) * wx[3]) *
               wy[k];
    }
    warp_store(dst, sum);
}

void warp_affine(const uint8_t *src, uint8_t *dst, int w, int h, const double m[6],
                 enum warp_filter filter, const uint8_t fill[3])
{
    struct warp_source s = {src, w, h};

    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++, dst += 3) {
            double sx = m[0] * (x + 0.5) + m[1] * (y + 0.5) + m[2];
            double sy = m[3] * (x + 0.5) + m[4] * (y + 0.5) + m[5];

            if (!(sx >= 0 && sx < w && sy >= 0 && sy < h))
                memcpy(dst, fill, 3);
            else if (filter == WARP_BILINEAR)
                warp_bilinear(&s, (float)(sx - 0.5), (float)(sy - 0.5), dst);
            else
                warp_bicubic(&s, (float)(sx - 0.5), (float)(sy - 0.5), dst);
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
