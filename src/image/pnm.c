/*
 * PBM, PGM, and PPM (netpbm's manual pages of these names): P1 to P3 plain (numbers as
 * text), P4 to P6 binary. Width, height, and, except in PBM, the maximum precede the
 * samples; binary samples above 255 have two bytes, big endian. Same results as Pillow,
 * except that gray of more than 8 bits is scaled, while Pillow clips it.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/failure.h"
#include "image/decoder.h"
#include "image/label.h"
#include "image/pnm.h"

struct pnm {
    int w, h, maxval; /* size and largest value */
    int channels;
    int bits; /* bits of a binary sample: 1, 8, or 16 */
    bool plain;
    size_t offset; /* offset of the samples */
};

static bool pnm_is(const void *data, size_t len)
{
    const uint8_t *d = data;

    return len >= 3 && d[0] == 'P' && d[1] >= '1' && d[1] <= '6' &&
           (isspace(d[2]) || d[2] == '#');
}

/* Skips white space and comments, which end with their line. */
static void pnm_space(const uint8_t *d, size_t len, size_t *offset)
{
    for (; *offset < len && (isspace(d[*offset]) || d[*offset] == '#'); ++*offset)
        if (d[*offset] == '#')
            while (*offset < len && d[*offset] != '\n' && d[*offset] != '\r')
                ++*offset;
}

/* Reads the next number, after white space and comments; returns -1 if there is none. */
static int pnm_number(const uint8_t *d, size_t len, size_t *offset)
{
    int v = -1;

    pnm_space(d, len, offset);
    for (; *offset < len && isdigit(d[*offset]) && v < 100000000; ++*offset)
        v = (v < 0 ? 0 : 10 * v) + d[*offset] - '0';
    return v;
}

static int pnm_header(struct pnm *p, const uint8_t *d, size_t len, struct strbuf *why)
{
    int kind = (d[1] - '1') % 3; /* bits, gray, or RGB */

    *p = (struct pnm){.plain = d[1] <= '3', .channels = kind == 2 ? 3 : 1, .offset = 2};
    p->w = pnm_number(d, len, &p->offset);
    p->h = pnm_number(d, len, &p->offset);
    p->maxval = kind ? pnm_number(d, len, &p->offset) : 1;
    p->bits = kind == 0 ? 1 : p->maxval > 255 ? 16 : 8;
    if (p->w < 0 || p->h < 0 || p->maxval < 1 || p->maxval > 65535 || p->offset >= len ||
        !isspace(d[p->offset])) {
        strbuf_addf(why, "not a header of a P%c file", d[1]);
        return FAILURE_DATA;
    }
    p->offset++;
    return 0;
}

static bool pnm_is_deep(const struct decoder_file *f)
{
    struct strbuf unused = STRBUF_INIT;
    struct pnm p;
    bool is = pnm_header(&p, f->data, f->len, &unused) == 0 && p.bits == 16;

    strbuf_release(&unused);
    return is;
}

static int pnm_open(const struct decoder_file *f, int *w, int *h, struct strbuf *why)
{
    struct pnm p;

    if (pnm_header(&p, f->data, f->len, why) < 0)
        return FAILURE_DATA;
    *w = p.w;
    *h = p.h;
    return 0;
}

/* Scales to [0, 255], rounded half to even as in Pillow. */
static uint8_t pnm_value(const struct pnm *p, int v)
{
    if (p->maxval == 255)
        return (uint8_t)v;
    return (uint8_t)rint((double)(v < p->maxval ? v : p->maxval) / p->maxval * 255);
}

/* ---- binary ---- */

static size_t pnm_stride(const struct pnm *p)
{
    return ((size_t)p->w * (size_t)(p->channels * p->bits) + 7) / 8;
}

/* Converts pixels [x, x + n) of a row; bits: 1 is black in PBM. */
static void pnm_row(const struct pnm *p, const uint8_t *row, int x, int n, uint8_t *dst)
{
    int bytes = p->bits / 8, step = p->channels * bytes;

    for (int i = x; i < x + n; i++, dst += 3)
        for (int c = 0; c < 3; c++) {
            const uint8_t *s = row + (size_t)i * (size_t)step +
                               (p->channels == 3 ? (size_t)(c * bytes) : 0);

            if (p->bits == 1)
                dst[c] = row[i / 8] >> (7 - i % 8) & 1 ? 0 : 255;
            else
                dst[c] = pnm_value(p, bytes == 2 ? s[0] << 8 | s[1] : *s);
        }
}

static int pnm_binary(const struct pnm *p, const struct decoder_file *f,
                      const struct image_part *part, struct image *img,
                      struct strbuf *why)
{
    size_t stride = pnm_stride(p), rows = stride ? (f->len - p->offset) / stride : 0;

    if (rows < (size_t)p->h && decoder_cut(f, why) < 0)
        return FAILURE_DATA;
    image_resize_reserve(img, part->w, part->h);
    img->x = part->x;
    img->y = part->y;
    for (int y = 0; y < part->h; y++) {
        const uint8_t *row =
            (const uint8_t *)f->data + p->offset + (size_t)(part->y + y) * stride;
        uint8_t *dst = img->pixel + (size_t)y * img->stride;

        if ((size_t)(part->y + y) >= rows)
            memset(dst, 0, img->stride);
        else if (p->channels == 3 && p->maxval == 255)
            memcpy(dst, row + 3 * (size_t)part->x, img->stride);
        else
            pnm_row(p, row, part->x, part->w, dst);
    }
    return 0;
}

/* ---- plain ---- */

/* Reads the next sample; returns -1 on errors, with a reason except at the end of the
 * file. The digits of a PBM need no space between them. */
static int pnm_text(const struct pnm *p, const struct decoder_file *f, size_t *offset,
                    struct strbuf *why)
{
    const uint8_t *d = f->data;
    int v;

    pnm_space(d, f->len, offset);
    if (*offset >= f->len)
        return -1;
    if (p->bits == 1 && (d[*offset] == '0' || d[*offset] == '1'))
        return d[(*offset)++] == '0';
    v = p->bits == 1 ? -1 : pnm_number(d, f->len, offset);
    if (v >= 0 && v <= p->maxval &&
        (*offset == f->len || isspace(d[*offset]) || d[*offset] == '#'))
        return v;
    strbuf_addf(why, "damaged: no sample from 0 to %d at byte %zu", p->maxval, *offset);
    return -1;
}

/* Reads samples up to the last row of the part, and writes those of the part to img. */
static int pnm_plain(const struct pnm *p, const struct decoder_file *f,
                     const struct image_part *part, struct image *img, struct strbuf *why)
{
    size_t offset = p->offset;
    int row = p->w * p->channels, x0 = part->x * p->channels,
        x1 = (part->x + part->w) * p->channels;

    image_resize_reserve(img, part->w, part->h);
    img->x = part->x;
    img->y = part->y;
    memset(img->pixel, 0, img->stride * (size_t)img->h);
    for (int y = 0; y < p->h; y++)
        for (int x = 0; x < row; x++) {
            int v = pnm_text(p, f, &offset, why);
            uint8_t *dst;

            if (v < 0)
                return why->len ? FAILURE_DATA : decoder_cut(f, why);
            if (y < part->y || y >= part->y + part->h || x < x0 || x >= x1)
                continue;
            dst = img->pixel + (size_t)(y - part->y) * img->stride;
            if (p->channels == 3)
                dst[x - x0] = pnm_value(p, v);
            else
                memset(dst + 3 * (x - x0), pnm_value(p, v), 3);
        }
    return 0;
}

static int pnm_read(const struct decoder_file *f, const struct image_part *part,
                    struct image *img, struct strbuf *why)
{
    struct pnm p;

    if (pnm_header(&p, f->data, f->len, why) < 0)
        return FAILURE_DATA;
    return (p.plain ? pnm_plain : pnm_binary)(&p, f, part, img, why);
}

int pnm_label(struct label_reader *r, const void *data, size_t len, int64_t max_pixels,
              struct strbuf *why)
{
    struct pnm p;
    int64_t n;

    if (pnm_header(&p, data, len, why) < 0)
        return -1;
    n = (int64_t)p.w * p.h;
    if (p.maxval != 255 || p.w < 1 || p.h < 1 || p.w > 1 << 20 || p.h > 1 << 20 ||
        n > max_pixels) {
        strbuf_addf(why, "a PGM of %d x %d values up to %d is no label map", p.w, p.h,
                    p.maxval);
        return -1;
    }
    if ((uint64_t)n > len - p.offset) {
        strbuf_addstr(why, "the file is cut off");
        return -1;
    }
    label_reader_reserve(r, p.w, p.h);
    memcpy(r->pixel, (const uint8_t *)data + p.offset, (size_t)n);
    return 0;
}

static size_t pnm_memory(const struct decoder_file *f, int w, int h)
{
    (void)f;
    return (size_t)w * (size_t)h * 3;
}

const struct decoder decoder_pnm = {
    .name = "PPM",
    .extension = {".ppm", ".pgm", ".pbm", ".pnm"},
    .is = pnm_is,
    .is_deep = pnm_is_deep,
    .open = pnm_open,
    .memory = pnm_memory,
    .read = pnm_read,
};
