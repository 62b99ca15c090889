#include "image/blur.h"

#include <math.h>
#include <string.h>

#include "base/clones.h"
#include "image/pad_crop.h"

enum { RADIUS = 200 }; /* of sigma 50 */

/* Fills weights of -r to r; returns r. */
static int blur_kernel(double sigma, float weight[2 * RADIUS + 1])
{
    int r = (int)(4 * sigma + 0.5);
    double sum = 0;

    r = r < RADIUS ? r : RADIUS;
    for (int i = -r; i <= r; i++)
        sum += exp(-0.5 * (i / sigma) * (i / sigma));
    for (int i = -r; i <= r; i++)
        weight[r + i] = (float)(exp(-0.5 * (i / sigma) * (i / sigma)) / sum);
    return r;
}

#if !defined(__clang__)
#pragma GCC optimize("O3") /* loops that the compiler turns into vectors */
#endif

/* Adds f times n bytes. */
CLONES static void blur_add_bytes(float *restrict end, const uint8_t *restrict begin,
                                  ptrdiff_t n, float f)
{
    for (ptrdiff_t i = 0; i < n; i++)
        end[i] += f * (float)begin[i];
}

CLONES static void blur_add(float *restrict end, const float *restrict begin, ptrdiff_t n,
                            float f)
{
    for (ptrdiff_t i = 0; i < n; i++)
        end[i] += f * begin[i];
}

/* Rounds to the nearest byte; a sum of positive weights stays in 0 to 255. */
static void blur_round(uint8_t *dst, const float *src, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++)
        dst[i] = (uint8_t)lrintf(src[i] < 255 ? src[i] : 255);
}

void blur_gaussian(struct policy_canvas *c, double sigma)
{
    float weight[2 * RADIUS + 1], *row, *sum;
    ptrdiff_t stride = 3 * (ptrdiff_t)c->w;
    int r = sigma > 0 ? blur_kernel(sigma, weight) : 0;

    if (r == 0)
        return;
    memcpy(c->scratch, c->pixel, (size_t)stride * (size_t)c->h);
    sum = warp_canvas_reserve(c->warp,
                              sizeof(float) * ((size_t)stride * 2 + 6 * (size_t)r));
    row = sum + stride;
    for (int y = 0; y < c->h; y++) {
        float *middle = row + 3 * (ptrdiff_t)r;

        memset(middle, 0, (size_t)stride * sizeof(*row));
        for (int k = -r; k <= r; k++)
            blur_add_bytes(middle,
                           c->scratch + stride * pad_source(PAD_REFLECT, y + k, c->h),
                           stride, weight[r + k]);
        for (int x = -r; x < c->w + r; x++)
            if (x < 0 || x >= c->w)
                memcpy(middle + 3 * (ptrdiff_t)x,
                       middle + 3 * (ptrdiff_t)pad_source(PAD_REFLECT, x, c->w),
                       3 * sizeof(*row));
        memset(sum, 0, (size_t)stride * sizeof(*sum));
        for (int k = -r; k <= r; k++)
            blur_add(sum, middle + 3 * (ptrdiff_t)k, stride, weight[r + k]);
        blur_round(c->pixel + stride * y, sum, stride);
    }
}
