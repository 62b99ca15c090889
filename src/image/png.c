/*
 * Label maps as stored values: the usual PNGs by png_plain.c, all others, and error
 * messages, by libpng.
 *
 * Quirks: errors leave by longjmp, so everything that the guarded part uses is in the
 * struct; warnings concern chunks that we do not read.
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/failure.h"
#include "image/decoder.h"
#include "image/gate.h"
#include "image/label.h"
#include "image/png_chunks.h"
#include "image/png_plain.h"
#include "image/pnm.h"

struct png {
    png_structp p;
    png_infop info;
    jmp_buf jump;
    char reason[200];
    struct strbuf why;
    bool no_memory; /* an allocation of libpng failed */

    const uint8_t *data; /* the rest of the file */
    size_t left;
    int64_t max_pixels;
    struct label_reader *reader;
    int w, h;
};

__attribute__((noreturn)) static void png_on_error(png_structp p, png_const_charp text)
{
    struct png *g = png_get_error_ptr(p);

    snprintf(g->reason, sizeof(g->reason), "%s", text);
    longjmp(g->jump, 1);
}

static void png_on_warning(png_structp p, png_const_charp text)
{
    (void)p;
    (void)text;
}

/* Runs fn; returns FAILURE_DATA if libpng left it. */
static int png_guard(struct png *g, void (*fn)(struct png *))
{
    if (setjmp(g->jump))
        return FAILURE_DATA;
    fn(g);
    return 0;
}

static void png_on_read(png_structp p, png_bytep dst, size_t n)
{
    struct png *g = png_get_io_ptr(p);

    if (n > g->left)
        png_error(p, "the file is cut off");
    memcpy(dst, g->data, n);
    g->data += n;
    g->left -= n;
}

static png_voidp png_on_malloc(png_structp p, png_alloc_size_t size)
{
    struct png *g = png_get_mem_ptr(p);
    void *dst = malloc(size);

    g->no_memory |= !dst && size;
    return dst;
}

static void png_on_free(png_structp p, png_voidp memory)
{
    (void)p;
    free(memory);
}

static const char *png_kind(int color, int bits)
{
    switch (color) {
    case PNG_COLOR_TYPE_RGB:
        return "an RGB image";
    case PNG_COLOR_TYPE_RGBA:
        return "an RGBA image";
    case PNG_COLOR_TYPE_GRAY_ALPHA:
        return "a gray image with alpha";
    default:
        return bits > 8 ? "a 16-bit gray image" : NULL;
    }
}

static void png_start(struct png *g)
{
    png_uint_32 w, h;
    int bits, color, interlace;
    const char *kind;

    g->info = png_create_info_struct(g->p);
    if (!g->info)
        png_error(g->p, "no memory");
    png_set_read_fn(g->p, g, png_on_read);
    png_set_user_limits(g->p, 1 << 24, 1 << 24);
    png_set_chunk_malloc_max(g->p, 1 << 24);
    png_read_info(g->p, g->info);
    png_get_IHDR(g->p, g->info, &w, &h, &bits, &color, &interlace, NULL, NULL);
    kind = png_kind(color, bits);
    if (kind) {
        snprintf(g->reason, sizeof(g->reason),
                 "%s, where gray levels or palette indices of at most 8 bits are class "
                 "values",
                 kind);
        longjmp(g->jump, 1);
    }
    if ((int64_t)w * (int64_t)h > g->max_pixels) {
        snprintf(g->reason, sizeof(g->reason),
                 "the header says %u x %u pixels, more than the limit of %lld",
                 (unsigned)w, (unsigned)h, (long long)g->max_pixels);
        longjmp(g->jump, 1);
    }
    if (image_gate_enter((size_t)w * (size_t)h, &g->why) < 0)
        longjmp(g->jump, 1);
    g->w = (int)w;
    g->h = (int)h;
}

void label_reader_reserve(struct label_reader *r, int w, int h)
{
    size_t need = (size_t)w * (size_t)h;

    if (need > r->cap) {
        free(r->pixel);
        r->pixel = xalloc_aligned(need);
        r->cap = need;
    }
    r->w = w;
    r->h = h;
}

static void png_rows(struct png *g)
{
    int passes;

    png_start(g);
    png_set_packing(g->p); /* one byte per value of 1, 2, or 4 bits, unscaled */
    passes = png_set_interlace_handling(g->p);
    png_read_update_info(g->p, g->info);
    if (png_get_rowbytes(g->p, g->info) != (size_t)g->w)
        BUG("rows of %zu bytes for %d values", png_get_rowbytes(g->p, g->info), g->w);
    label_reader_reserve(g->reader, g->w, g->h);
    for (int pass = 0; pass < passes; pass++)
        for (int y = 0; y < g->h; y++)
            png_read_row(g->p, g->reader->pixel + (size_t)y * (size_t)g->w, NULL);
    png_read_end(g->p, NULL);
}

static int png_refuse(const uint8_t *data, size_t len, struct strbuf *why)
{
    const struct decoder *format = decoder_find(data, len);

    if (len == 0)
        strbuf_addstr(why, "the file is empty");
    else if (format && !format->lossy && image_is_deep(data, len))
        strbuf_addf(why, "%s: %s", format->name, label_deep_reason);
    else if (format)
        strbuf_addf(why, "%s, %s: label maps must be PNGs", format->name,
                    format->lossy ? "which changes class values" : "not a PNG");
    else
        strbuf_addstr(why, "not a PNG: label maps must be PNGs");
    return -1;
}

/* Returns 0; a failure with a reason; or 1 if libpng must read the file or report its
 * error. */
static int label_plain(struct label_reader *r, const uint8_t *data, size_t len,
                       int64_t max_pixels, struct strbuf *why)
{
    struct strbuf unused = STRBUF_INIT;
    int w, h, rc = 1;

    if (!png_plain_has_values(data, len) || !png_chunks_size(data, len, &w, &h) ||
        (int64_t)w * h > max_pixels || png_chunks_check(data, len, &unused) < 0) {
        strbuf_release(&unused);
        return 1;
    }
    if (image_gate_enter((size_t)w * (size_t)h * 2 + len, why) < 0)
        return FAILURE_DATA;
    if (!r->plain)
        r->plain = png_plain_new();
    label_reader_reserve(r, w, h);
    rc = png_plain_values(r->plain, data, len, r->pixel, &unused);
    if (rc == FAILURE_MACHINE)
        strbuf_addstr(why, unused.buf);
    strbuf_release(&unused);
    return rc == FAILURE_DATA ? 1 : rc;
}

int label_read(struct label_reader *r, const void *data, size_t len,
               const struct image_limits *limits, struct strbuf *why)
{
    struct image_limits l = image_limits_or_default(limits);
    struct png g = {.data = data, .left = len, .max_pixels = l.max_pixels, .reader = r};
    int rc;

    if ((uint64_t)len > (uint64_t)l.max_bytes) {
        strbuf_addf(why, "%zu bytes, more than the limit of %lld", len,
                    (long long)l.max_bytes);
        return -1;
    }
    if (len >= 3 && !memcmp(data, "P5", 2))
        return pnm_label(r, data, len, l.max_pixels, why);
    if (len < 8 || png_sig_cmp(data, 0, 8))
        return png_refuse(data, len, why);
    rc = label_plain(r, data, len, l.max_pixels, why);
    if (rc <= 0)
        return rc;
    g.p = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &g, png_on_error,
                                   png_on_warning, &g, png_on_malloc, png_on_free);
    if (!g.p)
        die("libpng cannot start: no memory, or another version than at build time");
    rc = png_guard(&g, png_rows);
    png_destroy_read_struct(&g.p, &g.info, NULL);
    if (rc < 0)
        strbuf_addstr(why, g.why.len ? g.why.buf : g.reason);
    strbuf_release(&g.why);
    return rc < 0 && g.no_memory ? FAILURE_MACHINE : rc;
}

void label_reader_release(struct label_reader *r)
{
    free(r->pixel);
    png_plain_free(r->plain);
    image_decoder_free(r->decoder);
    image_release(&r->rgb);
    memset(r, 0, sizeof(*r));
}
