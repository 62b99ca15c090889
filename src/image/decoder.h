/*
 * What decode.c knows of the formats: one file for each library (jpeg.c, stb.c, webp.c,
 * tiff.c) and for PGM and PPM (pnm.c), the same calls. Private to src/image.
 *
 * NAME_open reads the size in the header and takes no memory for pixels; NAME_read reads
 * a part that lies in the picture. Both return -1 with a reason. NAME_is looks at the
 * first bytes.
 */
#ifndef IMAGE_DECODER_H
#define IMAGE_DECODER_H

#include <stdbool.h>

#include "image/image.h"

/*
 * What is left of `white` in one colour by so much ink, both in [0, 255]:
 * white - ink white / 255, rounded as Pillow does it.
 */
static inline uint8_t decoder_ink(unsigned ink, unsigned white)
{
    unsigned t = ink * white + 128;

    return (uint8_t)(white - (((t >> 8) + t) >> 8));
}

struct jpeg;

struct jpeg *jpeg_new(void);
void jpeg_free(struct jpeg *j);
bool jpeg_is(const void *data, size_t len);
int jpeg_open(struct jpeg *j, const void *data, size_t len, int *w, int *h,
              struct strbuf *why);
int jpeg_read(struct jpeg *j, const struct image_part *part, struct image *img,
              struct strbuf *why);

bool stb_is(const void *data, size_t len);
int stb_open(const void *data, size_t len, int *w, int *h, struct strbuf *why);
int stb_read(const void *data, size_t len, const struct image_part *part,
             struct image *img, struct strbuf *why);

bool pnm_is(const void *data, size_t len);
int pnm_open(const void *data, size_t len, int *w, int *h, struct strbuf *why);
int pnm_read(const void *data, size_t len, const struct image_part *part,
             struct image *img, struct strbuf *why);

bool webp_is(const void *data, size_t len);
int webp_open(const void *data, size_t len, int *w, int *h, struct strbuf *why);
int webp_read(const void *data, size_t len, const struct image_part *part,
              struct image *img, struct strbuf *why);

bool tiff_is(const void *data, size_t len);
int tiff_open(const void *data, size_t len, int *w, int *h, struct strbuf *why);
int tiff_read(const void *data, size_t len, const struct image_part *part,
              struct image *img, struct strbuf *why);

#endif
