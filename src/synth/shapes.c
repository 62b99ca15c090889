#include "synth/shapes.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/philox.h"

enum {
    SAMPLES = 4,            /* per side of a pixel, which is the mean of 4 x 4 points */
    NOISE_ELEMENT = 1 << 20 /* first Philox element of the noise; other numbers come
                             * before */
};

static const float pi = 3.14159265f;

/* --- shapes: true if the point (x, y) of the unit disk is in the shape; y points down --- */

static bool in_circle(float x, float y)
{
    return x * x + y * y < 0.9f;
}

static bool in_square(float x, float y)
{
    return fabsf(x) < 0.75f && fabsf(y) < 0.75f;
}

/* A regular polygon with corners on the circle. */
static bool in_polygon(float x, float y, int corners)
{
    float step = 2 * pi / (float)corners, a = atan2f(y, x);

    a -= step * floorf(a / step) + step / 2; /* angle to the middle of its edge */
    return hypotf(x, y) * cosf(a) < cosf(step / 2);
}

static bool in_triangle(float x, float y)
{
    return in_polygon(x, y, 3);
}

/* Five tips at radius 1, notches at radius 0.42. A point is inside if it is left of the
 * line from the next notch to the next tip. */
static bool in_star(float x, float y)
{
    float step = 2 * pi / 5, a = atan2f(y, x), r = hypotf(x, y), notch = 0.42f;
    float tip_x = cosf(step / 2), tip_y = sinf(step / 2);

    a = fabsf(a - step * floorf(a / step) - step / 2);
    x = r * cosf(a);
    y = r * sinf(a);
    return (tip_x - notch) * y - tip_y * (x - notch) > 0;
}

static bool in_ring(float x, float y)
{
    float r2 = x * x + y * y;

    return r2 > 0.3f && r2 < 0.95f;
}

static bool in_cross(float x, float y)
{
    float least = fminf(fabsf(x), fabsf(y)), max = fmaxf(fabsf(x), fabsf(y));

    return least < 0.26f && max < 0.95f;
}

static bool in_stripes(float x, float y)
{
    return in_square(x, y) && fabsf(fmodf(x + 1.05f, 0.6f) - 0.3f) < 0.15f;
}

static bool in_checkerboard(float x, float y)
{
    int column = (int)floorf((x + 0.75f) * 2), row = (int)floorf((y + 0.75f) * 2);

    return in_square(x, y) && (column + row) % 2 == 0;
}

static bool in_ellipse(float x, float y)
{
    return x * x + 4.5f * y * y < 1;
}

/* A shaft along x and a triangular head. */
static bool in_arrow(float x, float y)
{
    if (x < 0.15f)
        return x > -0.95f && fabsf(y) < 0.2f;
    return fabsf(y) < 0.8f * (0.98f - x);
}

static bool in_hexagon(float x, float y)
{
    return in_polygon(x, y, 6);
}

static bool in_crescent(float x, float y)
{
    return x * x + y * y < 0.95f && (x - 0.45f) * (x - 0.45f) + y * y > 0.6f;
}

static bool in_heart(float x, float y)
{
    float u = 1.2f * x, v = 1.2f * y + 0.1f, w = u * u + v * v - 1;

    return w * w * w - u * u * v * v * v < 0;
}

static bool in_semicircle(float x, float y)
{
    return x > -0.35f && (x + 0.35f) * (x + 0.35f) + y * y < 0.9f;
}

static bool in_hourglass(float x, float y)
{
    return fabsf(x) < 0.85f * fabsf(y) + 0.06f && fabsf(y) < 0.8f;
}

static bool in_dots(float x, float y)
{
    float u = fmodf(x + 1.05f, 0.7f) - 0.35f, v = fmodf(y + 1.05f, 0.7f) - 0.35f;

    return u * u + v * v < 0.05f && fabsf(x) < 1.05f && fabsf(y) < 1.05f;
}

static const struct shape {
    const char *name;
    bool (*in)(float x, float y);
} shape_table[SYNTH_SHAPES] = {
    {"circle", in_circle},       {"square", in_square},
    {"triangle", in_triangle},   {"star", in_star},
    {"ring", in_ring},           {"cross", in_cross},
    {"stripes", in_stripes},     {"checkerboard", in_checkerboard},
    {"ellipse", in_ellipse},     {"arrow", in_arrow},
    {"hexagon", in_hexagon},     {"crescent", in_crescent},
    {"heart", in_heart},         {"semicircle", in_semicircle},
    {"hourglass", in_hourglass}, {"dots", in_dots},
};

const char *synth_shape_name(int shape)
{
    return shape_table[shape].name;
}

/* --- random numbers: one Philox sequence per image, element by element --- */

struct dice {
    const struct synth_image *p;
    uint64_t element;
};

static struct philox dice_throw(struct dice *d)
{
    const struct synth_image *p = d->p;
    uint64_t step = (uint64_t)p->split << 32 | (uint64_t)p->shape;

    return philox(p->seed, PHILOX_SYNTH, step, (uint64_t)p->number << 32 | d->element++);
}

static float dice_between(struct dice *d, float low, float high)
{
    return low + (high - low) * philox_uniform(dice_throw(d).v[0]);
}

/* --- painting: colors are RGB, each from 0 to 1 --- */

struct color {
    float v[3];
};

static struct color dice_color(struct dice *d)
{
    struct philox r = dice_throw(d);
    struct color c;

    for (int k = 0; k < 3; k++)
        c.v[k] = philox_uniform(r.v[k]);
    return c;
}

static float distance(struct color a, struct color b)
{
    float x = a.v[0] - b.v[0], y = a.v[1] - b.v[1], z = a.v[2] - b.v[2];

    return sqrtf(x * x + y * y + z * z);
}

/* Position of a shape: center and radius in pixels, and cos and sin of its angle. */
struct place {
    float x, y, radius, cos, sin;
};

static struct place dice_place(struct dice *d, float size, float least, float max)
{
    float radius = dice_between(d, least, max) * size, angle = dice_between(d, 0, 2 * pi);
    float room = fmaxf(size / 2 - 0.8f * radius, 0);

    return (struct place){size / 2 + dice_between(d, -room, room),
                          size / 2 + dice_between(d, -room, room), radius, cosf(angle),
                          sinf(angle)};
}

/* Returns the share of the pixel that the shape covers, 0 to 1. */
static float coverage(const struct shape *s, const struct place *place, int col, int row)
{
    float dx = (float)col + 0.5f - place->x, dy = (float)row + 0.5f - place->y;
    int hits = 0;

    if (hypotf(dx, dy) > place->radius * 1.5f + 1)
        return 0;
    for (int i = 0; i < SAMPLES * SAMPLES; i++) {
        int sub_col = i % SAMPLES, sub_row = i / SAMPLES;
        float px = dx + ((float)sub_col + 0.5f) / SAMPLES - 0.5f;
        float py = dy + ((float)sub_row + 0.5f) / SAMPLES - 0.5f;
        float x = (px * place->cos + py * place->sin) / place->radius;
        float y = (py * place->cos - px * place->sin) / place->radius;

        hits += s->in(x, y);
    }
    return (float)hits / (SAMPLES * SAMPLES);
}

struct canvas {
    int size;
    struct color *pixel;
};

static void paint_gradient(struct canvas *c, struct dice *d, struct color src,
                           struct color dst)
{
    float angle = dice_between(d, 0, 2 * pi), n = (float)c->size;

    for (int i = 0; i < c->size * c->size; i++) {
        int col = i % c->size, row = i / c->size;
        float x = ((float)col + 0.5f) / n - 0.5f, y = ((float)row + 0.5f) / n - 0.5f;
        float t = 0.5f + 0.7f * (x * cosf(angle) + y * sinf(angle));

        for (int k = 0; k < 3; k++)
            c->pixel[i].v[k] = src.v[k] + t * (dst.v[k] - src.v[k]);
    }
}

static void paint_shape(struct canvas *c, const struct shape *s,
                        const struct place *place, struct color ink, float opacity)
{
    for (int i = 0; i < c->size * c->size; i++) {
        float a = opacity * coverage(s, place, i % c->size, i / c->size);

        for (int k = 0; a > 0 && k < 3; k++)
            c->pixel[i].v[k] += a * (ink.v[k] - c->pixel[i].v[k]);
    }
}

/* Paints up to three small, half-transparent shapes, so that a classifier cannot rely on
 * the most salient pixels. */
static void paint_blots(struct canvas *c, struct dice *d)
{
    static const struct shape blot[] = {
        {"", in_circle}, {"", in_ellipse}, {"", in_square}};
    int n = (int)philox_below(dice_throw(d).v[0], 4);

    while (n--) {
        struct place place = dice_place(d, (float)c->size, 0.04f, 0.1f);
        uint32_t index = philox_below(dice_throw(d).v[0], 3);
        struct color ink = dice_color(d);

        paint_shape(c, &blot[index], &place, ink, dice_between(d, 0.3f, 0.9f));
    }
}

/* Converts to bytes and adds noise of triangular distribution, the sum of two uniform
 * numbers, from -noise to noise. */
static void develop(const struct canvas *c, const struct dice *d, float noise,
                    uint8_t *rgb)
{
    struct dice grain = {d->p, NOISE_ELEMENT};

    for (int i = 0; i < c->size * c->size; i++) {
        struct philox r = dice_throw(&grain);

        for (int k = 0; k < 3; k++) {
            float sum = (float)(r.v[k] & 0xffff) + (float)(r.v[k] >> 16);
            float v = c->pixel[i].v[k] + noise * (sum / 65535.0f - 1);

            rgb[3 * i + k] = (uint8_t)(fminf(fmaxf(v, 0), 1) * 255 + 0.5f);
        }
    }
}

void synth_shapes_draw(const struct synth_image *p, uint8_t *rgb)
{
    struct dice d = {.p = p};
    struct canvas c = {p->size,
                       xmalloc((size_t)p->size * (size_t)p->size * sizeof(*c.pixel))};
    struct color src = dice_color(&d), dst = dice_color(&d), mean, ink;
    struct place place;

    for (int k = 0; k < 3; k++)
        mean.v[k] = (src.v[k] + dst.v[k]) / 2;
    do
        ink = dice_color(&d);
    while (distance(ink, mean) < 0.5f);
    paint_gradient(&c, &d, src, dst);
    paint_blots(&c, &d);
    place = dice_place(&d, (float)p->size, 0.26f, 0.42f);
    paint_shape(&c, &shape_table[p->shape], &place, ink, dice_between(&d, 0.8f, 1));
    develop(&c, &d, dice_between(&d, 0.02f, 0.12f), rgb);
    free(c.pixel);
}
