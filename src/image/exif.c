#include "image/exif.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* Big endian ("MM") or little endian ("II"). */
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
    size_t pos;
    unsigned n;

    if (len < 8 || (memcmp(block, "II*\0", 4) != 0 && memcmp(block, "MM\0*", 4) != 0))
        return 0;
    big = *block == 'M';
    pos = exif_number(block + 4, 4, big);
    if (pos > len - 2)
        return 0;
    n = exif_number(block + pos, 2, big);
    for (pos += 2; n > 0 && pos + ENTRY <= len; n--, pos += ENTRY) {
        unsigned v = exif_number(block + pos + 8, 2, big);

        if (exif_number(block + pos, 2, big) == TAG &&
            exif_number(block + pos + 2, 2, big) == SHORT)
            return v >= 1 && v <= 8 ? (int)v : 1;
    }
    return 0;
}

int exif_orientation_xmp(const uint8_t *packet, size_t len)
{
    static const char name[] = "tiff:Orientation";
    const size_t n = sizeof(name) - 1;
    const uint8_t *end = len ? packet + len : packet;

    for (const uint8_t *p = packet; len >= n + 2 && p; p++) {
        const uint8_t *v;

        p = memmem(p, (size_t)(end - p), name, n);
        if (!p)
            break;
        v = p + n;
        v += end - v > 2 && v[0] == '=' && v[1] == '"' ? 2 : end - v > 1 && *v == '>';
        if (v > p + n && v < end && *v >= '0' && *v <= '9')
            return *v >= '1' && *v <= '8' ? *v - '0' : 1;
    }
    return 0;
}

static int exif_hex(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int exif_orientation_text(const uint8_t *text, size_t len)
{
    enum { PREFIX = 6 }; /* "Exif\0\0" */
    uint8_t *block = xmalloc(len / 2 + 1);
    size_t pos = 0, n = 0, skip;
    int lines = 0, high = -1, found;

    for (; pos < len && lines < 3; pos++)
        lines += text[pos] == '\n';
    for (; pos < len; pos++) {
        int v = exif_hex(text[pos]);

        if (v >= 0 && high >= 0)
            block[n++] = (uint8_t)(high << 4 | v);
        if (v >= 0)
            high = high >= 0 ? -1 : v;
    }
    skip = n >= PREFIX && !memcmp(block, "Exif\0\0", PREFIX) ? PREFIX : 0;
    found = exif_orientation(block + skip, n - skip);
    free(block);
    return found;
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

void exif_apply(int orientation, const struct image *src, int w, int h, struct image *dst)
{
    bool swaps = exif_swaps(orientation), mx = mirrors_x(orientation),
         my = mirrors_y(orientation);
    int x0 = mx ? w - src->x - src->w : src->x;
    int y0 = my ? h - src->y - src->h : src->y;
    size_t channels = (size_t)src->channels;

    image_reserve(dst, swaps ? src->h : src->w, swaps ? src->w : src->h, src->channels);
    dst->x = swaps ? y0 : x0;
    dst->y = swaps ? x0 : y0;
    for (int y = 0; y < dst->h; y++) {
        uint8_t *out = dst->pixel + (size_t)y * dst->stride;

        for (int x = 0; x < dst->w; x++, out += channels) {
            int sx = swaps ? y : x, sy = swaps ? x : y;

            sx = mx ? src->w - 1 - sx : sx;
            sy = my ? src->h - 1 - sy : sy;
            memcpy(out, src->pixel + (size_t)sy * src->stride + (size_t)sx * channels,
                   channels);
        }
    }
}
