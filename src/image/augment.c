#include "image/augment.h"

#include <math.h>

/* Returns the largest centered crop with an allowed aspect. */
static struct augment_box augment_centered(int w, int h, const double ratio[2])
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
    return augment_centered(w, h, ratio);
}
