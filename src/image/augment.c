#include "image/augment.h"

#include <math.h>
#include <string.h>

struct philox augment_draw(const struct augment_key *k, enum augment_purpose p,
                           uint32_t n)
{
    uint64_t element = (uint64_t)k->sample | (uint64_t)p << 40 | (uint64_t)n << 48;

    return philox(k->seed, PHILOX_AUGMENT, k->epoch, element);
}

double augment_uniform(uint32_t bits)
{
    return (double)bits * (1.0 / 4294967296.0);
}

double augment_between(uint32_t bits, double lo, double hi)
{
    return lo + (hi - lo) * augment_uniform(bits);
}

int augment_integer(uint32_t bits, int lo, int hi)
{
    return lo + (int)philox_below(bits, (uint32_t)(hi - lo) + 1);
}

/* The whole image, cut around its centre to the nearest allowed aspect. */
static struct augment_box augment_centred(int w, int h, const double ratio[2])
{
    struct augment_box b = {0, 0, w, h};
    double aspect = (double)w / h;

    if (aspect < ratio[0])
        b.h = (int)rint(w / ratio[0]);
    else if (aspect > ratio[1])
        b.w = (int)rint(h * ratio[1]);
    b.w = b.w < 1 ? 1 : b.w > w ? w : b.w;
    b.h = b.h < 1 ? 1 : b.h > h ? h : b.h;
    b.x = (w - b.w) / 2;
    b.y = (h - b.h) / 2;
    return b;
}

struct augment_box augment_resized_crop(const struct augment_key *k, int w, int h,
                                        const double scale[2], const double ratio[2])
{
    double all = (double)w * h;

    for (uint32_t n = 0; n < 10; n++) {
        struct philox r = augment_draw(k, AUGMENT_CROP, n);
        double area = all * augment_between(r.v[0], scale[0], scale[1]);
        double aspect = exp(augment_between(r.v[1], log(ratio[0]), log(ratio[1])));
        double cw = rint(sqrt(area * aspect)), ch = rint(sqrt(area / aspect));

        if (cw > 0 && cw <= w && ch > 0 && ch <= h)
            return (struct augment_box){augment_integer(r.v[2], 0, w - (int)cw),
                                        augment_integer(r.v[3], 0, h - (int)ch), (int)cw,
                                        (int)ch};
    }
    return augment_centred(w, h, ratio);
}

bool augment_flip(const struct augment_key *k, const struct augment_flips *f)
{
    struct augment_key from = *k;
    bool odd = f->alternate && k->epoch % 2;

    if (f->alternate)
        from.epoch = 0;
    return (augment_uniform(augment_draw(&from, AUGMENT_FLIP, 0).v[0]) <
            f->probability) != odd;
}

struct augment_jitter augment_jitter(const struct augment_key *k,
                                     const double strength[3])
{
    static const uint8_t orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                         {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    struct philox r = augment_draw(k, AUGMENT_JITTER, 0);
    struct augment_jitter j;

    for (int i = 0; i < 3; i++)
        j.factor[i] =
            (float)augment_between(r.v[i], fmax(0, 1 - strength[i]), 1 + strength[i]);
    memcpy(j.order, orders[philox_below(r.v[3], 6)], sizeof(j.order));
    return j;
}
