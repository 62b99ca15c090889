/*
 * The meaning of the pixels of an open TIFF and their blocks: bits, planes, colors.
 * Private to src/image.
 *
 * Supported: gray levels (1, 2, 4, or 8 bits, white or black first), palettes of these,
 * and with 8 bits gray and alpha, RGB, RGBA, CMYK, and JPEG's YCbCr; stored by pixel or
 * by plane, in strips or tiles. tiff_deep.h handles more bits, signed numbers, and
 * floats. All other files are refused with a reason.
 */
#ifndef IMAGE_TIFF_LAYOUT_H
#define IMAGE_TIFF_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tiffio.h>

#include "base/strbuf.h"

struct tiff_layout {
    int w, h;
    bool tiled;
    int block_w, block_h; /* of a whole strip or tile */
    int planes;           /* 1: all samples of a pixel are adjacent */
    size_t row;           /* bytes of a block's row, per plane */
    int bits;             /* per sample */
    int step;             /* bytes per pixel, planes interleaved; 8-bit samples */
    int out;              /* bytes of an output pixel: 3 for RGB */
    void (*colors)(const struct tiff_layout *l, const uint8_t *row, int x, int n,
                   uint8_t *dst);
    uint8_t table[256][3]; /* by gray level or index */
};

/* Reads the sides, which may be any positive number; returns -1 with a reason on errors. */
int tiff_size(TIFF *t, int *w, int *h, struct strbuf *why);

/* Returns -1 with a reason if the compression is not supported. */
int tiff_check_codec(TIFF *t, struct strbuf *why);

/* Returns the maximum pixels of a strip or tile in an image of this size. */
size_t tiff_block_limit(int w, int h);

/* True if strips or tiles of bw x bh pixels, of `each` bytes in memory, are in proportion
 * to an image of w x h: a small file could otherwise request gigabytes. */
bool tiff_block_fits(int w, int h, uint32_t bw, uint32_t bh, uint64_t each);

/* Requires a size within the limits. Returns -1 with a reason on errors. */
int tiff_layout_init(struct tiff_layout *l, TIFF *t, struct strbuf *why);

/* Same for pixels of `channels` channels as stored, of 8 bits; a single channel is gray,
 * of 8 bits or fewer. */
int tiff_layout_bands(struct tiff_layout *l, TIFF *t, int channels, struct strbuf *why);

/* Converts n pixels from x on of a row of a block, planes interleaved, to `out` bytes
 * each. */
void tiff_layout_row(const struct tiff_layout *l, const uint8_t *row, int x, int n,
                     uint8_t *dst);

#endif
