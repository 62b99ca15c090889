#include "image/exif.h"

#include <string.h>

/* Big endian ("MM") or little ("II"). */
static unsigned exif_number(const uint8_t *p, int bytes, bool big)
{
    unsigned v = 0;

    for (int i = 0; i < bytes; i++)
        v |= (unsigned)p[big ? bytes - 1 - i : i] << 8 * i;
    return v;
}

int exif_orientation(const uint8_t *block, size_t len)
{
    enum { TAG = 0x0112, SHORT = 3, ENTRY = 12 };
    bool big;
    size_t at;
    unsigned n;

    if (len < 8 || (memcmp(block, "II*\0", 4) != 0 && memcmp(block, "MM\0*", 4) != 0))
        return 1;
    big = *block == 'M';
    at = exif_number(block + 4, 4, big);
    if (at > len - 2)
        return 1;
    n = exif_number(block + at, 2, big);
    for (at += 2; n > 0 && at + ENTRY <= len; n--, at += ENTRY) {
        unsigned v = exif_number(block + at + 8, 2, big);

        if (exif_number(block + at, 2, big) == TAG &&
            exif_number(block + at + 2, 2, big) == SHORT)
            return v >= 1 && v <= 8 ? (int)v : 1;
    }
    return 1;
}

static bool mirrors_x(int orientation)
{
    return orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
}

static bool mirrors_y(int orientation)
{
    return orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
}

struct image_part exif_stored(int orientation, const struct image_part *p, int w, int h)
{
    bool swaps = exif_swaps(orientation);
    struct image_part s = {.x = swaps ? p->y : p->x,
                           .y = swaps ? p->x : p->y,
                           .w = swaps ? p->h : p->w,
                           .h = swaps ? p->w : p->h,
                           .shrink = p->shrink};

    if (mirrors_x(orientation))
        s.x = w - s.x - s.w;
    if (mirrors_y(orientation))
        s.y = h - s.y - s.h;
    return s;
}

void exif_apply(int orientation, const struct image *from, int w, int h, struct image *to)
{
    bool swaps = exif_swaps(orientation), mx = mirrors_x(orientation),
         my = mirrors_y(orientation);
    int x0 = mx ? w - from->x - from->w : from->x;
    int y0 = my ? h - from->y - from->h : from->y;
    size_t channels = (size_t)from->channels;

    image_room(to, swaps ? from->h : from->w, swaps ? from->w : from->h, from->channels);
    to->x = swaps ? y0 : x0;
    to->y = swaps ? x0 : y0;
    for (int y = 0; y < to->h; y++) {
        uint8_t *out = to->pixel + (size_t)y * to->stride;

        for (int x = 0; x < to->w; x++, out += channels) {
            int sx = swaps ? y : x, sy = swaps ? x : y;

            sx = mx ? from->w - 1 - sx : sx;
            sy = my ? from->h - 1 - sy : sy;
            memcpy(out, from->pixel + (size_t)sy * from->stride + (size_t)sx * channels,
                   channels);
        }
    }
}
