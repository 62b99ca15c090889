/*
 * Windows icons: selects the same image as Pillow, a PNG or a BMP without file header
 * whose height includes a mask. The mask is alpha and is dropped.
 */
#include <math.h>
#include <string.h>

#include "base/failure.h"
#include "image/bmp.h"
#include "image/bytes.h"

enum { ICO_HEADER = 6, ICO_ENTRY = 16 };

static bool ico_is(const void *data, size_t len)
{
    const uint8_t *d = data;

    return len >= ICO_HEADER + ICO_ENTRY && !memcmp(d, "\0\0\1\0", 4) && le16(d + 4) > 0;
}

static int ico_side(uint8_t v)
{
    return v ? v : 256;
}

static int ico_depth(const uint8_t *entry)
{
    int bits = (int)le16(entry + 6);

    if (!bits && entry[2])
        bits = (int)ceil(log2(entry[2]));
    return bits ? bits : 256;
}

/* Finds the image with most pixels and, among those, the fewest bits per pixel. */
static int ico_find(const struct decoder_file *f, size_t *offset, struct strbuf *why)
{
    const uint8_t *d = f->data, *best = d + ICO_HEADER;
    size_t n = le16(d + 4);

    for (size_t i = 1; i < n && ICO_HEADER + (i + 1) * ICO_ENTRY <= f->len; i++) {
        const uint8_t *e = d + ICO_HEADER + i * ICO_ENTRY;
        int size = ico_side(e[0]) * ico_side(e[1]);
        int best_size = ico_side(best[0]) * ico_side(best[1]);

        if (size > best_size || (size == best_size && ico_depth(e) < ico_depth(best)))
            best = e;
    }
    *offset = le32(best + 12);
    if (*offset < f->len && f->len - *offset > 8)
        return 0;
    strbuf_addstr(why, "the file is cut off");
    return FAILURE_DATA;
}

/* Gets the file of the image; returns true if it is a PNG. */
static bool ico_png(const struct decoder_file *f, size_t offset, struct decoder_file *png)
{
    *png = *f;
    png->data = (const uint8_t *)f->data + offset;
    png->len = f->len - offset;
    return decoder_png.is(png->data, png->len);
}

static int ico_bitmap(const struct decoder_file *f, size_t offset, struct bmp *b,
                      struct strbuf *why)
{
    int rc = bmp_header(b, f->data, f->len, offset, 0, why);

    b->h /= 2;
    return rc;
}

static int ico_open(const struct decoder_file *f, int *w, int *h, struct strbuf *why)
{
    struct decoder_file png;
    struct bmp b;
    size_t offset;
    int rc = ico_find(f, &offset, why);

    if (rc < 0)
        return rc;
    if (ico_png(f, offset, &png))
        return decoder_png.open(&png, w, h, why);
    rc = ico_bitmap(f, offset, &b, why);
    *w = b.w;
    *h = b.h;
    return rc;
}

static int ico_read(const struct decoder_file *f, const struct image_part *part,
                    struct image *img, struct strbuf *why)
{
    struct decoder_file png;
    struct bmp b;
    size_t offset;
    int rc = ico_find(f, &offset, why);

    if (rc < 0)
        return rc;
    if (ico_png(f, offset, &png))
        return decoder_png.read(&png, part, img, why);
    rc = ico_bitmap(f, offset, &b, why);
    return rc < 0 ? rc : bmp_pixels(&b, f, part, img, why);
}

static size_t ico_memory(const struct decoder_file *f, int w, int h)
{
    struct strbuf unused = STRBUF_INIT;
    struct decoder_file png;
    size_t offset, size = decoder_bmp.memory(f, w, h);

    if (ico_find(f, &offset, &unused) == 0 && ico_png(f, offset, &png))
        size = decoder_png.memory(&png, w, h);
    strbuf_release(&unused);
    return size;
}

/* State of the embedded PNGs. */
static void *ico_state(void)
{
    return decoder_png.state_new();
}

static void ico_state_free(void *state)
{
    decoder_png.state_free(state);
}

const struct decoder decoder_ico = {
    .name = "ICO",
    .extension = {".ico"},
    .is = ico_is,
    .state_new = ico_state,
    .state_free = ico_state_free,
    .open = ico_open,
    .memory = ico_memory,
    .read = ico_read,
};
