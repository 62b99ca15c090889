/*
 * The two passes of resize.c, in plain C and with AVX2 and AVX-512. Private to src/image.
 *
 * Rows of the source are followed by IMAGE_SLACK readable bytes (of the image after the
 * last row, of later rows after the others). Weights come in fours, with zeros after the
 * last tap. All versions compute clip((sum of weight * pixel + half) >> RESIZE_BITS),
 * with the sum as 2^RESIZE_LOW times that of the high parts plus that of the low parts.
 */
#ifndef IMAGE_RESIZE_PASS_H
#define IMAGE_RESIZE_PASS_H

#include "image/resize.h"

enum {
    RESIZE_GROUP = 4, /* taps per horizontal step */
    RESIZE_LOW = 11   /* bits of the low part */
};

/* Reads `rows` rows of src into rows of dst; dst may be written up to one byte past a
 * row. */
struct resize_rows {
    const uint8_t *src;
    size_t src_stride;
    uint8_t *dst;
    size_t dst_stride;
    int rows;
};

typedef void resize_horizontal_fn(const struct resize_table *t,
                                  const struct resize_rows *r);

/* Computes one output row of `len` bytes from `taps` rows row[k]; taps is even. */
typedef void resize_vertical_fn(const int16_t *high, const int16_t *low,
                                const uint8_t *const *row, int taps, uint8_t *dst,
                                int len);

resize_horizontal_fn resize_horizontal_c;
resize_vertical_fn resize_vertical_c;

resize_horizontal_fn resize_horizontal_avx2;
resize_vertical_fn resize_vertical_avx2;

resize_horizontal_fn resize_horizontal_avx512;
resize_vertical_fn resize_vertical_avx512;

/* Returns the pixel of the two sums. */
static inline uint8_t resize_pixel(int32_t high, uint32_t low)
{
    return resize_byte(((uint32_t)high << RESIZE_LOW) + low);
}

#endif
