#include "image/gif_frame.h"

#include <string.h>

/* Where the blocks that start at `at` end, each a length and so many bytes;
 * 0: nowhere. */
static size_t blocks_end(const uint8_t *d, size_t len, size_t at)
{
    while (at < len && d[at])
        at += 1u + d[at];
    return at < len ? at + 1 : 0;
}

/*
 * Where the first frame (0x2c) begins, or what is there instead; 0: beyond the end. A GIF
 * is a header of 13 bytes and a table of colours, then extensions (0x21) and frames of
 * blocks. *control is where the flags of its graphic control extension are, 0: it has
 * none: 21 f9 04, flags, two bytes of delay, the transparent index (GIF89a specification,
 * 23).
 */
static size_t begin(const uint8_t *d, size_t len, size_t *control)
{
    size_t at = 13 + (len > 10 && d[10] & 128 ? (size_t)6 << (d[10] & 7) : 0);

    *control = 0;
    while (at && at + 10 < len && d[at] == 0x21) {
        if (d[at + 1] == 0xf9 && d[at + 2] == 4)
            *control = at + 3;
        at = blocks_end(d, len, at + 2);
    }
    return at;
}

int gif_frame_check(const uint8_t *d, size_t len, struct strbuf *why)
{
    size_t control, at = begin(d, len, &control);

    if (at && at + 10 < len && d[at] == 0x2c) {
        at += 11 + (d[at + 9] & 128 ? (size_t)6 << (d[at + 9] & 7) : 0);
        at = blocks_end(d, len, at);
    } else if (at && at < len && d[at] != 0x21 && d[at] != 0x2c) {
        return 0; /* stb_image has a word for it */
    } else {
        at = 0;
    }
    if (!at)
        strbuf_addstr(why, "the file is cut off");
    return at ? 0 : -1;
}

struct gif_frame gif_frame_find(const uint8_t *d, size_t len)
{
    size_t control, at = begin(d, len, &control);
    struct gif_frame f = {.at = d + at, .palette = d + 13};

    if (*f.at != 0x2c)
        return (struct gif_frame){.colours = 0};
    f.transparent = control && d[control] & 1 ? control : 0;
    f.colours = d[10] & 128 ? 2 << (d[10] & 7) : 0;
    if (f.at[9] & 128) {
        f.palette = f.at + 10;
        f.colours = 2 << (f.at[9] & 7);
    }
    return f;
}

void gif_frame_fill(const struct gif_frame *f, int index, struct image *img)
{
    int x0, x1, y0, y1;

    if (index >= f->colours)
        return;
    x0 = f->at[1] | f->at[2] << 8;
    y0 = f->at[3] | f->at[4] << 8;
    x1 = x0 + (f->at[5] | f->at[6] << 8);
    y1 = y0 + (f->at[7] | f->at[8] << 8);
    for (int y = 0; y < img->h; y++)
        for (int x = 0; x < img->w; x++)
            if (img->y + y < y0 || img->y + y >= y1 || img->x + x < x0 ||
                img->x + x >= x1)
                memcpy(img->pixel + (size_t)y * img->stride + 3 * x,
                       f->palette + 3 * index, 3);
}
