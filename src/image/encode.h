/* JPEG and PNG files, for generated data, results and tests. */
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

struct png_bitmap {
    const uint8_t *pixel;       /* rows without padding */
    int w, h, channels;         /* 1: values, 3: RGB */
    const uint8_t *palette;     /* of the values: colours x RGB; NULL: grey levels */
    int colours;                /* at most 256 */
    const char *keyword, *text; /* of a text chunk; NULL: none */
};

/* The result is the caller's to free(). */
unsigned char *png_encode(const struct png_bitmap *g, size_t *len);

#endif
