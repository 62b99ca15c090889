/*
 * Truevision TGA as Pillow reads it: color-mapped (8 bits), RGB (15, 16, 24, and 32
 * bits), and gray (1, 8, and 16 bits, the last with alpha), with or without run-length
 * encoding, from any corner. Alpha is dropped. Truevision TGA File Format Specification
 * 2.0.
 *
 * The format has no magic number; a header is accepted if all of its fields are
 * plausible.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/failure.h"
#include "image/bytes.h"
#include "image/decoder.h"

enum { TGA_HEADER = 18, TGA_MAPPED = 1, TGA_RGB, TGA_GRAY, TGA_RUNS = 8 };

struct tga {
    int w, h, bits;
    int kind; /* TGA_MAPPED, TGA_RGB, TGA_GRAY */
    bool runs, top_down, right_to_left;
    size_t pixels; /* offset in the file */
    uint8_t palette[256][3];
};

/* 5 bits per color, blue in the lowest bits. */
static void tga_rgb15(const uint8_t *p, uint8_t *rgb)
{
    unsigned v = le16(p);

    for (int c = 0; c < 3; c++)
        rgb[c] = (uint8_t)((v >> 5 * (2 - c) & 31) * 255 / 31);
}

/* Converts one color of `bits` bits, blue first. */
static void tga_color(const uint8_t *p, int bits, uint8_t *rgb)
{
    if (bits <= 16)
        tga_rgb15(p, rgb);
    else
        for (int c = 0; c < 3; c++)
            rgb[c] = p[2 - c];
}

static bool tga_is_depth(int kind, int bits)
{
    if (kind == TGA_MAPPED)
        return bits == 8;
    if (kind == TGA_GRAY)
        return bits == 1 || bits == 8 || bits == 16;
    return kind == TGA_RGB && (bits == 15 || bits == 16 || bits == 24 || bits == 32);
}

static bool tga_is_map(const uint8_t *d)
{
    int bits = d[7];

    if (d[1] == 0)
        return (d[2] & 7) != TGA_MAPPED;
    return d[1] == 1 && (bits == 15 || bits == 16 || bits == 24 || bits == 32);
}

static bool tga_is(const void *data, size_t len)
{
    const uint8_t *d = data;

    return len > TGA_HEADER && (d[2] & ~TGA_RUNS) <= TGA_GRAY &&
           tga_is_depth(d[2] & 7, d[16]) && tga_is_map(d) && le16(d + 12) > 0 &&
           le16(d + 14) > 0 && !(d[17] & 0xc0);
}

static size_t tga_bytes(int bits)
{
    return (size_t)(bits + 7) / 8;
}

/* The palette follows the identification; its first colors may be missing. */
static int tga_header(struct tga *t, const struct decoder_file *f, struct strbuf *why)
{
    const uint8_t *d = f->data;
    size_t pos = TGA_HEADER + (size_t)d[0], n = le16(d + 5), step = tga_bytes(d[7]);

    memset(t, 0, sizeof(*t));
    t->w = (int)le16(d + 12);
    t->h = (int)le16(d + 14);
    t->bits = d[16];
    t->kind = d[2] & 7;
    t->runs = d[2] & TGA_RUNS;
    t->right_to_left = d[17] & 0x10;
    t->top_down = d[17] & 0x20;
    t->pixels = pos + (d[1] ? n * step : 0);
    if (t->pixels > f->len) {
        strbuf_addstr(why, "the file is cut off");
        return FAILURE_DATA;
    }
    for (size_t i = 0, k = le16(d + 3); d[1] && i < n && k < 256; i++, k++)
        tga_color(d + pos + i * step, d[7], t->palette[k]);
    return 0;
}

/* Converts pixel x of a stored row. */
static void tga_pixel(const struct tga *t, const uint8_t *row, int x, uint8_t *rgb)
{
    const uint8_t *p = row + (size_t)x * tga_bytes(t->bits);

    if (t->bits == 1)
        memset(rgb, row[x / 8] >> (7 - x % 8) & 1 ? 255 : 0, 3);
    else if (t->kind == TGA_MAPPED)
        memcpy(rgb, t->palette[*p], 3);
    else if (t->kind == TGA_GRAY)
        memset(rgb, *p, 3);
    else
        tga_color(p, t->bits, rgb);
}

/* Unpacks up to `size` bytes of pixels; returns their number. Packets may cross the ends
 * of rows. */
static size_t tga_unpack(const struct tga *t, const struct decoder_file *f, uint8_t *dst,
                         size_t size)
{
    const uint8_t *d = (const uint8_t *)f->data + t->pixels;
    size_t left = f->len - t->pixels, step = tga_bytes(t->bits), n = 0;

    while (n < size && left > 0) {
        size_t count = (*d & 127u) + 1, want = *d & 128 ? step : count * step;
        bool run = *d & 128;

        if (want > left - 1)
            break;
        d++;
        for (size_t i = 0; i < count && n < size; i++, n += step)
            memcpy(dst + n, d + (run ? 0 : i * step), step);
        d += want;
        left -= 1 + want;
    }
    return n;
}

static int tga_draw(const struct tga *t, const struct decoder_file *f,
                    const uint8_t *stored, size_t got, const struct image_part *p,
                    struct image *img, struct strbuf *why)
{
    size_t row = ((size_t)t->w * (size_t)t->bits + 7) / 8;

    row = t->bits == 15 ? (size_t)t->w * 2 : row;
    if (got < row * (size_t)t->h && decoder_cut(f, why) < 0)
        return FAILURE_DATA;
    image_resize_reserve(img, p->w, p->h);
    img->x = p->x;
    img->y = p->y;
    for (int y = 0; y < p->h; y++) {
        size_t k = (size_t)(t->top_down ? p->y + y : t->h - 1 - p->y - y);
        uint8_t *dst = img->pixel + (size_t)y * img->stride;

        for (int x = p->x; x < p->x + p->w; x++, dst += 3)
            if ((k + 1) * row <= got)
                tga_pixel(t, stored + k * row, t->right_to_left ? t->w - 1 - x : x, dst);
            else
                memcpy(dst, t->palette[0], 3);
    }
    return 0;
}

static int tga_open(const struct decoder_file *f, int *w, int *h, struct strbuf *why)
{
    struct tga t;
    int rc = tga_header(&t, f, why);

    *w = t.w;
    *h = t.h;
    return rc;
}

static int tga_read(const struct decoder_file *f, const struct image_part *part,
                    struct image *img, struct strbuf *why)
{
    const uint8_t *d = f->data;
    struct tga t;
    size_t size;
    uint8_t *all;
    int rc = tga_header(&t, f, why);

    if (rc < 0)
        return rc;
    if (!t.runs)
        return tga_draw(&t, f, d + t.pixels, f->len - t.pixels, part, img, why);
    size = (size_t)t.w * (size_t)t.h * tga_bytes(t.bits);
    all = xcalloc(1, size);
    size = tga_unpack(&t, f, all, size);
    rc = tga_draw(&t, f, all, size, part, img, why);
    free(all);
    return rc;
}

/* Bytes: the stored pixels and the result. */
static size_t tga_memory(const struct decoder_file *f, int w, int h)
{
    (void)f;
    return (size_t)w * (size_t)h * 7;
}

const struct decoder decoder_tga = {
    .name = "TGA",
    .extension = {".tga", ".icb", ".vda", ".vst"},
    .is = tga_is,
    .open = tga_open,
    .memory = tga_memory,
    .read = tga_read,
};
