/* The two passes in plain C: the reference for the others. */
#include "image/resize_pass.h"

void resize_horizontal_c(const struct resize_table *t, const struct resize_rows *r)
{
    for (int y = 0; y < r->rows; y++) {
        const uint8_t *src = r->src + (size_t)y * r->src_stride;
        uint8_t *dst = r->dst + (size_t)y * r->dst_stride;

        for (int x = 0; x < t->n; x++, dst += 3) {
            size_t pos = (size_t)x * (size_t)t->stride;
            const uint8_t *p = src + (size_t)t->first[x] * 3;
            int32_t high[3] = {0};
            uint32_t low[3] = {0};

            for (int k = 0; k < t->taps; k++, p += 3)
                for (int c = 0; c < 3; c++) {
                    high[c] += t->high[pos + (size_t)k] * p[c];
                    low[c] += (uint32_t)(t->low[pos + (size_t)k] * p[c]);
                }
            for (int c = 0; c < 3; c++)
                dst[c] = resize_pixel(high[c], low[c]);
        }
    }
}

void resize_vertical_c(const int16_t *high, const int16_t *low, const uint8_t *const *row,
                       int taps, uint8_t *dst, int len)
{
    for (int i = 0; i < len; i++) {
        int32_t sum = 0;
        uint32_t rest = 0;

        for (int k = 0; k < taps; k++) {
            sum += high[k] * row[k][i];
            rest += (uint32_t)(low[k] * row[k][i]);
        }
        dst[i] = resize_pixel(sum, rest);
    }
}
