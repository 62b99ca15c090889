/* Writes PNGs with libpng. Its errors leave by longjmp; here they end the program. */
#include "image/encode.h"

#include <stdlib.h>

#include <png.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/strbuf.h"

__attribute__((noreturn)) static void on_error(png_structp p, png_const_charp text)
{
    (void)p;
    die("cannot encode a PNG: %s", text);
}

static void on_warning(png_structp p, png_const_charp text)
{
    (void)p;
    (void)text;
}

static void on_write(png_structp p, png_bytep start, size_t n)
{
    strbuf_add(png_get_io_ptr(p), start, n);
}

static void on_flush(png_structp p)
{
    (void)p;
}

static void put_palette(png_structp p, png_infop info, const uint8_t *rgb, int n)
{
    png_color color[256] = {{0}};

    for (int c = 0; c < n && c < 256; c++)
        color[c] = (png_color){rgb[3 * c], rgb[3 * c + 1], rgb[3 * c + 2]};
    png_set_PLTE(p, info, color, n);
}

/* libpng copies both strings without changing them. */
static void put_text(png_structp p, png_infop info, const struct png_bitmap *g)
{
    char *keyword = xstrdup(g->keyword), *words = xstrdup(g->text);
    png_text text = {
        .compression = PNG_TEXT_COMPRESSION_NONE, .key = keyword, .text = words};

    png_set_text(p, info, &text, 1);
    free(keyword);
    free(words);
}

unsigned char *png_encode(const struct png_bitmap *g, size_t *len)
{
    int kind = g->palette         ? PNG_COLOR_TYPE_PALETTE
               : g->channels == 3 ? PNG_COLOR_TYPE_RGB
                                  : PNG_COLOR_TYPE_GRAY;
    struct strbuf out = STRBUF_INIT;
    png_structp p =
        png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, on_error, on_warning);
    png_infop info = p ? png_create_info_struct(p) : NULL;

    if (!info)
        die("libpng cannot start: no memory, or not the version of the build");
    if ((g->channels != 1 && g->channels != 3) || (g->palette && g->channels != 1))
        BUG("a PNG of %d channels", g->channels);
    png_set_write_fn(p, &out, on_write, on_flush);
    png_set_IHDR(p, info, (png_uint_32)g->w, (png_uint_32)g->h, 8, kind,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    if (g->palette)
        put_palette(p, info, g->palette, g->colors);
    if (g->keyword)
        put_text(p, info, g);
    if (g->channels == 1) /* filters do not help with class indices */
        png_set_filter(p, 0, PNG_FILTER_NONE);
    png_write_info(p, info);
    for (int y = 0; y < g->h; y++)
        png_write_row(p, g->pixel + (size_t)y * (size_t)g->w * (size_t)g->channels);
    png_write_end(p, info);
    png_destroy_write_struct(&p, &info);
    *len = out.len;
    return (unsigned char *)strbuf_detach(&out);
}
