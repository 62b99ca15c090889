/* JPEGs for tests, made by libjpeg from a formula: any size, sampling, and color
 * space. */
#ifndef TESTS_IMAGE_MAKE_JPEG_H
#define TESTS_IMAGE_MAKE_JPEG_H

#include <stddef.h>
#include <stdint.h>

struct make_jpeg {
    int w, h;
    int quality;            /* 0 means 90 */
    int h_factor, v_factor; /* of luma; 0 means 2 and 2 (4:2:0) */
    int progressive, arithmetic;
    int cmyk; /* 1: CMYK; 2: CMYK stored as YCCK */
    int seed; /* selects another image */
};

/* Returns the file's bytes; free() them. */
uint8_t *make_jpeg(const struct make_jpeg *m, size_t *len);

#endif
