#include "image/image.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

void image_reserve(struct image *img, int w, int h, int channels)
{
    size_t need = (size_t)w * (size_t)h * (size_t)channels + IMAGE_SLACK;

    if (need > img->cap) {
        free(img->pixel); /* contents may be lost, so no realloc */
        img->pixel = xalloc_aligned(need);
        img->cap = need;
    }
    img->x = img->y = 0;
    img->w = w;
    img->h = h;
    img->channels = channels;
    img->stride = (size_t)w * (size_t)channels;
}

void image_resize_reserve(struct image *img, int w, int h)
{
    image_reserve(img, w, h, IMAGE_RGB);
}

void image_release(struct image *img)
{
    free(img->pixel);
    memset(img, 0, sizeof(*img));
}
