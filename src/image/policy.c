#include "image/policy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "image/enhance.h"

enum { POLICY_MAX_OPS = 64 };

/* A number at `text` up to the next dash; moves *text behind it. NaN: none. */
static double policy_number(const char **text)
{
    char *end;
    double v = strtod(*text, &end);

    if (end == *text || (*end && *end != '-'))
        return NAN;
    *text = end;
    return v;
}

/* "mstd0.5" and the like; false: unknown or without a number. */
static bool policy_part(struct policy *p, const char **text)
{
    static const struct {
        const char *name;
        size_t field;
    } parts[] = {
        {"mstd", offsetof(struct policy, deviation)},
        {"mmax", offsetof(struct policy, bound)},
        {"m", offsetof(struct policy, magnitude)},
        {"p", offsetof(struct policy, probability)},
    };
    double v;

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        size_t len = strlen(parts[i].name);

        if (strncmp(*text, parts[i].name, len) != 0)
            continue;
        *text += len;
        v = policy_number(text);
        memcpy((char *)p + parts[i].field, &v, sizeof(v));
        return v >= 0;
    }
    if (strncmp(*text, "inc", 3) == 0) {
        *text += 3;
        p->increasing = true;
        return policy_number(text) >= 0;
    }
    if (**text != 'n')
        return false;
    ++*text;
    v = policy_number(text);
    if (!(v >= 1 && v <= POLICY_MAX_OPS))
        return false;
    p->ops = (int)v;
    return true;
}

int policy_parse(struct policy *p, const char *text, struct strbuf *why)
{
    const char *at = text, *part;

    *p = (struct policy){0};
    if (!*text || strcmp(text, "none") == 0 || strcmp(text, "None") == 0)
        return 0;
    *p = (struct policy){.ops = 2, .magnitude = 10, .bound = 10, .probability = 0.5};
    if (strncmp(text, "rand", 4) != 0 || (text[4] && text[4] != '-')) {
        strbuf_addf(why, "'%s': only none and rand-... are known policies", text);
        return -1;
    }
    for (at += 4; *at == '-';) {
        part = ++at;
        if (policy_part(p, &at) && p->probability <= 1)
            continue;
        strbuf_addf(why,
                    "'%s': '%.*s' is none of mN, nN (1 to %d), pP (at most 1), mstdS, "
                    "mmaxN, incN",
                    text, (int)strcspn(part, "-"), part, POLICY_MAX_OPS);
        return -1;
    }
    return 0;
}

static void policy_geometry(struct policy_canvas *c, enum policy_op op, double m,
                            enum resize_filter filter)
{
    double map[6];

    if (op == POLICY_ROTATE)
        warp_rotate(map, 30 * m / 10, c->w, c->h);
    else if (op == POLICY_SHEAR_X)
        warp_shear_x(map, 0.3 * m / 10);
    else if (op == POLICY_SHEAR_Y)
        warp_shear_y(map, 0.3 * m / 10);
    else if (op == POLICY_TRANSLATE_X)
        warp_translate(map, 0.45 * m / 10 * c->w, 0);
    else
        warp_translate(map, 0, 0.45 * m / 10 * c->h);
    warp_affine(c->warp, c->pixel, c->w, c->h, map,
                filter == RESIZE_BICUBIC ? WARP_BICUBIC : WARP_BILINEAR, c->fill);
}

static int policy_at_most(int v, int limit)
{
    return v < limit ? v : limit;
}

void policy_apply_op(struct policy_canvas *c, enum policy_op op, bool increasing,
                     double m, int sign, enum resize_filter filter)
{
    size_t n = (size_t)c->w * (size_t)c->h;
    double enhance = increasing ? 1 + sign * 0.9 * m / 10 : 0.1 + 1.8 * m / 10;
    float f = (float)(enhance > 0.1 ? enhance : 0.1);
    int solarize = policy_at_most((int)(256 * m / 10), 256), bits = (int)(4 * m / 10);

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
        enhance_posterize(c->pixel, n, increasing ? 4 - bits : bits);
        break;
    case POLICY_SOLARIZE:
        enhance_solarize(c->pixel, n, increasing ? 256 - solarize : solarize);
        break;
    case POLICY_SOLARIZE_ADD:
        enhance_solarize_add(c->pixel, n, policy_at_most((int)(110 * m / 10), 128), 128);
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
    case POLICY_OPS:
        policy_geometry(c, op, sign * m, filter);
        break;
    }
}

static double policy_magnitude(const struct policy *p, const struct philox *r)
{
    double m = p->magnitude;

    if (p->deviation > 100)
        m *= augment_uniform(r->v[2]);
    else if (p->deviation > 0)
        m += p->deviation * (double)philox_normal(r->v[2], r->v[3]);
    return m < 0 ? 0 : m > p->bound ? p->bound : m;
}

void policy_apply(const struct policy *p, const struct augment_key *k,
                  struct policy_canvas *c, enum resize_filter filter, bool filter_random)
{
    for (uint32_t i = 0; i < (uint32_t)p->ops; i++) {
        struct philox r = augment_draw(k, AUGMENT_POLICY, 2 * i);
        struct philox s = augment_draw(k, AUGMENT_POLICY, 2 * i + 1);
        enum policy_op op = (enum policy_op)philox_below(r.v[0], POLICY_OPS);

        if (!(augment_uniform(r.v[1]) < p->probability))
            continue;
        if (filter_random)
            filter = s.v[1] & 1 ? RESIZE_BICUBIC : RESIZE_BILINEAR;
        policy_apply_op(c, op, p->increasing, policy_magnitude(p, &r),
                        s.v[0] & 1 ? 1 : -1, filter);
    }
}
