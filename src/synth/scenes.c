#include "synth/scenes.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/philox.h"

/* Cityscapes' label ids. */
enum {
    OWN_CAR = 1,
    ROAD = 7,
    PAVEMENT = 8,
    BUILDING = 11,
    POLE = 17,
    LIGHT = 19,
    SIGN = 20,
    TREE = 21,
    TERRAIN = 22,
    SKY = 23,
    PERSON = 24,
    CAR = 26
};

/* Noise of up to 10 of 255 levels; the first Philox element of its random numbers. */
enum { NOISE = 10, NOISE_ELEMENT = 1 << 20 };

struct canvas {
    const struct synth_scene *p;
    uint8_t *rgb, *id;
    uint32_t drawn; /* random numbers so far */
    /* In pixels: y of the horizon; x of the vanishing point; half the width, at the lower
     * edge, of the road and of road and sidewalks. */
    float horizon, middle, road, rim;
};

struct paint {
    int id;
    float rgb[3];
};

static struct philox random_words(const struct canvas *c, uint64_t element)
{
    return philox(c->p->seed, PHILOX_SYNTH,
                  (uint64_t)c->p->split << 32 | c->p->number | (uint64_t)1 << 55,
                  element);
}

static float between(struct canvas *c, float lo, float hi)
{
    return lo + (hi - lo) * philox_uniform(random_words(c, c->drawn++).v[0]);
}

static bool one_in(struct canvas *c, float n)
{
    return between(c, 0, n) < 1;
}

/* Returns the color, lighter or darker by up to `spread`. */
static struct paint paint(struct canvas *c, int id, float r, float g, float b,
                          float spread)
{
    float f = 1 + between(c, -spread, spread);

    return (struct paint){id, {r * f, g * f, b * f}};
}

static void put(struct canvas *c, int x, int y, const struct paint *p)
{
    size_t pos;

    if (x < 0 || x >= c->p->w || y < 0 || y >= c->p->h)
        return;
    pos = (size_t)y * (size_t)c->p->w + (size_t)x;
    c->id[pos] = (uint8_t)p->id;
    for (int k = 0; k < 3; k++)
        c->rgb[3 * pos + (size_t)k] = (uint8_t)(p->rgb[k] < 0     ? 0
                                                : p->rgb[k] > 255 ? 255
                                                                  : p->rgb[k]);
}

struct span {
    float begin, end;
};

/* Fills from y0 down to y1; the span in x changes from `top` to `bottom`. */
static void fill_trapezoid(struct canvas *c, float y0, float y1, struct span top,
                           struct span bottom, const struct paint *p)
{
    for (int y = (int)ceilf(y0 - 0.5f); (float)y + 0.5f < y1; y++) {
        float f = ((float)y + 0.5f - y0) / (y1 - y0);
        float begin = top.begin + (bottom.begin - top.begin) * f;
        float end = top.end + (bottom.end - top.end) * f;

        for (int x = (int)ceilf(begin - 0.5f); (float)x + 0.5f < end; x++)
            put(c, x, y, p);
    }
}

static void fill_box(struct canvas *c, float x0, float y0, float x1, float y1,
                     const struct paint *p)
{
    fill_trapezoid(c, y0, y1, (struct span){x0, x1}, (struct span){x0, x1}, p);
}

static void fill_ellipse(struct canvas *c, float cx, float cy, float rx, float ry,
                         const struct paint *p)
{
    for (int y = (int)(cy - ry); (float)y < cy + ry; y++)
        for (int x = (int)(cx - rx); (float)x < cx + rx; x++) {
            float dx = ((float)x + 0.5f - cx) / rx, dy = ((float)y + 0.5f - cy) / ry;

            if (dx * dx + dy * dy < 1)
                put(c, x, y, p);
        }
}

static void draw_background(struct canvas *c)
{
    float w = (float)c->p->w, h = (float)c->p->h, x = -between(c, 0, w / 8);
    struct paint sky = paint(c, SKY, 120, 170, 230, 0.15f);

    for (int y = 0; y < c->p->h; y++) { /* lighter downwards */
        struct paint p = sky;

        for (int k = 0; k < 3; k++)
            p.rgb[k] += 40 * (float)y / h;
        fill_box(c, 0, (float)y, w, (float)y + 1, &p);
    }
    while (x < w) {
        float wide = between(c, w / 10, w / 4);
        float top = c->horizon * between(c, 0.1f, 0.8f);
        struct paint wall = paint(c, BUILDING, 150, 120, 100, 0.3f), window = wall;

        for (int k = 0; k < 3; k++)
            window.rgb[k] *= 0.6f;
        fill_box(c, x, top, x + wide, c->horizon + 1, &wall);
        for (float y = top + 3; y < c->horizon - 4; y += h / 12)
            for (float v = x + 2; v < x + wide - 3; v += w / 30)
                fill_box(c, v, y, v + w / 60, y + h / 24, &window);
        x += wide + (one_in(c, 2) ? between(c, 0, w / 6) : 0);
    }
}

static void draw_ground(struct canvas *c)
{
    float w = (float)c->p->w, h = (float)c->p->h, m = c->middle;
    struct paint grass = paint(c, TERRAIN, 140, 170, 90, 0.15f);
    struct paint stones = paint(c, PAVEMENT, 190, 175, 185, 0.1f);
    struct paint tar = paint(c, ROAD, 85, 80, 90, 0.15f), line = {ROAD, {225, 225, 215}};
    struct span point = {m - 1, m + 1};

    fill_box(c, 0, c->horizon, w, h, &grass);
    fill_trapezoid(c, c->horizon, h, point, (struct span){m - c->rim, m + c->rim},
                   &stones);
    fill_trapezoid(c, c->horizon, h, point, (struct span){m - c->road, m + c->road},
                   &tar);
    for (float t = 0.15f; t < 1; t *= 1.6f) { /* lane marks, from far to near */
        float y = c->horizon + (h - c->horizon) * t, half = c->road * t / 30;

        fill_box(c, m - half, y, m + half, y + (h - c->horizon) * t / 5, &line);
    }
}

static void draw_car(struct canvas *c, float x, float y, float size)
{
    struct paint body = paint(c, CAR, between(c, 20, 220), between(c, 20, 120),
                              between(c, 20, 220), 0.1f);
    struct paint dark = {CAR, {30, 30, 40}};

    fill_box(c, x - size * 0.4f, y - size * 0.2f, x - size * 0.2f, y, &dark);
    fill_box(c, x + size * 0.2f, y - size * 0.2f, x + size * 0.4f, y, &dark);
    fill_box(c, x - size / 2, y - size * 0.55f, x + size / 2, y - size * 0.1f, &body);
    fill_trapezoid(c, y - size * 0.85f, y - size * 0.5f,
                   (struct span){x - size * 0.3f, x + size * 0.3f},
                   (struct span){x - size * 0.42f, x + size * 0.42f}, &dark);
}

static void draw_person(struct canvas *c, float x, float y, float size)
{
    struct paint coat = paint(c, PERSON, between(c, 150, 240), between(c, 30, 90), 60, 0);
    struct paint skin = {PERSON, {225, 180, 150}};

    fill_box(c, x - size * 0.14f, y - size * 0.85f, x + size * 0.14f, y, &coat);
    fill_ellipse(c, x, y - size * 0.95f, size * 0.13f, size * 0.14f, &skin);
}

static void draw_pole(struct canvas *c, float x, float y, float size)
{
    struct paint metal = {POLE, {120, 125, 130}}, board = {SIGN, {235, 215, 40}};
    struct paint box = {LIGHT, {20, 30, 25}}, lamp = {LIGHT, {250, 60, 40}};
    float half = size * 0.04f > 0.6f ? size * 0.04f : 0.6f;

    fill_box(c, x - half, y - size * 2, x + half, y, &metal);
    if (one_in(c, 2)) {
        fill_ellipse(c, x, y - size * 2, size * 0.3f, size * 0.3f, &board);
        return;
    }
    fill_box(c, x - size * 0.15f, y - size * 2.2f, x + size * 0.15f, y - size * 1.5f,
             &box);
    fill_ellipse(c, x, y - size * 2, size * 0.1f, size * 0.1f, &lamp);
}

static void draw_tree(struct canvas *c, float x, float y, float size)
{
    struct paint leaves = paint(c, TREE, 50, 110, 40, 0.25f),
                 trunk = {TREE, {90, 65, 40}};

    fill_box(c, x - size * 0.1f, y - size, x + size * 0.1f, y, &trunk);
    fill_ellipse(c, x, y - size * 1.6f, size * 0.8f, size, &leaves);
}

/* From far to near, so that near objects cover far ones. */
static void draw_objects(struct canvas *c)
{
    float depth = (float)c->p->h - c->horizon;

    for (float t = 0.12f; t < 1; t *= between(c, 1.15f, 1.5f)) {
        float y = c->horizon + depth * t, side = one_in(c, 2) ? -1 : 1;
        float pavement = c->middle + side * t * (c->road + c->rim) / 2;
        float size = depth * t;

        switch ((int)between(c, 0, 4)) {
        case 0:
            draw_car(c, c->middle + side * t * c->road * between(c, 0.2f, 0.7f), y,
                     size * 0.5f);
            break;
        case 1:
            draw_person(c, pavement, y, size * 0.5f);
            break;
        case 2:
            draw_pole(c, c->middle + side * t * c->rim * 0.95f, y, size * 0.45f);
            break;
        default:
            draw_tree(c, c->middle + side * t * c->rim * between(c, 1.2f, 2), y,
                      size * 0.5f);
        }
    }
}

static void add_noise(const struct canvas *c)
{
    size_t n = (size_t)c->p->w * (size_t)c->p->h * 3;
    struct philox noise = {{0}};

    for (size_t i = 0; i < n; i++) {
        int v;

        if (i % 16 == 0)
            noise = random_words(c, NOISE_ELEMENT + i / 16);
        v = c->rgb[i] +
            (int)philox_below(noise.v[i % 16 / 4] << (8 * (i % 4)), 2 * NOISE) - NOISE;
        c->rgb[i] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
    }
}

void synth_scene_draw(const struct synth_scene *p, uint8_t *rgb, uint8_t *id)
{
    struct canvas c = {.p = p};
    float w = (float)p->w, h = (float)p->h;

    c.rgb = rgb;
    c.id = id;
    c.horizon = h * between(&c, 0.35f, 0.55f);
    c.middle = w * between(&c, 0.35f, 0.65f);
    c.road = w * between(&c, 0.35f, 0.6f);
    c.rim = c.road + w * between(&c, 0.15f, 0.3f);
    draw_background(&c);
    draw_ground(&c);
    draw_objects(&c);
    if (one_in(&c, 2)) {
        struct paint hood = paint(&c, OWN_CAR, 40, 40, 45, 0.1f);

        fill_ellipse(&c, w / 2, h, w * 0.3f, h * 0.08f, &hood);
    }
    add_noise(&c);
}
