/* The two passes in plain C, which say what the others compute. */
#include "image/resize_pass.h"

void resize_horizontal_c(const struct resize_table *t, const struct resize_rows *r)
{
    for (int y = 0; y < r->rows; y++) {
        const uint8_t *src = r->src + (size_t)y * r->src_stride;
        uint8_t *dst = r->dst + (size_t)y * r->dst_stride;

        for (int x = 0; x < t->n; x++, dst += 3) {
            const int16_t *w = t->weight + (size_t)x * (size_t)t->stride;
            const uint8_t *p = src + (size_t)t->first[x] * 3;
            int32_t sum[3] = {1 << (t->bits - 1), 1 << (t->bits - 1), 1 << (t->bits - 1)};

            for (int k = 0; k < t->taps; k++, p += 3)
                for (int c = 0; c < 3; c++)
                    sum[c] += w[k] * p[c];
            for (int c = 0; c < 3; c++)
                dst[c] = resize_clip(sum[c] >> t->bits);
        }
    }
}

void resize_vertical_c(const int16_t *weight, const uint8_t *const *row, int taps,
                       int bits, uint8_t *dst, int len)
{
    for (int i = 0; i < len; i++) {
        int32_t sum = 1 << (bits - 1);

        for (int k = 0; k < taps; k++)
            sum += weight[k] * row[k][i];
        dst[i] = resize_clip(sum >> bits);
    }
}
