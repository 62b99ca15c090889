/* JPEG files from RGB pixels, for generated data and for tests. */
#ifndef IMAGE_ENCODE_H
#define IMAGE_ENCODE_H

#include <stddef.h>
#include <stdint.h>

/*
 * A baseline JPEG of w * h pixels, three bytes each, rows without padding. Quality 1 to
 * 100; chroma is not subsampled. The result is the caller's to free(). The same pixels
 * give the same bytes with the same version of libjpeg-turbo.
 */
unsigned char *jpeg_encode(const uint8_t *rgb, int w, int h, int quality, size_t *len);

#endif
