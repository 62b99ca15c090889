#include "image/policy_ops.h"

#include <stddef.h>

#include "image/enhance.h"

static int min_int(int v, int limit)
{
    return v < limit ? v : limit;
}

static double enhance_factor(enum policy_levels levels, double m, int sign)
{
    double f = levels == POLICY_INCREASING ? 1 + sign * 0.9 * m / 10 : 0.1 + 1.8 * m / 10;

    return f > 0.1 ? f : 0.1;
}

static int posterize_bits(enum policy_levels levels, double m)
{
    int bits = (int)(4 * m / 10);

    if (levels == POLICY_INCREASING || levels == POLICY_ORIGINAL_R)
        return 4 - bits;
    return levels == POLICY_ORIGINAL ? 4 + bits : bits;
}

double policy_argument(const struct policy_canvas *c, enum policy_op op,
                       enum policy_levels levels, double m, int sign)
{
    int threshold = min_int((int)(256 * m / 10), 256);

    switch (op) {
    case POLICY_ROTATE:
        return sign * 30 * m / 10;
    case POLICY_POSTERIZE:
        return posterize_bits(levels, m);
    case POLICY_SOLARIZE:
        return levels == POLICY_INCREASING ? 256 - threshold : threshold;
    case POLICY_SOLARIZE_ADD:
        return min_int((int)(110 * m / 10), 128);
    case POLICY_COLOR:
    case POLICY_CONTRAST:
    case POLICY_BRIGHTNESS:
    case POLICY_SHARPNESS:
        return enhance_factor(levels, m, sign);
    case POLICY_SHEAR_X:
    case POLICY_SHEAR_Y:
        return sign * 0.3 * m / 10;
    case POLICY_TRANSLATE_X:
        return sign * 0.45 * m / 10 * c->w;
    case POLICY_TRANSLATE_Y:
        return sign * 0.45 * m / 10 * c->h;
    default:
        return 0;
    }
}

static void geometry(struct policy_canvas *c, enum policy_op op, double a,
                     enum resize_filter filter)
{
    double map[6];

    if (op == POLICY_ROTATE)
        warp_rotate(map, a, c->w, c->h);
    else if (op == POLICY_SHEAR_X)
        warp_shear_x(map, a);
    else if (op == POLICY_SHEAR_Y)
        warp_shear_y(map, a);
    else if (op == POLICY_TRANSLATE_X)
        warp_translate(map, a, 0);
    else
        warp_translate(map, 0, a);
    warp_affine(c->warp, c->pixel, c->w, c->h, map,
                filter == RESIZE_BICUBIC ? WARP_BICUBIC : WARP_BILINEAR, c->fill);
}

void policy_act(struct policy_canvas *c, enum policy_op op, double argument,
                enum resize_filter filter)
{
    size_t n = (size_t)c->w * (size_t)c->h;
    float f = (float)argument;

    switch (op) {
    case POLICY_AUTO_CONTRAST:
        enhance_autocontrast(c->pixel, n);
        break;
    case POLICY_EQUALIZE:
        enhance_equalize(c->pixel, n);
        break;
    case POLICY_INVERT:
        enhance_invert(c->pixel, n);
        break;
    case POLICY_POSTERIZE:
        enhance_posterize(c->pixel, n, (int)argument);
        break;
    case POLICY_SOLARIZE:
        enhance_solarize(c->pixel, n, (int)argument);
        break;
    case POLICY_SOLARIZE_ADD:
        enhance_solarize_add(c->pixel, n, (int)argument, 128);
        break;
    case POLICY_COLOR:
        enhance_color(c->pixel, n, f);
        break;
    case POLICY_CONTRAST:
        enhance_contrast(c->pixel, n, f);
        break;
    case POLICY_BRIGHTNESS:
        enhance_brightness(c->pixel, n, f);
        break;
    case POLICY_SHARPNESS:
        enhance_sharpness(c->pixel, c->w, c->h, f, c->scratch);
        break;
    case POLICY_ROTATE:
    case POLICY_SHEAR_X:
    case POLICY_SHEAR_Y:
    case POLICY_TRANSLATE_X:
    case POLICY_TRANSLATE_Y:
        geometry(c, op, argument, filter);
        break;
    case POLICY_IDENTITY:
        break;
    }
}
