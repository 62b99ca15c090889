/*
 * What decode.c knows of the two libraries and of PGM and PPM: one file each (jpeg.c,
 * stb.c, pnm.c), the same calls. Private to src/image.
 */
#ifndef IMAGE_DECODER_H
#define IMAGE_DECODER_H

#include "image/image.h"

struct jpeg;

struct jpeg *jpeg_new(void);
void jpeg_free(struct jpeg *j);
int jpeg_open(struct jpeg *j, const void *data, size_t len, int *w, int *h,
              struct strbuf *why);
int jpeg_read(struct jpeg *j, const struct image_part *part, struct image *img,
              struct strbuf *why);

int stb_open(const void *data, size_t len, int *w, int *h, struct strbuf *why);
int stb_read(const void *data, size_t len, const struct image_part *part,
             struct image *img, struct strbuf *why);

int pnm_open(const void *data, size_t len, int *w, int *h, struct strbuf *why);
int pnm_read(const void *data, size_t len, const struct image_part *part,
             struct image *img, struct strbuf *why);

#endif
