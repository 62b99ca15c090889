/*
 * The usual PNGs, images and label maps, with libdeflate and our own row filters: 8 bits
 * per channel, not interlaced. Takes a third of the time of stb_image (stb.c) and libpng
 * (png.c), which read all others. PNG specification, 7.2 and 9. Private to src/image.
 */
#ifndef IMAGE_PNG_PLAIN_H
#define IMAGE_PNG_PLAIN_H

#include <stdbool.h>

#include "image/decoder.h"

struct png_plain; /* reusable memory of one thread */

struct png_plain *png_plain_new(void);
void png_plain_free(struct png_plain *p);

/*
 * Reads the part as RGB or, with other `channels`, as stored. Requires
 * png_chunks_check(). Returns 0; -1 with a reason; or 1 if the PNG is not one of the
 * usual ones, has other channels, or has more data than pixels.
 */
int png_plain_read(struct png_plain *p, const uint8_t *d, size_t len,
                   const struct image_part *part, int channels, struct image *img,
                   struct strbuf *why);

/* True for label maps of bytes: gray levels or palette indices. */
bool png_plain_has_values(const uint8_t *d, size_t len);

/* Reads the h w bytes of such a file as stored. Requires png_chunks_check(). Returns as
 * png_plain_read. */
int png_plain_values(struct png_plain *p, const uint8_t *d, size_t len, uint8_t *dst,
                     struct strbuf *why);

/*
 * Unfilters one row of n bytes that follows its filter (0 to 4), `step` bytes per pixel,
 * into `dst`, which has room for four bytes more. up: the row above. Four zero bytes must
 * precede both output rows.
 */
void png_plain_unfilter(int filter, int step, const uint8_t *src, const uint8_t *up,
                        uint8_t *dst, size_t n);

#endif
