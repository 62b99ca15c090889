#include "ops/pool2d.h"

#include <math.h>

#include "ops/image.h"
#include "ops/window.h"

static int64_t pool2d_out(const struct pool2d *p, int64_t in)
{
    return window_count(in, p->kernel, p->stride, p->padding, 1, p->ceil);
}

const char *pool2d_shape(const struct pool2d *p, const struct tensor *x, struct tensor *y)
{
    int64_t h, w;

    if (!tensor_is_image(x))
        return "not an image";
    if (2 * p->padding > p->kernel)
        return "the padding is more than half of the kernel";
    h = pool2d_out(p, x->dim[IMAGE_H]);
    w = pool2d_out(p, x->dim[IMAGE_W]);
    if (h <= 0 || w <= 0)
        return "the window is larger than the image";
    tensor_image(y, x->dtype, x->dim[IMAGE_N], x->dim[IMAGE_C], h, w);
    return NULL;
}

bool pool2d_fits(const struct pool2d *p, int64_t h, int64_t w, const struct tensor *y)
{
    return tensor_is_image(y) && y->dim[IMAGE_H] == pool2d_out(p, h) &&
           y->dim[IMAGE_W] == pool2d_out(p, w);
}

void pool2d_each(const struct step *s,
                 float (*value)(const struct step *s, const int64_t at[4]))
{
    const struct tensor *t = s->node->out[0];
    float *to = s->out[0];
    int64_t at[4];

    for (at[0] = 0; at[0] < t->dim[0]; at[0]++)
        for (at[1] = 0; at[1] < t->dim[1]; at[1]++)
            for (at[2] = 0; at[2] < t->dim[2]; at[2]++)
                for (at[3] = 0; at[3] < t->dim[3]; at[3]++)
                    to[image_at(t, at[0], at[1], at[2], at[3])] = value(s, at);
}

int64_t pool2d_winner(const struct pool2d *p, const struct tensor *t, const float *x,
                      const int64_t at[4], int *place)
{
    int64_t won = -1;

    for (int kh = 0; kh < p->kernel; kh++)
        for (int kw = 0; kw < p->kernel; kw++) {
            int64_t h = window_at(at[IMAGE_H], kh, p->stride, p->padding, 1);
            int64_t w = window_at(at[IMAGE_W], kw, p->stride, p->padding, 1);

            if (h < 0 || h >= t->dim[IMAGE_H] || w < 0 || w >= t->dim[IMAGE_W])
                continue;

            int64_t i = image_at(t, at[IMAGE_N], at[IMAGE_C], h, w);

            if (won >= 0 && !(x[i] > x[won]) && !isnan(x[i]))
                continue;
            won = i;
            *place = kh * p->kernel + kw;
        }
    return won;
}

float pool2d_won(const struct pool2d *p, const struct step *s, int dy,
                 int (*place)(const struct step *s, const int64_t window[4]),
                 const int64_t at[4])
{
    const struct tensor *t = s->node->in[dy];
    const float *grad = s->in[dy];
    double sum = 0;

    for (int kh = 0; kh < p->kernel; kh++)
        for (int kw = 0; kw < p->kernel; kw++) {
            int64_t h = at[IMAGE_H] + p->padding - kh, w = at[IMAGE_W] + p->padding - kw;
            int64_t y[4] = {at[0], at[1], h / p->stride, w / p->stride};

            if (h < 0 || h % p->stride || y[IMAGE_H] >= t->dim[IMAGE_H] || w < 0 ||
                w % p->stride || y[IMAGE_W] >= t->dim[IMAGE_W])
                continue;
            if (place(s, y) == kh * p->kernel + kw)
                sum += grad[image_at(t, y[0], y[1], y[2], y[3])];
        }
    return (float)sum;
}
