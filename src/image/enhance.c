#include "image/enhance.h"

#include <math.h>
#include <string.h>

/* One table for all channels. */
static void enhance_lookup(uint8_t *rgb, size_t n, const uint8_t table[256])
{
    for (size_t i = 0; i < 3 * n; i++)
        rgb[i] = table[rgb[i]];
}

/* One table per channel. */
static void enhance_lookup3(uint8_t *rgb, size_t n, uint8_t table[3][256])
{
    for (size_t i = 0; i < n; i++, rgb += 3) {
        rgb[0] = table[0][rgb[0]];
        rgb[1] = table[1][rgb[1]];
        rgb[2] = table[2][rgb[2]];
    }
}

static void enhance_towards(uint8_t *rgb, size_t n, int d, float f)
{
    uint8_t table[256];

    for (int x = 0; x < 256; x++)
        table[x] = augment_blend(d, x, f);
    enhance_lookup(rgb, n, table);
}

void enhance_brightness(uint8_t *rgb, size_t n, float f)
{
    enhance_towards(rgb, n, 0, f);
}

void enhance_contrast(uint8_t *rgb, size_t n, float f)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (uint64_t)enhance_grey(rgb + 3 * i);
    enhance_towards(rgb, n, augment_mean(sum, n), f);
}

void enhance_color(uint8_t *rgb, size_t n, float f)
{
    for (size_t i = 0; i < n; i++, rgb += 3) {
        int grey = enhance_grey(rgb);

        for (int c = 0; c < 3; c++)
            rgb[c] = augment_blend(grey, rgb[c], f);
    }
}

/* [1 1 1; 1 5 1; 1 1 1] / 13, rounded. */
static uint8_t enhance_smooth(const uint8_t *p, size_t stride)
{
    int sum = 4 * p[0];

    for (int y = -1; y <= 1; y++)
        for (int x = -3; x <= 3; x += 3)
            sum += p[y * (ptrdiff_t)stride + x];
    return (uint8_t)((2 * sum + 13) / 26);
}

void enhance_sharpness(uint8_t *rgb, int w, int h, float f, uint8_t *scratch)
{
    size_t stride = (size_t)w * 3;

    memcpy(scratch, rgb, stride * (size_t)h);
    for (int y = 0; y < h; y++)
        for (size_t x = 0; x < stride; x++) {
            const uint8_t *p = scratch + (size_t)y * stride + x;
            int edge = y == 0 || y == h - 1 || x < 3 || x >= stride - 3;

            rgb[(size_t)y * stride + x] =
                augment_blend(edge ? *p : enhance_smooth(p, stride), *p, f);
        }
}

static void enhance_histogram(const uint8_t *rgb, size_t n, uint32_t h[3][256])
{
    memset(h, 0, sizeof(uint32_t[3][256]));
    for (size_t i = 0; i < n; i++)
        for (int c = 0; c < 3; c++)
            h[c][rgb[3 * i + (size_t)c]]++;
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

void enhance_invert(uint8_t *rgb, size_t n)
{
    for (size_t i = 0; i < 3 * n; i++)
        rgb[i] = (uint8_t)(255 - rgb[i]);
}

void enhance_solarize(uint8_t *rgb, size_t n, int threshold)
{
    for (size_t i = 0; i < 3 * n; i++)
        rgb[i] = (uint8_t)(rgb[i] >= threshold ? 255 - rgb[i] : rgb[i]);
}

void enhance_solarize_add(uint8_t *rgb, size_t n, int add, int threshold)
{
    for (size_t i = 0; i < 3 * n; i++)
        if (rgb[i] < threshold)
            rgb[i] = (uint8_t)(rgb[i] + add > 255 ? 255 : rgb[i] + add);
}

void enhance_posterize(uint8_t *rgb, size_t n, int bits)
{
    unsigned mask = bits >= 8 ? 0xffu : 0xffu & ~((1u << (8 - bits)) - 1);

    for (size_t i = 0; i < 3 * n; i++)
        rgb[i] = (uint8_t)(rgb[i] & mask);
}
