/*
 * BMP as Pillow reads it: headers of Windows (40 to 124 bytes) and OS/2 (12, and 16 to
 * 64), with or without the 14-byte file header; 1, 2, 4, and 8 bits with a palette; 16,
 * 24, and 32 bits with or without masks; RLE8 and RLE4. Alpha is dropped. The layout
 * follows Microsoft's "Bitmap Storage" and Murray and van Ryper, Encyclopedia of Graphics
 * File Formats.
 */
#include "image/bmp.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/failure.h"
#include "image/bytes.h"

enum { BMP_RAW, BMP_RLE8, BMP_RLE4, BMP_MASKS, BMP_JPEG, BMP_PNG, BMP_MASKS_ALPHA };
enum { FILE_HEADER = 14, OLD_HEADER = 12, INFO_HEADER = 40 };

static bool bmp_is_header(uint32_t size)
{
    return size == OLD_HEADER || (size >= 16 && size <= 64) || size == 108 || size == 124;
}

/* True for a bitmap without a file header: its own header must be plausible. */
static bool bmp_is_bare(const uint8_t *d, size_t len)
{
    uint32_t size, bits;

    if (len < INFO_HEADER)
        return false;
    size = le32(d);
    bits = le16(d + 14);
    return (size == 40 || size == 52 || size == 56 || size == 108 || size == 124) &&
           le16(d + 12) == 1 && bits <= 32 && le32(d + 16) <= BMP_MASKS_ALPHA;
}

static bool bmp_is(const void *data, size_t len)
{
    return len >= 2 && (!memcmp(data, "BM", 2) || bmp_is_bare(data, len));
}

static int bmp_side(uint32_t v)
{
    return v > INT_MAX ? INT_MAX : (int)v;
}

/* Reads the fields of the header of `size` bytes at h; *colors 0: all that the bits
 * allow. */
static void bmp_fields(struct bmp *b, const uint8_t *h, uint32_t size, uint32_t *colors)
{
    uint8_t all[INFO_HEADER] = {0};

    *colors = 0;
    if (size == OLD_HEADER) {
        b->w = (int)le16(h + 4);
        b->h = (int)le16(h + 6);
        b->bits = (int)le16(h + 10);
        return;
    }
    memcpy(all, h, size < INFO_HEADER ? size : INFO_HEADER);
    b->top_down = all[11] == 0xff;
    b->w = bmp_side(le32(all + 4));
    b->h = bmp_side(b->top_down ? 0u - le32(all + 8) : le32(all + 8));
    b->bits = (int)le16(all + 14);
    b->compression = le32(all + 16) <= BMP_MASKS_ALPHA ? (int)le32(all + 16) : INT_MAX;
    *colors = le32(all + 32);
}

static int bmp_check(const struct bmp *b, struct strbuf *why)
{
    static const char *const name[] = {"none", "RLE8", "RLE4", "masks", "JPEG", "PNG"};
    bool indexed = b->bits == 1 || b->bits == 2 || b->bits == 4 || b->bits == 8;
    bool direct = b->bits == 16 || b->bits == 24 || b->bits == 32;
    bool good = indexed ? b->compression <= BMP_RLE4
                        : b->compression == BMP_RAW || b->compression == BMP_MASKS ||
                              b->compression == BMP_MASKS_ALPHA;

    if ((indexed || direct) && good)
        return 0;
    if (indexed || direct)
        strbuf_addf(why, "a BMP of %d bits with compression %d (%s) is not read", b->bits,
                    b->compression,
                    b->compression <= BMP_PNG ? name[b->compression] : "unknown");
    else
        strbuf_addf(why, "a BMP of %d bits per pixel is not read", b->bits);
    return FAILURE_DATA;
}

/* Reads the masks that follow the first 40 bytes, inside or after the header. */
static int bmp_masks(struct bmp *b, const uint8_t *d, size_t len, size_t pos,
                     struct strbuf *why)
{
    static const uint32_t default_mask[2][3] = {{0x7c00, 0x3e0, 0x1f},
                                                {0xff0000, 0xff00, 0xff}};

    memcpy(b->mask, default_mask[b->bits > 16], sizeof(b->mask));
    if (b->compression == BMP_RAW)
        return 0;
    if (len - pos < INFO_HEADER + 12) {
        strbuf_addstr(why, "the file is cut off");
        return FAILURE_DATA;
    }
    if (le32(d + pos + 40) | le32(d + pos + 44) | le32(d + pos + 48))
        for (int c = 0; c < 3; c++)
            b->mask[c] = le32(d + pos + INFO_HEADER + 4 * (size_t)c);
    return 0;
}

/* Reads `n` colors of `step` bytes at `pos`. A palette that is a gray ramp counts as none,
 * so that indices beyond it are gray, too; otherwise those are black. */
static void bmp_palette(struct bmp *b, const uint8_t *d, size_t len, size_t pos,
                        uint32_t n, size_t step)
{
    bool ramp = true;
    uint32_t i;

    for (i = 0; i < n && i < 256; i++) {
        const uint8_t *p = d + pos + i * step;
        uint8_t gray = (uint8_t)(n == 2 ? 255 * i : i);

        if (pos > len || len - pos < (i + 1) * step)
            break;
        for (int c = 0; c < 3; c++)
            b->palette[i][c] = p[2 - c];
        ramp = ramp && p[0] == gray && p[1] == gray && p[2] == gray;
    }
    if (!ramp || i < n)
        return;
    for (i = n; i < 256; i++)
        memset(b->palette[i], b->bits == 1 ? 255 : (int)i, 3);
}

int bmp_header(struct bmp *b, const uint8_t *data, size_t len, size_t pos, size_t offset,
               struct strbuf *why)
{
    uint32_t size, colors;
    size_t end, step;

    memset(b, 0, sizeof(*b));
    if (pos > len || len - pos < OLD_HEADER || len - pos < le32(data + pos)) {
        strbuf_addstr(why, "the file is cut off");
        return FAILURE_DATA;
    }
    size = le32(data + pos);
    if (!bmp_is_header(size)) {
        strbuf_addf(why, "a BMP with a header of %u bytes is not read", size);
        return FAILURE_DATA;
    }
    bmp_fields(b, data + pos, size, &colors);
    if (bmp_check(b, why) < 0)
        return FAILURE_DATA;
    end = pos + size;
    if (b->bits <= 8) {
        step = size == OLD_HEADER ? 3 : 4;
        if (colors == 0 || colors > 1 << 16)
            colors = 1u << b->bits;
        bmp_palette(b, data, len, end, colors, step);
        /* in some files the offset of the pixels is that of the palette */
        offset += offset == end ? step * colors : 0;
        end += step * colors;
    } else if (bmp_masks(b, data, len, pos, why) < 0) {
        return FAILURE_DATA;
    } else if (size == INFO_HEADER && b->compression != BMP_RAW) {
        end += b->compression == BMP_MASKS ? 12 : 16;
    }
    b->pixels = offset ? offset : end;
    return 0;
}

/* ---- rows ---- */

static uint8_t bmp_masked(uint32_t pixel, uint32_t mask)
{
    int shift = mask ? __builtin_ctz(mask) : 0;
    uint64_t max = mask >> shift;

    return (uint8_t)(max ? ((pixel & mask) >> shift) * UINT64_C(255) / max : 0);
}

/* Converts pixels [x, x + n) of a row. */
static void bmp_row(const struct bmp *b, const uint8_t *row, int x, int n, uint8_t *rgb)
{
    int bytes = b->bits / 8;

    if (b->bits <= 8) {
        for (int i = x; i < x + n; i++, rgb += 3) {
            int64_t bit = (int64_t)i * b->bits;
            int index = row[bit >> 3] >> (8 - b->bits - (bit & 7)) & ((1 << b->bits) - 1);

            memcpy(rgb, b->palette[index], 3);
        }
        return;
    }
    row += (size_t)x * (size_t)bytes;
    for (int i = 0; i < n; i++, row += bytes, rgb += 3) {
        uint32_t pixel = 0;

        for (int k = 0; k < bytes; k++)
            pixel |= (uint32_t)row[k] << 8 * k;
        for (int c = 0; c < 3; c++)
            rgb[c] = bmp_masked(pixel, b->mask[c]);
    }
}

static int bmp_raw(const struct bmp *b, const struct decoder_file *f,
                   const struct image_part *p, struct image *img, struct strbuf *why)
{
    uint64_t used = ((uint64_t)b->w * (uint64_t)b->bits + 7) / 8,
             row = (used + 3) & ~UINT64_C(3);
    bool cut =
        b->pixels > f->len || row * (uint64_t)(b->h - 1) + used > f->len - b->pixels;

    if (cut && decoder_cut(f, why) < 0)
        return FAILURE_DATA;
    image_resize_reserve(img, p->w, p->h);
    img->x = p->x;
    img->y = p->y;
    for (int y = 0; y < p->h; y++) {
        uint64_t k = (uint64_t)(b->top_down ? p->y + y : b->h - 1 - p->y - y);
        uint8_t *dst = img->pixel + (size_t)y * img->stride;

        if (b->pixels <= f->len && k * row + used <= f->len - b->pixels)
            bmp_row(b, (const uint8_t *)f->data + b->pixels + k * row, p->x, p->w, dst);
        else
            for (int x = 0; x < p->w; x++)
                memcpy(dst + 3 * x, b->palette[0], 3);
    }
    return 0;
}

/* ---- run-length encoding ---- */

struct bmp_rle {
    const uint8_t *d;
    size_t len, pos;
    bool rle4;
    bool blank; /* an end of line at the start of a row leaves the row blank */
    uint8_t *index;
    size_t n, size; /* indices so far and in total; skipped ones are 0 */
    size_t x, w;
};

static void rle_run(struct bmp_rle *r, unsigned count, uint8_t value)
{
    size_t n = count, room = r->w > r->x ? r->w - r->x : 0;

    n = n < room ? n : room;
    n = n < r->size - r->n ? n : r->size - r->n;
    for (size_t i = 0; i < n; i++)
        r->index[r->n++] = r->rle4 ? (i & 1 ? value & 15 : value >> 4) : value;
    r->x += n;
}

/* Returns false at the end of the data. */
static bool rle_literal(struct bmp_rle *r, unsigned count)
{
    size_t n = count < r->size - r->n ? count : r->size - r->n;
    size_t bytes = r->rle4 ? (n + 1) / 2 : n;

    if (bytes > r->len - r->pos)
        return false;
    for (size_t i = 0; i < n; i++) {
        uint8_t v = r->d[r->pos + (r->rle4 ? i / 2 : i)];

        r->index[r->n++] = r->rle4 ? (i & 1 ? v & 15 : v >> 4) : v;
    }
    r->x += count;
    r->pos += bytes;
    r->pos += r->pos & 1; /* literals are padded to even bytes */
    return true;
}

/* Returns false at the end of the data. */
static bool rle_delta(struct bmp_rle *r)
{
    size_t skip;

    if (r->pos > r->len || r->len - r->pos < 2)
        return false;
    skip = r->d[r->pos] + r->d[r->pos + 1] * r->w;
    r->n += skip < r->size - r->n ? skip : r->size - r->n;
    r->x = r->n % r->w;
    r->pos += 2;
    return true;
}

static void rle_line(struct bmp_rle *r)
{
    size_t rest = r->n % r->w ? r->w - r->n % r->w : r->blank && !r->x ? r->w : 0;

    r->n += rest < r->size - r->n ? rest : r->size - r->n;
    r->x = 0;
}

/* Returns true if all indices or the end code have been read. */
static bool rle_decode(struct bmp_rle *r)
{
    while (r->n < r->size) {
        unsigned count, code;

        if (r->pos > r->len || r->len - r->pos < 2)
            return false;
        count = r->d[r->pos];
        code = r->d[r->pos + 1];
        r->pos += 2;
        if (count)
            rle_run(r, count, (uint8_t)code);
        else if (code == 0)
            rle_line(r);
        else if (code == 1)
            return true;
        else if (!(code == 2 ? rle_delta(r) : rle_literal(r, code)))
            return false;
    }
    return true;
}

/*
 * An end of line at the start of a row ends the full row before it, as in Pillow; but if
 * rows are missing at the end, such lines were blank rows.
 */
static int bmp_runs(const struct bmp *b, const struct decoder_file *f,
                    const struct image_part *p, struct image *img, struct strbuf *why)
{
    struct bmp_rle r = {.d = f->data,
                        .len = f->len,
                        .pos = b->pixels,
                        .rle4 = b->compression == BMP_RLE4,
                        .w = (size_t)b->w,
                        .size = (size_t)b->w * (size_t)b->h};
    bool whole;

    r.index = xcalloc(1, r.size);
    whole = rle_decode(&r);
    if (r.n < r.size && r.size) {
        memset(r.index, 0, r.size);
        r.blank = true;
        r.pos = b->pixels;
        r.n = r.x = 0;
        whole = rle_decode(&r);
    }
    if (!whole && decoder_cut(f, why) < 0) {
        free(r.index);
        return FAILURE_DATA;
    }
    image_resize_reserve(img, p->w, p->h);
    img->x = p->x;
    img->y = p->y;
    for (int y = 0; y < p->h; y++) {
        size_t k = (size_t)(b->top_down ? p->y + y : b->h - 1 - p->y - y);
        uint8_t *dst = img->pixel + (size_t)y * img->stride;

        for (int x = 0; x < p->w; x++)
            memcpy(dst + 3 * x, b->palette[r.index[k * r.w + (size_t)(p->x + x)]], 3);
    }
    free(r.index);
    return 0;
}

int bmp_pixels(const struct bmp *b, const struct decoder_file *f,
               const struct image_part *part, struct image *img, struct strbuf *why)
{
    bool runs = b->compression == BMP_RLE8 || b->compression == BMP_RLE4;

    return (runs ? bmp_runs : bmp_raw)(b, f, part, img, why);
}

/* ---- the format ---- */

static int bmp_file(struct bmp *b, const struct decoder_file *f, struct strbuf *why)
{
    const uint8_t *d = f->data;

    if (bmp_is_bare(d, f->len))
        return bmp_header(b, d, f->len, 0, 0, why);
    if (f->len >= FILE_HEADER)
        return bmp_header(b, d, f->len, FILE_HEADER, le32(d + 10), why);
    strbuf_addstr(why, "the file is cut off");
    return FAILURE_DATA;
}

static int bmp_open(const struct decoder_file *f, int *w, int *h, struct strbuf *why)
{
    struct bmp b;
    int rc = bmp_file(&b, f, why);

    *w = b.w;
    *h = b.h;
    return rc;
}

static int bmp_read(const struct decoder_file *f, const struct image_part *part,
                    struct image *img, struct strbuf *why)
{
    struct bmp b;
    int rc = bmp_file(&b, f, why);

    return rc < 0 ? rc : bmp_pixels(&b, f, part, img, why);
}

/* Bytes: one index per pixel, and the result. */
static size_t bmp_memory(const struct decoder_file *f, int w, int h)
{
    (void)f;
    return (size_t)w * (size_t)h * 4;
}

const struct decoder decoder_bmp = {
    .name = "BMP",
    .extension = {".bmp", ".dib"},
    .is = bmp_is,
    .open = bmp_open,
    .memory = bmp_memory,
    .read = bmp_read,
};
