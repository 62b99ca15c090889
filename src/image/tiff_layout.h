/*
 * What the pixels of an open TIFF mean and in which blocks they come: bits, planes,
 * colours. Private to src/image.
 *
 * Read are grey levels (1, 2, 4 or 8 bits, white or black first), palettes of the same,
 * and with 8 bits grey and alpha, RGB, RGBA, CMYK and JPEG's YCbCr; stored pixel by pixel
 * or plane by plane, in strips or tiles. More bits, numbers with a sign, and floats are
 * those of tiff_deep.h. All else has a reason.
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
    int block_w, block_h; /* of a strip or tile, the whole of one */
    int planes;           /* 1: all samples of a pixel stand together */
    size_t row;           /* bytes of a row of a block, of one plane */
    int bits;             /* of a sample */
    int step; /* bytes from pixel to pixel, planes woven together; of 8 bits */
    int out;  /* bytes of a pixel that is made: 3 of RGB */
    void (*colours)(const struct tiff_layout *l, const uint8_t *row, int x, int n,
                    uint8_t *dst);
    uint8_t table[256][3]; /* of each grey level or index */
};

/* -1 with a reason, or the sides, which may be anything above 0. */
int tiff_size(TIFF *t, int *w, int *h, struct strbuf *why);

/* -1 with a reason: a compression that is not read. */
int tiff_check_codec(TIFF *t, struct strbuf *why);

/* Pixels that a strip or tile may have in an image of so many. */
size_t tiff_block_limit(int w, int h);

/* True if strips or tiles of bw x bh pixels, of `each` bytes in memory, are in proportion to
 * an image of w x h: a small file could ask for gigabytes. */
bool tiff_block_fits(int w, int h, uint32_t bw, uint32_t bh, uint64_t each);

/* The sides are known to be within limits. -1 with a reason. */
int tiff_layout_init(struct tiff_layout *l, TIFF *t, struct strbuf *why);

/* The same for pixels of `channels` as they are stored, of 8 bits; of one, which is grey,
 * 8 or fewer. */
int tiff_layout_bands(struct tiff_layout *l, TIFF *t, int channels, struct strbuf *why);

/* n pixels from the x-th of a row of a block, planes woven together, of `out` bytes. */
void tiff_layout_row(const struct tiff_layout *l, const uint8_t *row, int x, int n,
                     uint8_t *dst);

#endif
