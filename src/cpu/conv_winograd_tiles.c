#include "cpu/conv_winograd.h"

enum {
    NEAR = 1 << 20,      /* bytes of a block in both forms that a core's cache holds */
    FEW = 6 * GEMM_ROWS, /* tiles of a block, at least */
    PIECE = 512,         /* channels that are transformed at a time */
};

struct winograd_tiles winograd_tiles(const struct conv_shape *s, int threads)
{
    struct winograd_tiles w = {
        .rows = (s->h + WINOGRAD_OUT - 1) / WINOGRAD_OUT,
        .cols = (s->w + WINOGRAD_OUT - 1) / WINOGRAD_OUT,
    };
    int64_t tile = WINOGRAD_PLANES * (int64_t)(s->c + s->k) * (int64_t)sizeof(float);
    int64_t blocks, each;
    int most = at_most(NEAR / tile, WINOGRAD_MOST);

    w.all = (int64_t)s->n * w.rows * w.cols;
    each = (w.all + threads - 1) / threads;
    most = most < FEW ? FEW : most;
    blocks = (each + most - 1) / most; /* of about equal size */
    w.most = round_up((int)((each + blocks - 1) / blocks), GEMM_ROWS);
    return w;
}

/* Pixel i of side x side ones from [y, x] on: where it lies in an image, -1: outside. */
static ptrdiff_t pixel_at(const struct conv_shape *s, int y, int x, int side, int i)
{
    y += i / side;
    x += i % side;
    return y < 0 || y >= s->h || x < 0 || x >= s->w ? -1 : (ptrdiff_t)y * s->w + x;
}

void winograd_transform(const struct device *dev, enum winograd t,
                        const struct conv_shape *s, const struct winograd_tiles *w,
                        const float *image, int all, int channels, int64_t lo, int n,
                        const struct winograd_planes *to)
{
    static const float zeros[PIECE];
    struct conv_place p = conv_place(w->rows, w->cols, lo);
    int border = t == WINOGRAD_X ? 1 : 0, width = border ? GEMM_RIGHT : GEMM_LEFT;
    int side = WINOGRAD_OUT + 2 * border;
    ptrdiff_t size = (ptrdiff_t)s->h * s->w * all;
    const float *pixel[WINOGRAD_PLANES];
    float *plane[WINOGRAD_PLANES];

    for (int i = 0; i < n; i++, conv_place_next(w->rows, w->cols, &p))
        for (int c = 0; c < channels; c += PIECE) {
            for (int q = 0; q < side * side; q++) {
                ptrdiff_t at = pixel_at(s, p.row * WINOGRAD_OUT - border,
                                        p.col * WINOGRAD_OUT - border, side, q);

                pixel[q] = at < 0 ? zeros : image + p.image * size + at * all + c;
            }
            for (int q = 0; q < WINOGRAD_PLANES; q++)
                plane[q] = to->at + q * to->plane + i * to->next + c / width * to->panel;
            dev->loops->winograd(t, pixel, plane, at_most(channels - c, PIECE),
                                 to->panel);
        }
}

void winograd_results(const struct device *dev, const struct conv_shape *s,
                      const struct winograd_tiles *w, float *y, int64_t lo, int n,
                      const struct winograd_planes *from)
{
    struct conv_place p = conv_place(w->rows, w->cols, lo);
    ptrdiff_t size = (ptrdiff_t)s->h * s->w * s->k;
    const float *plane[WINOGRAD_PLANES];
    float nowhere[PIECE], *pixel[WINOGRAD_OUT * WINOGRAD_OUT];

    for (int i = 0; i < n; i++, conv_place_next(w->rows, w->cols, &p))
        for (int c = 0; c < s->k; c += PIECE) {
            for (int q = 0; q < WINOGRAD_OUT * WINOGRAD_OUT; q++) {
                ptrdiff_t at = pixel_at(s, p.row * WINOGRAD_OUT, p.col * WINOGRAD_OUT,
                                        WINOGRAD_OUT, q);

                pixel[q] = at < 0 ? nowhere : y + p.image * size + at * s->k + c;
            }
            for (int q = 0; q < WINOGRAD_PLANES; q++)
                plane[q] = from->at + q * from->plane + i * from->next + c;
            dev->loops->winograd(WINOGRAD_Y, plane, pixel, at_most(s->k - c, PIECE), 0);
        }
}

struct gemm_ahead winograd_ahead(const struct conv_shape *s,
                                 const struct winograd_tiles *w, const float *image,
                                 int channels, int64_t lo, int n, int plane)
{
    struct conv_place p = conv_place(w->rows, w->cols, lo);
    int64_t pixel = (p.image * s->h + p.row * WINOGRAD_OUT) * s->w + p.col * WINOGRAD_OUT;
    int64_t size = (int64_t)n * WINOGRAD_OUT * WINOGRAD_OUT * channels / WINOGRAD_PLANES;

    return (struct gemm_ahead){image + pixel * channels + plane * size, size};
}
