#include "image/png_cut.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/failure.h"

/* Errors leave by longjmp, so everything that the guarded part uses is here. */
struct png_cut {
    png_structp p;
    png_infop info;
    jmp_buf jump;
    char reason[200]; /* libpng's first error */
    const uint8_t *data;
    size_t left;
    uint8_t *pixel; /* [h, w, 3] */
    int w, h;
    bool started, no_memory;
};

static void cut_on_warning(png_structp p, png_const_charp text)
{
    struct png_cut *c = png_get_error_ptr(p);

    if (!*c->reason)
        snprintf(c->reason, sizeof(c->reason), "%s", text);
}

__attribute__((noreturn)) static void cut_on_error(png_structp p, png_const_charp text)
{
    struct png_cut *c = png_get_error_ptr(p);

    cut_on_warning(p, text);
    longjmp(c->jump, 1);
}

static void cut_on_read(png_structp p, png_bytep dst, size_t n)
{
    struct png_cut *c = png_get_io_ptr(p);

    if (n > c->left)
        png_error(p, "the file is cut off");
    memcpy(dst, c->data, n);
    c->data += n;
    c->left -= n;
}

static png_voidp cut_on_malloc(png_structp p, png_alloc_size_t size)
{
    struct png_cut *c = png_get_mem_ptr(p);
    void *dst = malloc(size);

    c->no_memory |= !dst && size;
    return dst;
}

static void cut_on_free(png_structp p, png_voidp memory)
{
    (void)p;
    free(memory);
}

/* Converts everything to 8-bit RGB: high bytes, without alpha. */
static void cut_rows(struct png_cut *c)
{
    int passes;

    c->info = png_create_info_struct(c->p);
    if (!c->info)
        png_error(c->p, "no memory");
    png_set_read_fn(c->p, c, cut_on_read);
    png_set_user_limits(c->p, 1 << 24, 1 << 24);
    png_set_chunk_malloc_max(c->p, 1 << 24);
    png_set_crc_action(c->p, PNG_CRC_WARN_USE, PNG_CRC_WARN_DISCARD);
    png_read_info(c->p, c->info);
    png_set_strip_16(c->p);
    png_set_expand(c->p);
    png_set_strip_alpha(c->p);
    png_set_gray_to_rgb(c->p);
    passes = png_set_interlace_handling(c->p);
    png_read_update_info(c->p, c->info);
    if (png_get_rowbytes(c->p, c->info) != 3 * (size_t)c->w)
        png_error(c->p, "rows of another length than the header says");
    c->started = true;
    for (int pass = 0; pass < passes; pass++)
        for (int y = 0; y < c->h; y++)
            png_read_row(c->p, c->pixel + 3 * (size_t)y * (size_t)c->w, NULL);
}

static uint32_t big_endian(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Copies the file and corrects the length of its last chunk, because libpng reads nothing
 * of a chunk that is cut off. */
static uint8_t *cut_copy(const uint8_t *d, size_t len)
{
    uint8_t *copy = xmemdup(d, len);
    size_t pos = 8, n;

    while (pos + 8 <= len && (n = big_endian(d + pos)) <= len - pos - 8)
        pos += 12 + n;
    for (int i = 0; pos + 8 <= len && i < 4; i++)
        copy[pos + (size_t)i] = (uint8_t)((len - pos - 8) >> 8 * (3 - i));
    return copy;
}

static void cut_decode(struct png_cut *c)
{
    if (!setjmp(c->jump))
        cut_rows(c);
}

int png_cut_read(const struct decoder_file *f, int w, int h,
                 const struct image_part *part, struct image *img, struct strbuf *why)
{
    uint8_t *copy = cut_copy(f->data, f->len);
    struct png_cut c = {.data = copy, .left = f->len, .w = w, .h = h};
    int rc = 0;

    c.p = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &c, cut_on_error,
                                   cut_on_warning, &c, cut_on_malloc, cut_on_free);
    if (!c.p)
        die("libpng cannot start: no memory, or another version than at build time");
    c.pixel = xcalloc((size_t)w * (size_t)h, 3);
    cut_decode(&c);
    png_destroy_read_struct(&c.p, &c.info, NULL);
    if (c.no_memory || !c.started) {
        strbuf_addstr(why, *c.reason ? c.reason : "damaged");
        rc = c.no_memory ? FAILURE_MACHINE : FAILURE_DATA;
    } else {
        decoder_warn(f, *c.reason ? c.reason : "damaged");
        image_resize_reserve(img, part->w, part->h);
        img->x = part->x;
        img->y = part->y;
        for (int y = 0; y < part->h; y++)
            memcpy(img->pixel + (size_t)y * img->stride,
                   c.pixel + 3 * ((size_t)(part->y + y) * (size_t)w + (size_t)part->x),
                   img->stride);
    }
    free(c.pixel);
    free(copy);
    return rc;
}
