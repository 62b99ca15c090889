/* Reads a label map from the bytes of a PGM ("P5"); see label_read. Private to src/image. */
#ifndef IMAGE_PNM_H
#define IMAGE_PNM_H

#include "image/label.h"

int pnm_label(struct label_reader *r, const void *data, size_t len, int64_t max_pixels,
              struct strbuf *why);

#endif
