/*
 * The inside of a BMP, which an icon has, too: a device-independent bitmap is a header, a
 * palette, and rows. Private to src/image.
 *
 *   struct bmp b;
 *   if (bmp_header(&b, data, len, at, offset, why) < 0) ...
 *   b.h = ...                                      an icon's height covers its mask
 *   bmp_pixels(&b, f, part, img, why)
 */
#ifndef IMAGE_BMP_H
#define IMAGE_BMP_H

#include "image/decoder.h"

struct bmp {
    int w, h;         /* INT_MAX: no image has as many */
    bool top_down;    /* the first row that is stored is the highest */
    int bits;         /* of a pixel */
    int compression;  /* BMP_... of bmp.c */
    uint32_t mask[3]; /* of red, green, and blue in a pixel of 16 bits or more */
    size_t pixels;    /* where they begin in the file */
    uint8_t palette[256][3];
};

/* The header at `at`; `offset`: where the file says that the pixels begin, 0: after the
 * header and the palette. FAILURE_DATA with a reason. */
int bmp_header(struct bmp *b, const uint8_t *data, size_t len, size_t at, size_t offset,
               struct strbuf *why);

/* The part as RGB, as decoder.read. Offsets are those of f->data. */
int bmp_pixels(const struct bmp *b, const struct decoder_file *f,
               const struct image_part *part, struct image *img, struct strbuf *why);

#endif
