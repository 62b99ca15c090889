#include "cpu/conv/window.h"
#include "cpu/conv/winograd.h"

enum {
    NEAR = 1 << 20,      /* bytes of a block in both forms that fit a core's cache */
    FEW = 6 * GEMM_ROWS, /* minimum tiles per block */
    PIECE = 512,         /* channels transformed at a time */
};

static struct winograd_axis axis_of(int size, int kernel, int dilation)
{
    struct winograd_axis a = {size, 1, 1, 1};

    if (kernel > 1) {
        int left = size % (2 * dilation);

        a = (struct winograd_axis){0, dilation, 4, 2};
        a.tiles = size / (2 * dilation) * dilation + (left < dilation ? left : dilation);
    }
    return a;
}

struct winograd_tiles winograd_tiles(const struct conv_shape *s, int threads)
{
    struct winograd_tiles w = {
        .y = axis_of(s->h, s->kernel_h, s->dilation_h),
        .x = axis_of(s->w, s->kernel_w, s->dilation_w),
        .taps = s->kernel_h * s->kernel_w,
    };
    int64_t tile, blocks, each;
    int max;

    w.planes = w.y.reads * w.x.reads;
    w.total = (int64_t)s->n * w.y.tiles * w.x.tiles;
    tile = w.planes * (int64_t)(s->c + s->k) * (int64_t)sizeof(float);
    max = min_int(NEAR / tile, WINOGRAD_MAX);
    max = max < FEW ? FEW : max;
    each = (w.total + threads - 1) / threads;
    blocks = (each + max - 1) / max; /* of about equal size */
    w.block = round_up((int)((each + blocks - 1) / blocks), GEMM_ROWS);
    return w;
}

/* Returns the first result of tile t along one axis. */
static int first_of(const struct winograd_axis *a, int t)
{
    return a->results == 1 ? t : t / a->dilation * 2 * a->dilation + t % a->dilation;
}

/*
 * Finds the pixels that a tile reads, or its results, counted over all images, with -1
 * for those outside. Returns their number.
 */
static int find_pixels(const struct conv_shape *s, const struct winograd_tiles *w,
                       const struct conv_place *p, bool reads, ptrdiff_t *ptr)
{
    int rows = reads ? w->y.reads : w->y.results,
        cols = reads ? w->x.reads : w->x.results;
    int y = first_of(&w->y, p->row), left = first_of(&w->x, p->col), n = 0;

    if (reads) { /* starts one before the first result */
        y -= rows > 1 ? w->y.dilation : 0;
        left -= cols > 1 ? w->x.dilation : 0;
    }
    for (int r = 0; r < rows; r++, y += w->y.dilation) {
        ptrdiff_t row = (p->image * s->h + y) * s->w;
        bool inside = y >= 0 && y < s->h;

        for (int c = 0, x = left; c < cols; c++, x += w->x.dilation)
            ptr[n++] = inside && x >= 0 && x < s->w ? row + x : -1;
    }
    return n;
}

void winograd_block(const struct device *dev, enum winograd t, const struct conv_shape *s,
                    const struct winograd_tiles *w, const void *image, int all,
                    int channels, int64_t lo, int n, const struct winograd_planes *dst)
{
    static const float zeros[PIECE];
    struct conv_place p = conv_place(w->y.tiles, w->x.tiles, lo);
    bool reads = t == WINOGRAD_X;
    int width = reads ? GEMM_RIGHT : GEMM_LEFT;
    const void *src[WINOGRAD_PLANES];
    void *plane[WINOGRAD_PLANES];
    ptrdiff_t ptr[WINOGRAD_PLANES];

    for (int i = 0; i < n; i++, conv_place_next(w->y.tiles, w->x.tiles, &p)) {
        int pixels = find_pixels(s, w, &p, reads, ptr);

        for (int c = 0; c < channels; c += PIECE) {
            for (int q = 0; q < pixels; q++)
                src[q] = ptr[q] < 0 ? zeros : cpu_at(image, s->type, ptr[q] * all + c);
            for (int q = 0; q < w->planes; q++)
                plane[q] =
                    dst->data + q * dst->plane + i * dst->next + c / width * dst->panel;
            dev->loops->conv.winograd(t, &(const struct winograd_values){
                                             .line = w->planes < WINOGRAD_PLANES,
                                             .type = s->type,
                                             .n = min_int(channels - c, PIECE),
                                             .panel = dst->panel,
                                             .src = src,
                                             .dst = plane,
                                         });
        }
    }
}

void winograd_results(const struct device *dev, const struct conv_shape *s,
                      const struct winograd_tiles *w, const struct conv_args *a,
                      int64_t lo, int n, const struct winograd_planes *src)
{
    static const float zeros[PIECE];
    struct conv_place p = conv_place(w->y.tiles, w->x.tiles, lo);
    ptrdiff_t ptr[4];
    float nowhere[PIECE] = {0};
    const void *plane[WINOGRAD_PLANES], *relu_mask[4], *add[4];
    void *dst[4];

    for (int i = 0; i < n; i++, conv_place_next(w->y.tiles, w->x.tiles, &p)) {
        int pixels = find_pixels(s, w, &p, false, ptr);

        for (int c = 0; c < s->k; c += PIECE) {
            for (int q = 0; q < pixels; q++) {
                ptrdiff_t at = ptr[q] * s->k + c;
                bool out = ptr[q] < 0;

                dst[q] = out ? nowhere : cpu_out(a->dst, s->type, at);
                relu_mask[q] =
                    out || !a->relu_mask ? zeros : cpu_at(a->relu_mask, s->type, at);
                add[q] = out || !a->add ? zeros : cpu_at(a->add, s->type, at);
            }
            for (int q = 0; q < w->planes; q++)
                plane[q] = src->data + q * src->plane + i * src->next + c;
            dev->loops->conv.winograd(
                WINOGRAD_Y,
                &(const struct winograd_values){
                    .line = w->planes < WINOGRAD_PLANES,
                    .type = s->type,
                    .n = min_int(s->k - c, PIECE),
                    .src = plane,
                    .dst = dst,
                    .finish = {a->bias ? a->bias + c : NULL, a->add ? add : NULL,
                               a->relu_mask ? relu_mask : NULL, a->act},
                });
        }
    }
}

/* db += the gradient of one pixel */
static void add_pixel(const struct device *dev, const struct conv_shape *s,
                      const void *dy, int channels, float *db)
{
    float wide[PIECE];

    if (s->type == DTYPE_F32) {
        dev->loops->accumulate(db, dy, channels, false);
        return;
    }
    for (int c = 0; c < channels; c += PIECE) {
        int n = min_int(channels - c, PIECE);

        dev->loops->cast(s->type, DTYPE_F32, cpu_at(dy, s->type, c), wide, n, false);
        dev->loops->accumulate(db + c, wide, n, false);
    }
}

void winograd_bias(const struct device *dev, const struct conv_shape *s,
                   const struct winograd_tiles *w, const void *dy, int channels,
                   int64_t lo, int n, float *db)
{
    struct conv_place p = conv_place(w->y.tiles, w->x.tiles, lo);
    ptrdiff_t ptr[4];

    for (int i = 0; i < n; i++, conv_place_next(w->y.tiles, w->x.tiles, &p)) {
        int pixels = find_pixels(s, w, &p, false, ptr);

        for (int q = 0; q < pixels; q++)
            if (ptr[q] >= 0)
                add_pixel(dev, s, cpu_at(dy, s->type, ptr[q] * s->k), channels, db);
    }
}

struct gemm_prefetch winograd_prefetch(const struct conv_shape *s,
                                       const struct winograd_tiles *w, const void *image,
                                       int channels, int64_t lo, int n, int plane)
{
    struct conv_place p = conv_place(w->y.tiles, w->x.tiles, lo);
    int64_t row = p.image * s->h + first_of(&w->y, p.row);
    int64_t size = (int64_t)n * w->y.results * w->x.results * channels / w->planes;

    return (struct gemm_prefetch){
        cpu_at(image, s->type,
               (row * s->w + first_of(&w->x, p.col)) * channels + plane * size),
        size * (int64_t)dtype_size(s->type)};
}
