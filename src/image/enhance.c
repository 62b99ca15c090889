#include "image/enhance.h"

#include <math.h>
#include <string.h>

#include "base/clones.h"

#if !defined(__clang__)
#pragma GCC optimize("O3") /* loops that the compiler turns into vectors */
#endif

/* augment_blend() for finite, small values. */
static inline __attribute__((always_inline)) uint8_t enhance_blend(int d, int x, float f)
{
    float v = (float)d + f * (float)(x - d);

    v = v > 0 ? v : 0;
    v = v < 255 ? v : 255;
    return (uint8_t)(int)v;
}

/* Applies one table per channel. */
static void enhance_lookup3(uint8_t *rgb, size_t n, uint8_t table[3][256])
{
    for (size_t i = 0; i < n; i++, rgb += 3) {
        rgb[0] = table[0][rgb[0]];
        rgb[1] = table[1][rgb[1]];
        rgb[2] = table[2][rgb[2]];
    }
}

CLONES static void enhance_towards(uint8_t *rgb, size_t n, int d, float f)
{
    for (size_t i = 0; i < 3 * n; i++)
        rgb[i] = enhance_blend(d, rgb[i], f);
}

void enhance_brightness(uint8_t *rgb, size_t n, float f)
{
    enhance_towards(rgb, n, 0, f);
}

/* For at most 2^24 pixels. */
CLONES static uint32_t enhance_sum(const uint8_t *rgb, size_t n)
{
    uint32_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (uint32_t)enhance_gray(rgb + 3 * i);
    return sum;
}

void enhance_contrast(uint8_t *rgb, size_t n, float f)
{
    enum { BLOCK = 1 << 24 };
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i += BLOCK)
        sum += enhance_sum(rgb + 3 * i, n - i < BLOCK ? n - i : BLOCK);
    enhance_towards(rgb, n, augment_mean(sum, n), f);
}

CLONES void enhance_color(uint8_t *rgb, size_t n, float f)
{
    for (size_t i = 0; i < n; i++) {
        int gray = enhance_gray(rgb + 3 * i);
        uint8_t r = enhance_blend(gray, rgb[3 * i], f);
        uint8_t g = enhance_blend(gray, rgb[3 * i + 1], f);
        uint8_t b = enhance_blend(gray, rgb[3 * i + 2], f);

        rgb[3 * i] = r;
        rgb[3 * i + 1] = g;
        rgb[3 * i + 2] = b;
    }
}

/* Sharpens n bytes of a row: blends away by f from [1 1 1; 1 5 1; 1 1 1] / 13, rounded. */
CLONES static void enhance_sharpen(uint8_t *restrict dst, const uint8_t *restrict p,
                                   ptrdiff_t stride, ptrdiff_t n, float f)
{
    const uint8_t *up = p - stride, *down = p + stride;

    for (ptrdiff_t i = 0; i < n; i++) {
        uint32_t sum = 4u * p[i];

        sum += (uint32_t)(up[i - 3] + up[i] + up[i + 3]);
        sum += (uint32_t)(p[i - 3] + p[i] + p[i + 3]);
        sum += (uint32_t)(down[i - 3] + down[i] + down[i + 3]);
        /* / 26: exact below 2^18 */
        dst[i] = enhance_blend((int)((2 * sum + 13) * 20165 >> 19), p[i], f);
    }
}

/* Pixels at the edge stay. */
void enhance_sharpness(uint8_t *rgb, int w, int h, float f, uint8_t *scratch)
{
    ptrdiff_t stride = (ptrdiff_t)w * 3;

    memcpy(scratch, rgb, (size_t)stride * (size_t)h);
    for (int y = 1; y < h - 1 && w > 2; y++)
        enhance_sharpen(rgb + y * stride + 3, scratch + y * stride + 3, stride,
                        stride - 6, f);
}

/* Counts even and odd pixels separately: two equal neighbors would otherwise wait for
 * each other. */
static void enhance_histogram(const uint8_t *rgb, size_t n, uint32_t h[3][256])
{
    uint32_t odd[3][256] = {0};

    memset(h, 0, sizeof(uint32_t[3][256]));
    for (size_t i = 0; i < n; i++) {
        uint32_t(*count)[256] = i % 2 ? odd : h;

        for (int c = 0; c < 3; c++)
            count[c][rgb[3 * i + (size_t)c]]++;
    }
    for (int c = 0; c < 3; c++)
        for (int v = 0; v < 256; v++)
            h[c][v] += odd[c][v];
}

/* int(x s - lo s), s = 255 / (hi - lo), clipped */
static void enhance_stretch(const uint32_t h[256], uint8_t table[256])
{
    int lo = 0, hi = 255;
    double scale, offset;

    while (lo < 255 && !h[lo])
        lo++;
    while (hi > 0 && !h[hi])
        hi--;
    scale = hi > lo ? 255.0 / (hi - lo) : 1;
    offset = hi > lo ? -lo * scale : 0;
    for (int x = 0; x < 256; x++) {
        int v = (int)(x * scale + offset);

        table[x] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
    }
}

void enhance_autocontrast(uint8_t *rgb, size_t n)
{
    uint32_t h[3][256];
    uint8_t table[3][256];

    enhance_histogram(rgb, n, h);
    for (int c = 0; c < 3; c++)
        enhance_stretch(h[c], table[c]);
    enhance_lookup3(rgb, n, table);
}

/* step = (pixels - count of the highest used value) / 255; lut = running count / step */
static void enhance_flatten(const uint32_t h[256], size_t n, uint8_t table[256])
{
    int hi = 255, used = 0;
    uint64_t step, sum;

    while (hi > 0 && !h[hi])
        hi--;
    for (int x = 0; x < 256; x++)
        used += h[x] != 0;
    step = (n - h[hi]) / 255;
    sum = step / 2;
    for (int x = 0; x < 256; x++) {
        uint64_t v = used > 1 && step ? sum / step : (uint64_t)x;

        table[x] = (uint8_t)(v > 255 ? 255 : v);
        sum += h[x];
    }
}

void enhance_equalize(uint8_t *rgb, size_t n)
{
    uint32_t h[3][256];
    uint8_t table[3][256];

    enhance_histogram(rgb, n, h);
    for (int c = 0; c < 3; c++)
        enhance_flatten(h[c], n, table[c]);
    enhance_lookup3(rgb, n, table);
}

CLONES void enhance_invert(uint8_t *rgb, size_t n)
{
    for (size_t i = 0; i < 3 * n; i++)
        rgb[i] = (uint8_t)~rgb[i];
}

CLONES void enhance_solarize(uint8_t *rgb, size_t n, int threshold)
{
    uint8_t least = (uint8_t)(threshold < 0 ? 0 : threshold);

    if (threshold > 255)
        return;
    for (size_t i = 0; i < 3 * n; i++)
        rgb[i] = (uint8_t)(rgb[i] >= least ? ~rgb[i] : rgb[i]);
}

CLONES void enhance_solarize_add(uint8_t *rgb, size_t n, int add, int threshold)
{
    for (size_t i = 0; i < 3 * n; i++) {
        int more = rgb[i] + add;

        more = more < 255 ? more : 255;
        rgb[i] = (uint8_t)(rgb[i] < threshold ? more : rgb[i]);
    }
}

CLONES void enhance_posterize(uint8_t *rgb, size_t n, int bits)
{
    uint8_t mask = (uint8_t)(bits >= 8 ? 0xffu : 0xffu & ~((1u << (8 - bits)) - 1));

    for (size_t i = 0; i < 3 * n; i++)
        rgb[i] &= mask;
}
