/* Writes JPEG and PNG files, for generated data, results, and tests. */
#ifndef IMAGE_ENCODE_H
#define IMAGE_ENCODE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Encodes w * h pixels, three bytes each, without row padding, as a baseline JPEG.
 * Quality is 1 to 100; chroma is not subsampled. The caller frees the result. The same
 * pixels give the same bytes with the same version of libjpeg-turbo.
 */
unsigned char *jpeg_encode(const uint8_t *rgb, int w, int h, int quality, size_t *len);

struct png_bitmap {
    const uint8_t *pixel;       /* without row padding */
    int w, h, channels;         /* 1: gray levels or indices, 3: RGB */
    const uint8_t *palette;     /* of indices: colors x RGB; NULL: gray levels */
    int colors;                 /* at most 256 */
    const char *keyword, *text; /* of a text chunk, or NULL */
};

/* The caller frees the result. */
unsigned char *png_encode(const struct png_bitmap *g, size_t *len);

#endif
