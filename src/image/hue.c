/* The hue of an image: Pillow's conversion to HSV and back, with its roundings. */
#include <stdlib.h>

#include "image/enhance.h"

static int min_of(int a, int b)
{
    return a < b ? a : b;
}

static int max_int(int a, int b)
{
    return a > b ? a : b;
}

/* Rounds a number of at least 0. */
static int nearest(double v)
{
    return (int)(v + 0.5);
}

/* Returns the hue, 0 to 255; the pixel is not gray. */
static int hue_of(const uint8_t *p, int hi, int lo)
{
    float c = (float)(hi - lo), r = (float)(hi - p[0]) / c, g = (float)(hi - p[1]) / c,
          b = (float)(hi - p[2]) / c, h;
    double turns;

    if (p[0] == hi)
        h = b - g;
    else if (p[1] == hi)
        h = (float)(2.0 + (double)r - (double)b);
    else
        h = (float)(4.0 + (double)g - (double)r);
    turns = (double)h / 6.0 + 1.0; /* at least 0, below 2 */
    h = (float)(turns < 1 ? turns : turns - 1);
    return min_of((int)((double)h * 255.0), 255);
}

/* Sets the pixel to a hue and a saturation, 1 to 255, and a value. */
static void set_hue(uint8_t *dst, int hue, int saturation, int value)
{
    float h = (float)((double)(float)hue * 6.0 / 255.0);
    float s = (float)((double)(float)saturation / 255.0), f, v = (float)value;
    int sector = (int)h, p, q, t;

    f = h - (float)sector;
    p = nearest((double)v * (1.0 - (double)s));
    q = nearest((double)v * (1.0 - (double)(s * f)));
    t = nearest((double)v * (1.0 - (double)s * (1.0 - (double)f)));
    const int rgb[6][3] = {{value, t, p}, {q, value, p}, {p, value, t},
                           {p, q, value}, {t, p, value}, {value, p, q}};
    for (int c = 0; c < 3; c++)
        dst[c] = (uint8_t)rgb[sector % 6][c];
}

void enhance_hue(uint8_t *rgb, size_t n, double shift)
{
    int delta = (int)(shift * 255);

    for (size_t i = 0; i < n; i++, rgb += 3) {
        int hi = max_int(max_int(rgb[0], rgb[1]), rgb[2]);
        int lo = min_of(min_of(rgb[0], rgb[1]), rgb[2]), saturation;

        if (hi == lo)
            continue;
        saturation = min_of((int)((double)((float)(hi - lo) / (float)hi) * 255.0), 255);
        if (saturation)
            set_hue(rgb, (hue_of(rgb, hi, lo) + delta) & 255, saturation, hi);
        else
            rgb[0] = rgb[1] = rgb[2] = (uint8_t)hi;
    }
}
