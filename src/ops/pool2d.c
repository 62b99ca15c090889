#include "ops/pool2d.h"

#include <math.h>
#include <stddef.h>

#include "ops/image.h"
#include "ops/window.h"

enum { SIDE = 1 << 20 };

const struct attr pool2d_attr_table[] = {
    ATTR_INT(struct pool2d_attrs, kernel_h, 0, SIDE, "rows of the window"),
    ATTR_INT(struct pool2d_attrs, kernel_w, 0, SIDE, "columns of the window"),
    ATTR_INT(struct pool2d_attrs, stride_h, 0, SIDE, "rows between windows"),
    ATTR_INT(struct pool2d_attrs, stride_w, 0, SIDE, "columns between windows"),
    ATTR_INT(struct pool2d_attrs, pad_h, 0, 512, "rows above and below the image"),
    ATTR_INT(struct pool2d_attrs, pad_w, 0, 512, "columns left and right of the image"),
    ATTR_INT(struct pool2d_attrs, ceil_mode, 0, 1, "windows may hang over the end"),
    ATTR_INT(struct pool2d_attrs, count_include_pad, 0, 1, "the mean counts padding"),
    ATTR_INT(struct pool2d_attrs, out_h, 0, SIDE, "adaptive: rows of the result"),
    ATTR_INT(struct pool2d_attrs, out_w, 0, SIDE, "adaptive: columns of the result"),
    {0},
};

static int or_else(int value, int other)
{
    return value ? value : other;
}

/* An adaptive pool whose windows are all alike becomes one that is not adaptive. */
static void make_plain(struct pool2d_attrs *a)
{
    if (a->kernel_h || a->kernel_w || a->stride_h || a->stride_w || a->out_h < 1 ||
        a->out_w < 1 || a->in_h % a->out_h || a->in_w % a->out_w)
        return;
    a->kernel_h = a->stride_h = a->in_h / a->out_h;
    a->kernel_w = a->stride_w = a->in_w / a->out_w;
    a->out_h = a->out_w = 0;
}

struct pool2d_attrs pool2d_resolve(const struct pool2d_attrs *a, const struct tensor *x)
{
    struct pool2d_attrs r = *a;

    r.kernel_h = or_else(r.kernel_h, r.kernel);
    r.kernel_w = or_else(r.kernel_w, r.kernel);
    r.stride_h = or_else(or_else(r.stride_h, r.stride), r.kernel_h);
    r.stride_w = or_else(or_else(r.stride_w, r.stride), r.kernel_w);
    r.pad_h = or_else(r.pad_h, r.padding);
    r.pad_w = or_else(r.pad_w, r.padding);
    r.in_h = (int)x->dim[IMAGE_H];
    r.in_w = (int)x->dim[IMAGE_W];
    r.kernel = r.stride = r.padding = 0;
    make_plain(&r);
    if (r.kernel_h == r.kernel_w && r.stride_h == r.stride_w && r.pad_h == r.pad_w) {
        r.kernel = r.kernel_h;
        r.stride = r.stride_h;
        r.padding = r.pad_h;
    }
    return r;
}

/* The windows along one axis; out > 0: adaptive. */
struct axis {
    int kernel, stride, pad, out;
    int64_t in;
};

static struct axis axis_of(const struct pool2d_attrs *a, int axis)
{
    if (axis == IMAGE_H)
        return (struct axis){a->kernel_h, a->stride_h, a->pad_h, a->out_h, a->in_h};
    return (struct axis){a->kernel_w, a->stride_w, a->pad_w, a->out_w, a->in_w};
}

static int64_t windows(const struct pool2d_attrs *a, int axis)
{
    struct axis x = axis_of(a, axis);

    return x.out ? x.out : window_count(x.in, x.kernel, x.stride, x.pad, 1, a->ceil_mode);
}

/* The first position of window o, which may be padding. */
static int64_t window_begin(const struct axis *x, int64_t o)
{
    return x->out ? o * x->in / x->out : window_at(o, 0, x->stride, x->pad, 1);
}

int64_t pool2d_span(const struct pool2d_attrs *a, int axis, int64_t o, int64_t *first,
                    int64_t *end)
{
    struct axis x = axis_of(a, axis);
    int64_t begin = window_begin(&x, o), padded = x.in + x.pad;

    if (x.out) {
        *first = begin;
        *end = ((o + 1) * x.in + x.out - 1) / x.out;
        return *end - *first;
    }
    window_span(o, x.in, x.kernel, x.stride, x.pad, first, end);
    if (!a->count_include_pad)
        return *end - *first;
    return (begin + x.kernel < padded ? begin + x.kernel : padded) - begin;
}

struct resample_taps pool2d_taps(const struct pool2d_attrs *a, int axis)
{
    struct axis x = axis_of(a, axis);
    int width = x.out ? (int)(x.in / x.out) + 2 : x.kernel;
    struct resample_taps t = resample_taps_new(windows(a, axis), width);

    for (int64_t o = 0; o < t.n; o++) {
        int64_t first, end, divisor = pool2d_span(a, axis, o, &first, &end);

        for (int64_t i = first; i < end; i++)
            resample_taps_add(&t, o, i, 1 / (double)divisor);
    }
    return t;
}

const char *pool2d_shape(const struct pool2d_attrs *a, const struct tensor *x,
                         struct tensor *y)
{
    int64_t h, w;

    if (!tensor_is_image(x))
        return "not an image";
    if (!a->out_h != !a->out_w)
        return "an adaptive pool has both out_h and out_w";
    if (a->out_h && (a->kernel_h || a->kernel_w || a->stride_h || a->stride_w ||
                     a->pad_h || a->pad_w || a->ceil_mode || a->count_include_pad))
        return "an adaptive pool has no kernel, stride, padding, or modes of them";
    if (!a->out_h && (!a->kernel_h || !a->kernel_w))
        return "the window has no size";
    if (2 * a->pad_h > a->kernel_h || 2 * a->pad_w > a->kernel_w)
        return "the padding is more than half of the kernel";
    h = windows(a, IMAGE_H);
    w = windows(a, IMAGE_W);
    if (h <= 0 || w <= 0)
        return "the window is larger than the image";
    tensor_image(y, x->dtype, x->dim[IMAGE_N], x->dim[IMAGE_C], h, w);
    return NULL;
}

bool pool2d_fits(const struct pool2d_attrs *a, const struct tensor *y)
{
    return tensor_is_image(y) && y->dim[IMAGE_H] == windows(a, IMAGE_H) &&
           y->dim[IMAGE_W] == windows(a, IMAGE_W);
}

int64_t pool2d_flops(const struct pool2d_attrs *a, const struct tensor *y)
{
    struct axis h = axis_of(a, IMAGE_H), w = axis_of(a, IMAGE_W);
    int64_t rows = h.out ? (h.in + h.out - 1) / h.out : h.kernel;
    int64_t columns = w.out ? (w.in + w.out - 1) / w.out : w.kernel;

    return tensor_len(y) * rows * columns;
}

void pool2d_each(const struct step *s,
                 float (*value)(const struct step *s, const int64_t ptr[4]))
{
    const struct tensor *t = s->node->out[0];
    float *dst = s->out[0];
    int64_t ptr[4];

    for (ptr[0] = 0; ptr[0] < t->dim[0]; ptr[0]++)
        for (ptr[1] = 0; ptr[1] < t->dim[1]; ptr[1]++)
            for (ptr[2] = 0; ptr[2] < t->dim[2]; ptr[2]++)
                for (ptr[3] = 0; ptr[3] < t->dim[3]; ptr[3]++)
                    dst[image_at(t, ptr[0], ptr[1], ptr[2], ptr[3])] = value(s, ptr);
}

/* Returns the position of pixel (h, w) within the window at = {n, c, h, w}. */
static int place_of(const struct pool2d_attrs *a, const int64_t ptr[4], int64_t h,
                    int64_t w)
{
    struct axis rows = axis_of(a, IMAGE_H), columns = axis_of(a, IMAGE_W);
    int64_t row = h - window_begin(&rows, ptr[IMAGE_H]);

    return (int)(row * or_else(a->kernel_w, a->in_w) + w -
                 window_begin(&columns, ptr[IMAGE_W]));
}

int64_t pool2d_winner(const struct pool2d_attrs *a, const struct tensor *t,
                      const float *x, const int64_t ptr[4], int *place)
{
    int64_t won = -1, top, bottom, left, right;

    (void)pool2d_span(a, IMAGE_H, ptr[IMAGE_H], &top, &bottom);
    (void)pool2d_span(a, IMAGE_W, ptr[IMAGE_W], &left, &right);
    for (int64_t h = top; h < bottom; h++)
        for (int64_t w = left; w < right; w++) {
            int64_t i = image_at(t, ptr[IMAGE_N], ptr[IMAGE_C], h, w);

            if (won >= 0 && !(x[i] > x[won]) && !isnan(x[i]))
                continue;
            won = i;
            *place = place_of(a, ptr, h, w);
        }
    return won;
}

float pool2d_won(const struct pool2d_attrs *a, const struct step *s, int dy,
                 int (*place)(const struct step *s, const int64_t window[4]),
                 const int64_t ptr[4])
{
    const struct tensor *t = s->node->in[dy];
    const float *grad = s->in[dy];
    int64_t y[4] = {ptr[0], ptr[1], 0, 0}, first, end;
    double sum = 0;

    for (y[2] = 0; y[2] < t->dim[2]; y[2]++) {
        (void)pool2d_span(a, IMAGE_H, y[2], &first, &end);
        if (ptr[2] < first || ptr[2] >= end)
            continue;
        for (y[3] = 0; y[3] < t->dim[3]; y[3]++) {
            (void)pool2d_span(a, IMAGE_W, y[3], &first, &end);
            if (ptr[3] >= first && ptr[3] < end &&
                place(s, y) == place_of(a, y, ptr[2], ptr[3]))
                sum += grad[image_at(t, y[0], y[1], y[2], y[3])];
        }
    }
    return (float)sum;
}
