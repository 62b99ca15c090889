#include "tests/image/image_formula.h"

static uint8_t formula_pixel(int x, int y, int c)
{
    int v = (x * 7 + y * 13 + c * 50) & 255;

    if ((x / 5 + y / 3) % 2)
        v = 255 - v;
    if ((x * 31 + y * 17 + c * 7) % 11 == 0)
        v = (x * x * 3 + y * y * 5 + c * 101) & 255;
    return (uint8_t)v;
}

void image_formula(struct image *img, int w, int h)
{
    image_resize_reserve(img, w, h);
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            for (int c = 0; c < 3; c++)
                img->pixel[(y * w + x) * 3 + c] = formula_pixel(x, y, c);
}
