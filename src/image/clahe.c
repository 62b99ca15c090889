#include "image/clahe.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/augment_formula.h"
#include "image/pad_crop.h"

enum { LEVELS = 256 };

/* ---- equalization ------------------------------------------------------------------ */

/* Cuts counts above the limit and spreads them over all levels. */
static void clip_counts(int count[LEVELS], int limit)
{
    int clipped = 0, all, rest;

    for (int i = 0; i < LEVELS; i++)
        if (count[i] > limit) {
            clipped += count[i] - limit;
            count[i] = limit;
        }
    all = clipped / LEVELS;
    rest = clipped - all * LEVELS;
    for (int i = 0; i < LEVELS; i++)
        count[i] += all;
    if (rest) {
        int step = LEVELS / rest > 1 ? LEVELS / rest : 1;

        for (int i = 0; i < LEVELS && rest > 0; i += step, rest--)
            count[i]++;
    }
}

/* Makes the table of the tile at (x, y) of a plane that is reflected at its edges. */
static void tile_table(const uint8_t *v, int w, int h, const struct augment_box *tile,
                       double clip_limit, uint8_t table[LEVELS])
{
    int count[LEVELS] = {0}, total = tile->w * tile->h, sum = 0;
    float scale = (float)(LEVELS - 1) / (float)total;

    for (int y = tile->y; y < tile->y + tile->h; y++) {
        const uint8_t *row = v + (size_t)pad_source(PAD_REFLECT, y, h) * (size_t)w;

        for (int x = tile->x; x < tile->x + tile->w; x++)
            count[row[pad_source(PAD_REFLECT, x, w)]]++;
    }
    if (clip_limit > 0) {
        int limit = (int)(clip_limit * total / LEVELS);

        clip_counts(count, limit > 1 ? limit : 1);
    }
    for (int i = 0; i < LEVELS; i++) {
        sum += count[i];
        table[i] = (uint8_t)lrintf(fminf((float)sum * scale, 255));
    }
}

/* The two tiles nearest to a pixel on one axis, and the weight of the second. */
struct neighbors {
    int first, second;
    float weight;
};

static struct neighbors neighbors_of(int pos, int side, int tiles)
{
    float f = (float)pos * (1.0f / (float)side) - 0.5f;
    int first = (int)(f + 1) - 1; /* rounded down: f is above -1 */

    return (struct neighbors){.first = first > 0 ? first : 0,
                              .second = first + 1 < tiles ? first + 1 : tiles - 1,
                              .weight = f - (float)first};
}

void clahe_plane(uint8_t *v, int w, int h, double clip_limit, int tiles,
                 struct warp_canvas *memory)
{
    /* OpenCV pads both axes if the tiles do not divide one of them. */
    bool pads = w % tiles || h % tiles;
    int tw = pads ? (w + tiles - w % tiles) / tiles : w / tiles;
    int th = pads ? (h + tiles - h % tiles) / tiles : h / tiles;
    uint8_t *table = warp_canvas_reserve(memory, (size_t)(tiles * tiles) * LEVELS);

    for (int j = 0; j < tiles; j++)
        for (int i = 0; i < tiles; i++)
            tile_table(v, w, h, &(struct augment_box){i * tw, j * th, tw, th}, clip_limit,
                       table + (ptrdiff_t)(j * tiles + i) * LEVELS);
    for (int y = 0; y < h; y++) {
        struct neighbors b = neighbors_of(y, th, tiles);

        for (int x = 0; x < w; x++, v++) {
            struct neighbors a = neighbors_of(x, tw, tiles);
            const uint8_t *up = table + (ptrdiff_t)b.first * tiles * LEVELS + *v;
            const uint8_t *down = table + (ptrdiff_t)b.second * tiles * LEVELS + *v;
            ptrdiff_t left = (ptrdiff_t)a.first * LEVELS,
                      right = (ptrdiff_t)a.second * LEVELS;
            float top = (float)up[left] * (1 - a.weight) + (float)up[right] * a.weight;
            float bottom =
                (float)down[left] * (1 - a.weight) + (float)down[right] * a.weight;

            *v = (uint8_t)lrintf(top * (1 - b.weight) + bottom * b.weight);
        }
    }
}

/* ---- CIELAB of sRGB with D65, each value a byte ------------------------------------ */

/*
 * To CIELAB in OpenCV's fixed point, with its figures: CLAHE makes large steps of one
 * level. Linear values have GAMMA bits after those of a byte, weights have 12, and roots
 * 15.
 */
enum {
    GAMMA = 3,
    WEIGHT = 12,
    ROOT = WEIGHT + GAMMA,
    ROOTS = 256 * 3 / 2 << GAMMA,
    ENCODED = 16384
};

static int linear_of[256], root_of[ROOTS], weight_of[3][3];
static uint8_t encoded_of[ENCODED + 1];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const double white[3] = {0.950456, 1, 1.088754};

static void fill_roots(void)
{
    static const double xyz[3][3] = {{0.412453, 0.357580, 0.180423},
                                     {0.212671, 0.715160, 0.072169},
                                     {0.019334, 0.119193, 0.950227}};

    for (int i = 0; i < ROOTS; i++) {
        double v = i / (double)(255 << GAMMA);

        root_of[i] =
            (int)lrint((1 << ROOT) * (v < 0.008856 ? v * 7.787 + 16.0 / 116 : cbrt(v)));
    }
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            weight_of[i][k] = (int)lrint((1 << WEIGHT) * xyz[i][k] / white[i]);
}

static void fill_tables(void)
{
    for (int i = 0; i < 256; i++) {
        double v = i / 255.0;

        v = v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
        linear_of[i] = (int)lrint(v * (255 << GAMMA));
    }
    for (int i = 0; i <= ENCODED; i++) {
        double v = (double)i / ENCODED;

        v = v <= 0.0031308 ? 12.92 * v : 1.055 * pow(v, 1 / 2.4) - 0.055;
        encoded_of[i] = (uint8_t)lrint(255 * v);
    }
    fill_roots();
}

/* Divides by 2^bits and rounds. */
static int descale(int v, int bits)
{
    return (v + (1 << (bits - 1))) >> bits;
}

static uint8_t byte_of(int v)
{
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

static void lab_of(const uint8_t *rgb, uint8_t lab[3])
{
    int f[3];

    for (int i = 0; i < 3; i++) {
        const int *w = weight_of[i];

        f[i] = root_of[descale(w[0] * linear_of[rgb[0]] + w[1] * linear_of[rgb[1]] +
                                   w[2] * linear_of[rgb[2]],
                               WEIGHT)];
    }
    lab[0] = byte_of(descale(
        (116 * 255 + 50) / 100 * f[1] - (16 * 255 * (1 << ROOT) + 50) / 100, ROOT));
    lab[1] = byte_of(descale(500 * (f[0] - f[1]) + (128 << ROOT), ROOT));
    lab[2] = byte_of(descale(200 * (f[1] - f[2]) + (128 << ROOT), ROOT));
}

static float unroot(float f)
{
    return f > 0.206893f ? f * f * f : (f - 16.0f / 116) / 7.787f;
}

static uint8_t encode(float v)
{
    return encoded_of[v < 0 ? 0 : v > 1 ? ENCODED : (int)lrintf(v * ENCODED)];
}

static void rgb_of(const uint8_t lab[3], uint8_t *rgb)
{
    float l = (float)lab[0] / 2.55f, fy = (l + 16) / 116;
    float y = l > 8 ? fy * fy * fy : l / 903.3f;
    float x, z;

    fy = l > 8 ? fy : 7.787f * y + 16.0f / 116;
    x = (float)white[0] * unroot(fy + (float)(lab[1] - 128) / 500);
    z = (float)white[2] * unroot(fy - (float)(lab[2] - 128) / 200);
    rgb[0] = encode(3.240479f * x - 1.537150f * y - 0.498535f * z);
    rgb[1] = encode(-0.969256f * x + 1.875991f * y + 0.041556f * z);
    rgb[2] = encode(0.055648f * x - 0.204043f * y + 1.057311f * z);
}

void clahe(struct policy_canvas *c, double clip_limit, int tiles)
{
    size_t n = (size_t)c->w * (size_t)c->h;
    uint8_t *lightness = c->scratch;

    (void)pthread_once(&once, fill_tables);
    for (size_t i = 0; i < n; i++) {
        uint8_t lab[3] = {c->pixel[3 * i]};

        if (!c->gray) {
            lab_of(c->pixel + 3 * i, lab);
            memcpy(c->pixel + 3 * i, lab, 3);
        }
        lightness[i] = lab[0];
    }
    clahe_plane(lightness, c->w, c->h, clip_limit, tiles, c->warp);
    for (size_t i = 0; i < n; i++) {
        const uint8_t *p = c->pixel + 3 * i;
        uint8_t lab[3] = {lightness[i], p[1], p[2]};

        if (c->gray)
            memset(c->pixel + 3 * i, lightness[i], 3);
        else
            rgb_of(lab, c->pixel + 3 * i);
    }
}
