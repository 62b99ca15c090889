#include "train/paint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "base/error.h"
#include "dataset/dataset.h"
#include "image/encode.h"
#include "io/written.h"
#include "ops/confusion.h"

void paint_argmax(const float *logits, int64_t n, int k, uint8_t *label)
{
    for (int64_t i = 0; i < n; i++)
        label[i] = (uint8_t)confusion_class(logits + i * k, k);
}

void paint_palette(const struct class_set *set, uint8_t palette[256 * 3])
{
    int n = set ? set->n : LABEL_NONE;

    memset(palette, 0, 256 * 3);
    for (int c = 0; c < n; c++)
        class_set_color(set, c, palette + 3 * c);
}

void paint_labels(const struct paint *p, const struct class_set *set,
                  const uint8_t *label)
{
    uint8_t palette[256 * 3];

    paint_palette(set, palette);
    for (int y = 0; y < p->h; y++) {
        const uint8_t *row = label + (int64_t)(y / p->scale) * (p->w / p->scale);

        for (int x = 0; x < p->w; x++)
            memcpy(p->dst + y * p->stride + 3 * x, palette + 3 * row[x / p->scale], 3);
    }
}

void paint_overlay(const struct class_set *set, const uint8_t *rgb, const uint8_t *label,
                   int64_t n, uint8_t *dst)
{
    uint8_t palette[256 * 3];

    paint_palette(set, palette);
    for (int64_t i = 0; i < n; i++)
        for (int c = 0; c < 3; c++)
            dst[3 * i + c] =
                (uint8_t)(label[i] == LABEL_IGNORE
                              ? rgb[3 * i + c]
                              : (rgb[3 * i + c] + palette[3 * label[i] + c]) / 2);
}

void paint_write(const char *path, const uint8_t *pixel, int w, int h,
                 const uint8_t *palette)
{
    struct png_bitmap g = {.pixel = pixel,
                           .w = w,
                           .h = h,
                           .channels = palette ? 1 : 3,
                           .palette = palette,
                           .colors = palette ? 256 : 0,
                           .keyword = WRITTEN_KEYWORD,
                           .text = WRITTEN_TEXT};
    size_t len;
    unsigned char *png = png_encode(&g, &len);

    if (atomic_write_file(path, png, len))
        die("cannot write '%s': %s", path, strerror(errno));
    free(png);
}
