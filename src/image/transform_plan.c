#include "image/transform_plan.h"

#include <math.h>

/* Returns `resize` times a / b, but at most 2^20 (or `resize`): the ends of an extremely
 * narrow image are cropped anyway. */
static int transform_longer(int resize, int a, int b)
{
    int64_t side = (int64_t)resize * a / b, max = 1 << 20;

    return (int)(side < max ? side : max > resize ? max : resize);
}

void transform_center_size(const struct transform *t, int w, int h, int *rw, int *rh)
{
    *rw = w <= h ? t->resize : transform_longer(t->resize, w, h);
    *rh = w <= h ? transform_longer(t->resize, h, w) : t->resize;
}

/* Returns the largest of 8, 4, 2 by which a crop can be shrunk before the resize; else 1. */
static int transform_shrink(const struct transform *t, double cw, double ch, int rw,
                            int rh)
{
    if (t->shrink_gap <= 0 ||
        (t->kind == TRANSFORM_SEGMENT && !transform_segment_fits(t)))
        return 1;
    for (int s = 8; s > 1; s /= 2)
        if (cw >= t->shrink_gap * s * rw && ch >= t->shrink_gap * s * rh)
            return s;
    return 1;
}

int transform_min_shrink(const struct transform *t, int w, int h)
{
    double area = (double)w * h * t->scale[0], cw = w, ch = h;
    int rw = t->w, rh = t->h;

    if (t->kind == TRANSFORM_PAD_CROP)
        return 1;
    if (t->kind == TRANSFORM_SEGMENT)
        transform_segment_fit(t, w, h, &rw, &rh);
    if (t->kind == TRANSFORM_CENTER)
        transform_center_size(t, w, h, &rw, &rh);
    if (t->kind == TRANSFORM_RANDOM_CROP) {
        cw = fmin(w, rint(sqrt(area * t->ratio[0])));
        ch = fmin(h, rint(sqrt(area / t->ratio[1])));
    }
    return transform_shrink(t, cw, ch, rw, rh);
}

/* The window of an axis: at its start, at its end, or centered. */
enum side { SIDE_CENTER, SIDE_START, SIDE_END };

static enum side side_x(enum transform_corner c)
{
    return c == CORNER_NONE                                  ? SIDE_CENTER
           : c == CORNER_TOP_LEFT || c == CORNER_BOTTOM_LEFT ? SIDE_START
                                                             : SIDE_END;
}

static enum side side_y(enum transform_corner c)
{
    return c == CORNER_NONE                                ? SIDE_CENTER
           : c == CORNER_TOP_LEFT || c == CORNER_TOP_RIGHT ? SIDE_START
                                                           : SIDE_END;
}

/* Selects a window of `want` outputs or, if there are fewer, all of them with black
 * borders; *dst is their position in the result. */
static void transform_crop_axis(struct resize_axis *a, int want, enum side side, int *dst)
{
    int spare = a->out - want;

    *dst = 0;
    if (spare >= 0) {
        a->first = side == SIDE_START ? 0
                   : side == SIDE_END ? spare
                                      : (int)rint(spare / 2.0);
        a->n = want;
    } else {
        *dst = -spare / 2;
    }
}

/*
 * Selects the outputs in the window of `want` pixels that starts `begin` pixels right of
 * the left edge of the (flipped) image: fewer if the image ends, but at least one. *dst
 * is their position in the result.
 */
static void transform_window(struct resize_axis *a, int want, int begin, bool flip,
                             int *dst)
{
    int lo, hi;

    begin = begin < 1 - want ? 1 - want : begin < a->out ? begin : a->out - 1;
    lo = begin > 0 ? begin : 0;
    hi = a->out < begin + want ? a->out : begin + want;
    a->first = flip ? a->out - hi : lo;
    a->n = hi - lo;
    *dst = lo - begin;
}

/* Returns the start of the window in an image that is `spare` pixels longer (negative:
 * shorter). */
static int transform_place(uint32_t bits, int spare, bool random)
{
    if (!random)
        return spare / 2;
    return spare < 0 ? -augment_integer(bits, 0, -spare)
                     : augment_integer(bits, 0, spare);
}

static void transform_plan_segment(const struct transform *t, const struct augment_key *k,
                                   int w, int h, struct transform_plan *p)
{
    struct philox place = augment_draw(k, AUGMENT_SEGMENT, 0);
    struct philox shift = augment_draw(k, AUGMENT_SEGMENT, 1);
    bool random = t->factor[0] > 0;
    double f = random ? augment_between(place.v[0], t->factor[0], t->factor[1]) : 1;
    int rw, rh, x, y;

    transform_segment_fit(t, w, h, &rw, &rh);
    rw = f * rw < 1 ? 1 : (int)rint(f * rw);
    rh = f * rh < 1 ? 1 : (int)rint(f * rh);
    x = transform_place(place.v[1], rw - t->w, random);
    y = transform_place(place.v[2], rh - t->h, random);
    x -= augment_integer(shift.v[0], -t->shift, t->shift);
    y -= augment_integer(shift.v[1], -t->shift, t->shift);
    p->flip = augment_flip(k, &t->flip);
    p->filter = t->filter;
    p->x = resize_axis_all(0, w, rw);
    p->y = resize_axis_all(0, h, rh);
    transform_window(&p->x, t->w, x, p->flip, &p->dst_x);
    transform_window(&p->y, t->h, y, false, &p->dst_y);
    p->mirrored = t->flip_later && p->flip;
    if (p->mirrored) {
        p->flip = false;
        p->dst_x = t->w - p->dst_x - p->x.n;
    }
}

void transform_plan(const struct transform *t, const struct augment_key *k, int w, int h,
                    struct transform_plan *p)
{
    struct augment_box b = {0, 0, w, h};
    int rw = t->w, rh = t->h;

    p->mirrored = false;
    if (t->kind == TRANSFORM_SEGMENT) {
        transform_plan_segment(t, k, w, h, p);
        return;
    }
    if (t->kind == TRANSFORM_RANDOM_CROP)
        b = augment_resized_crop(k, w, h, t->scale, t->ratio);
    if (t->kind == TRANSFORM_CENTER)
        transform_center_size(t, w, h, &rw, &rh);
    p->x = resize_axis_all(b.x, b.x + b.w, rw);
    p->y = resize_axis_all(b.y, b.y + b.h, rh);
    transform_crop_axis(&p->x, t->w, side_x(t->corner), &p->dst_x);
    transform_crop_axis(&p->y, t->h, side_y(t->corner), &p->dst_y);
    p->filter = t->filter;
    if (t->filter_random)
        p->filter = augment_draw(k, AUGMENT_FILTER, 0).v[0] & 1 ? RESIZE_BICUBIC
                                                                : RESIZE_BILINEAR;
    p->flip = augment_flip(k, &t->flip);
}

/* Converts the axis to the image decoded at 1/s. */
static void transform_shrink_axis(struct resize_axis *a, int s)
{
    a->begin /= s;
    a->end /= s;
    a->lo /= s;
    a->hi = (a->hi + s - 1) / s;
}

struct image_part transform_part(const struct transform *t, bool can_shrink,
                                 struct transform_plan *p, int w, int h)
{
    int s = transform_shrink(t, p->x.end - p->x.begin, p->y.end - p->y.begin, p->x.out,
                             p->y.out);
    int x0, x1, y0, y1;

    s = can_shrink ? s : 1;
    if (s > 1) {
        transform_shrink_axis(&p->x, s);
        transform_shrink_axis(&p->y, s);
    }
    resize_span(&p->x, (int)p->filter, &x0, &x1);
    resize_span(&p->y, (int)p->filter, &y0, &y1);
    x1 = x1 * s < w ? x1 * s : w;
    y1 = y1 * s < h ? y1 * s : h;
    return (struct image_part){x0 * s, y0 * s, x1 - x0 * s, y1 - y0 * s, s};
}
