/*
 * The usual PNGs, images and label maps, by libdeflate and row filters of our own: 8 bits
 * per channel, not interlaced. It takes a third of the time of stb_image (stb.c) and
 * libpng (png.c), which read the others. PNG specification, 7.2 and 9. Private to
 * src/image.
 */
#ifndef IMAGE_PNG_PLAIN_H
#define IMAGE_PNG_PLAIN_H

#include <stdbool.h>

#include "image/decoder.h"

struct png_plain; /* memory that is used again, for one thread */

struct png_plain *png_plain_new(void);
void png_plain_free(struct png_plain *p);

/*
 * The part of a file that png_chunks_check() has passed, as RGB or, with other
 * `channels`, as it is stored. 0; -1 and a reason; 1: it is not one of the usual ones, or
 * not in these channels, or has more data than pixels.
 */
int png_plain_read(struct png_plain *p, const uint8_t *d, size_t len,
                   const struct image_part *part, int channels, struct image *img,
                   struct strbuf *why);

/* Label maps of bytes, as levels of grey or places in a palette? */
bool png_plain_has_values(const uint8_t *d, size_t len);

/* Of such a file, which png_chunks_check() has passed, the h w bytes as they are stored;
 * as png_plain_read. */
int png_plain_values(struct png_plain *p, const uint8_t *d, size_t len, uint8_t *to,
                     struct strbuf *why);

/*
 * One row of n bytes after its filter (0 to 4), `step` bytes per pixel, into `to`, which
 * has room for four bytes more. up: the row above; both may be read 4 bytes in front of
 * the row, where there are zeros.
 */
void png_plain_unfilter(int filter, int step, const uint8_t *from, const uint8_t *up,
                        uint8_t *to, size_t n);

#endif
