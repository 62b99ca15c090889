/*
 * GIF: the first frame, as Pillow shows it. The image covers the screen and the frame;
 * pixels outside the frame have the transparent color or the first one. Transparent
 * pixels keep their color. Without a palette, or with one that is a ramp, indices are
 * gray levels. Codes need not begin with a clear code.
 *
 * GIF89a Specification, appendix F: LZW of 3 to 12 bits, low bits first, in blocks of up
 * to 255 bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/failure.h"
#include "image/bytes.h"
#include "image/decoder.h"

enum { GIF_SCREEN = 13, GIF_FRAME = 10, GIF_BITS = 12, GIF_TABLE = 1 << GIF_BITS };

struct gif {
    int w, h;
    int x, y, frame_w, frame_h;
    bool interlaced;
    int outside;  /* index of pixels outside the frame */
    size_t codes; /* offset of the code size */
    uint8_t palette[256][3];
};

static bool gif_is(const void *data, size_t len)
{
    return len >= 6 && (!memcmp(data, "GIF87a", 6) || !memcmp(data, "GIF89a", 6));
}

static size_t gif_colors(uint8_t flags)
{
    return flags & 128 ? (size_t)2 << (flags & 7) : 0;
}

/* Reads n colors at p; a gray ramp counts as no palette. */
static void gif_palette(struct gif *g, const uint8_t *p, size_t n)
{
    bool ramp = true;

    for (size_t i = 0; i < n && ramp; i++)
        ramp = p[3 * i] == i && p[3 * i + 1] == i && p[3 * i + 2] == i;
    for (size_t i = 0; i < 256 && ramp; i++)
        memset(g->palette[i], (int)i, 3);
    if (ramp)
        return;
    memset(g->palette, 0, sizeof(g->palette));
    memcpy(g->palette, p, 3 * n);
}

/* Returns the end of the blocks at `offset`; beyond the file if they are cut off. */
static size_t gif_skip(const uint8_t *d, size_t len, size_t offset)
{
    while (offset < len && d[offset])
        offset += 1u + d[offset];
    return offset + 1;
}

/* Returns the offset of the first frame; beyond the file if there is none. */
static size_t gif_find(struct gif *g, const uint8_t *d, size_t len, size_t offset)
{
    while (offset < len && d[offset] != ',') {
        if (d[offset] == ';')
            return len;
        if (d[offset] == '!' && len - offset > 6 && d[offset + 1] == 0xf9 &&
            d[offset + 2] >= 4 && d[offset + 3] & 1)
            g->outside = d[offset + 6];
        offset = d[offset] == '!' ? gif_skip(d, len, offset + 2) : offset + 1;
    }
    return offset;
}

static int gif_header(struct gif *g, const struct decoder_file *f, struct strbuf *why)
{
    const uint8_t *d = f->data;
    size_t len = f->len, colors = len > GIF_SCREEN ? gif_colors(d[10]) : 0, offset;

    memset(g, 0, sizeof(*g));
    offset = len > GIF_SCREEN + 3 * colors ? gif_find(g, d, len, GIF_SCREEN + 3 * colors)
                                           : len;
    if (offset >= len || len - offset <= GIF_FRAME ||
        len - offset <= GIF_FRAME + 3 * gif_colors(d[offset + 9])) {
        strbuf_addstr(why, offset < len ? "the file is cut off"
                                        : "damaged: no image, or the file is cut off");
        return FAILURE_DATA;
    }
    gif_palette(g, d + GIF_SCREEN, colors);
    if (gif_colors(d[offset + 9]))
        gif_palette(g, d + offset + GIF_FRAME, gif_colors(d[offset + 9]));
    g->x = (int)le16(d + offset + 1);
    g->y = (int)le16(d + offset + 3);
    g->frame_w = (int)le16(d + offset + 5);
    g->frame_h = (int)le16(d + offset + 7);
    g->interlaced = d[offset + 9] & 64;
    g->codes = offset + GIF_FRAME + 3 * gif_colors(d[offset + 9]);
    g->w = (int)le16(d + 6);
    g->h = (int)le16(d + 8);
    g->w = g->x + g->frame_w > g->w ? g->x + g->frame_w : g->w;
    g->h = g->y + g->frame_h > g->h ? g->y + g->frame_h : g->h;
    if (g->frame_w && g->frame_h)
        return 0;
    strbuf_addstr(why, "damaged: the first frame has no pixels");
    return FAILURE_DATA;
}

/* ---- codes ---- */

struct gif_codes {
    const uint8_t *d;
    size_t len, offset, block; /* the next byte, and the rest of its block */
    bool truncated;
    uint32_t bits;
    int have;        /* bits read ahead */
    int least, size; /* initial and current bits per code */
    int next;        /* the first free code */
    int last;        /* previous code; -1: none since the clear code */
    uint8_t first;   /* the first index of the last code */
    uint16_t link[GIF_TABLE];
    uint8_t tail[GIF_TABLE];
    uint8_t out[GIF_TABLE + 1]; /* the indices of a code, from `begin` on */
    int begin;
};

/* Returns -1 at the end of the data. With `truncated`, a partial last block counts. */
static int gif_code(struct gif_codes *c)
{
    int code;

    while (c->have < c->size) {
        if (c->block == 0) {
            if (c->offset >= c->len)
                return -1;
            c->block = c->d[c->offset++];
            if (c->block > c->len - c->offset && !c->truncated)
                return -1;
            if (c->block > c->len - c->offset)
                c->block = c->len - c->offset;
            continue;
        }
        c->bits |= (uint32_t)c->d[c->offset++] << c->have;
        c->have += 8;
        c->block--;
    }
    code = (int)(c->bits & ((1u << c->size) - 1));
    c->bits >>= c->size;
    c->have -= c->size;
    return code;
}

static void gif_clear(struct gif_codes *c)
{
    c->next = (1 << c->least) + 2;
    c->size = c->least + 1;
    c->last = -1;
}

/* Expands a code into c->out; returns false if the code is undefined. */
static bool gif_expand(struct gif_codes *c, int code)
{
    int clear = 1 << c->least, offset = code;

    c->begin = GIF_TABLE + 1;
    if (c->last < 0) {
        if (code > clear)
            return false;
        c->out[--c->begin] = c->first = (uint8_t)code;
        c->last = code;
        return true;
    }
    if (code > c->next)
        return false;
    if (code == c->next) {
        c->out[--c->begin] = c->first;
        offset = c->last;
    }
    while (offset >= clear) {
        if (c->begin == 0 || offset >= GIF_TABLE)
            return false;
        c->out[--c->begin] = c->tail[offset];
        offset = c->link[offset];
    }
    if (c->begin == 0)
        return false;
    c->out[--c->begin] = c->first = (uint8_t)offset;
    if (c->next < GIF_TABLE) {
        c->tail[c->next] = c->first;
        c->link[c->next] = (uint16_t)c->last;
        if (c->next == (1 << c->size) - 1 && c->size < GIF_BITS)
            c->size++;
        c->next++;
    }
    c->last = code;
    return true;
}

/* Returns the k-th stored row of a frame. Interlaced frames store every 8th row, the 8th
 * rows between them, then the remaining 4th and 2nd ones. */
static int gif_row(const struct gif *g, int k)
{
    static const int begin[] = {0, 4, 2, 1}, step[] = {8, 8, 4, 2};

    for (int pass = 0; g->interlaced && pass < 4; pass++) {
        int rows = g->frame_h > begin[pass]
                       ? (g->frame_h - begin[pass] + step[pass] - 1) / step[pass]
                       : 0;

        if (k < rows)
            return begin[pass] + k * step[pass];
        k -= rows;
    }
    return k;
}

/* Decodes all indices of the frame into `canvas`. Returns FAILURE_DATA with a reason on
 * errors. */
static int gif_frame(const struct gif *g, const struct decoder_file *f,
                     struct gif_codes *c, uint8_t *canvas, struct strbuf *why)
{
    int64_t n = 0, size = (int64_t)g->frame_w * g->frame_h;
    int clear = 1 << c->least, code, x = 0, k = 0;
    uint8_t *row = canvas + (size_t)(g->y + gif_row(g, 0)) * (size_t)g->w + g->x;

    gif_clear(c);
    while (n < size) {
        code = gif_code(c);
        if (code < 0)
            return decoder_cut(f, why);
        if (code == clear) {
            gif_clear(c);
            continue;
        }
        if (code == clear + 1)
            return decoder_cut(f, why);
        if (!gif_expand(c, code)) {
            strbuf_addstr(why, "damaged: a code that is not defined");
            return FAILURE_DATA;
        }
        for (int i = c->begin; i <= GIF_TABLE && n < size; i++, n++) {
            row[x++] = c->out[i];
            if (x < g->frame_w || n + 1 == size)
                continue;
            x = 0;
            row = canvas + (size_t)(g->y + gif_row(g, ++k)) * (size_t)g->w + g->x;
        }
    }
    return 0;
}

static int gif_open(const struct decoder_file *f, int *w, int *h, struct strbuf *why)
{
    struct gif g;
    int rc = gif_header(&g, f, why);

    *w = g.w;
    *h = g.h;
    return rc;
}

static void gif_draw(const struct gif *g, const uint8_t *canvas,
                     const struct image_part *p, struct image *img)
{
    image_resize_reserve(img, p->w, p->h);
    img->x = p->x;
    img->y = p->y;
    for (int y = 0; y < p->h; y++) {
        const uint8_t *src = canvas + (size_t)(p->y + y) * (size_t)g->w + p->x;
        uint8_t *dst = img->pixel + (size_t)y * img->stride;

        for (int x = 0; x < p->w; x++)
            memcpy(dst + 3 * x, g->palette[src[x]], 3);
    }
}

static int gif_read(const struct decoder_file *f, const struct image_part *part,
                    struct image *img, struct strbuf *why)
{
    struct gif g;
    struct gif_codes c = {.d = f->data, .len = f->len, .truncated = f->truncated};
    uint8_t *canvas;
    int rc = gif_header(&g, f, why);

    if (rc < 0)
        return rc;
    c.offset = g.codes + 1;
    c.least = c.d[g.codes];
    if (c.least >= GIF_BITS) {
        strbuf_addf(why, "damaged: codes of %d bits", c.least + 1);
        return FAILURE_DATA;
    }
    canvas = xmalloc((size_t)g.w * (size_t)g.h);
    memset(canvas, g.outside, (size_t)g.w * (size_t)g.h);
    rc = gif_frame(&g, f, &c, canvas, why);
    if (rc == 0)
        gif_draw(&g, canvas, part, img);
    free(canvas);
    return rc;
}

/* Bytes: one index per pixel, and the result. */
static size_t gif_memory(const struct decoder_file *f, int w, int h)
{
    (void)f;
    return (size_t)w * (size_t)h * 4;
}

const struct decoder decoder_gif = {
    .name = "GIF",
    .extension = {".gif"},
    .is = gif_is,
    .open = gif_open,
    .memory = gif_memory,
    .read = gif_read,
};
