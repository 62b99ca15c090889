/* Rows of pixels as the loops of depthwise convolutions read them. */
#include <string.h>

#include "cpu/conv/depthwise.h"

struct depthwise_rows depthwise_rows(const struct device *dev, const struct conv_shape *s,
                                     bool result, int slots)
{
    return (struct depthwise_rows){.dev = dev,
                                   .t = s->type,
                                   .n = s->n,
                                   .h = result ? s->ho : s->h,
                                   .w = result ? s->wo : s->w,
                                   .c = s->c,
                                   .slots = slots};
}

static int block_of(const struct depthwise_rows *r)
{
    return 2 * r->dev->loops->lanes;
}

size_t depthwise_ring_floats(const struct depthwise_rows *r)
{
    return (size_t)r->slots * (size_t)(r->left + r->w + r->right) *
           (size_t)depthwise_table(1);
}

void depthwise_ring_clear(struct depthwise_rows *r, float *floats)
{
    r->floats = floats;
    memset(floats, 0, depthwise_ring_floats(r) * sizeof(float));
}

void depthwise_ring_start(struct depthwise_rows *r, int64_t image, int64_t channel)
{
    r->image = image;
    r->channel = channel;
    r->uses = 0;
    for (int i = 0; i < r->slots; i++)
        r->row[i] = r->used[i] = -1;
}

/*
 * What to prefetch: the same pixels of the next image if it stays in the L2 cache until it
 * is read, else rows further down.
 */
static int64_t ahead(const struct depthwise_rows *r)
{
    enum { L2_PART = 256 << 10, PIXELS = 32 };
    int64_t image = r->h * r->w * r->c, rows = (PIXELS + r->w - 1) / r->w;

    return image * (int64_t)dtype_size(r->t) <= L2_PART ? image : rows * r->w * r->c;
}

static void copy_row(const struct depthwise_rows *r, int64_t row, float *dst)
{
    int64_t pos = (r->image * r->h + row) * r->w * r->c + r->channel;

    r->dev->loops->conv.depthwise_pixels(&(const struct depthwise_pixels){
        .t = r->t,
        .x = cpu_at(r->x, r->t, pos),
        .pixels = r->w,
        .c = min_int(r->c - r->channel, block_of(r)),
        .readable = r->n * r->h * r->w * r->c - pos,
        .next = r->c,
        .ahead = ahead(r),
        .dst = dst,
    });
}

const float *depthwise_ring_row(struct depthwise_rows *r, int64_t row)
{
    int64_t floats = (r->left + r->w + r->right) * block_of(r);
    int oldest = 0, slot = -1;
    float *first;

    for (int i = 0; i < r->slots && slot < 0; i++) {
        slot = r->row[i] == row ? i : -1;
        oldest = r->used[i] < r->used[oldest] ? i : oldest;
    }
    first = r->floats + (slot < 0 ? oldest : slot) * floats +
            (ptrdiff_t)r->left * block_of(r);
    if (slot < 0) {
        slot = oldest;
        r->row[slot] = row;
        copy_row(r, row, first);
    }
    r->used[slot] = r->uses++;
    return first;
}

void depthwise_sides(struct depthwise_rows *r, const struct conv_window *v)
{
    for (int i = 0; i < v->taps && v->cols; i++) {
        int left = -v->tap[i].x;
        int right = (v->cols - 1) * v->step_w + v->tap[i].x - (v->w - 1);

        r->left = left > r->left ? left : r->left;
        r->right = right > r->right ? right : r->right;
    }
}

void depthwise_parts(const struct depthwise_rows *r, int64_t rows, int thread,
                     void (*fn)(void *arg, int64_t image, int row, int end, int channel),
                     void *arg)
{
    int64_t lo, hi, end;

    cpu_part(r->n * rows, 1, thread, r->dev->threads, &lo, &hi);
    for (; lo < hi; lo = end) {
        int64_t image = lo / rows;

        end = (image + 1) * rows < hi ? (image + 1) * rows : hi;
        for (int c = 0; c < r->c; c += block_of(r))
            fn(arg, image, (int)(lo - image * rows), (int)(end - image * rows), c);
    }
}
