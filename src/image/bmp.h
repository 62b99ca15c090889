/*
 * The contents of a BMP, also used in icons: a device-independent bitmap is a header, a
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
    int w, h;         /* up to INT_MAX, which the limits refuse */
    bool top_down;    /* the first stored row is the top row */
    int bits;         /* per pixel */
    int compression;  /* BMP_... of bmp.c */
    uint32_t mask[3]; /* of red, green, and blue, for 16 bits per pixel or more */
    size_t pixels;    /* offset in the file */
    uint8_t palette[256][3];
};

/* Reads the header at `pos`. `offset`: offset of the pixels according to the file header;
 * 0: right after header and palette. Returns FAILURE_DATA with a reason on errors. */
int bmp_header(struct bmp *b, const uint8_t *data, size_t len, size_t pos, size_t offset,
               struct strbuf *why);

/* Reads the part as RGB, as decoder.read. Offsets refer to f->data. */
int bmp_pixels(const struct bmp *b, const struct decoder_file *f,
               const struct image_part *part, struct image *img, struct strbuf *why);

#endif
