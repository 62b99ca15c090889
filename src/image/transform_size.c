/* The sizes of the results of transforms. */
#include <math.h>

#include "image/transform.h"

void transform_segment_fit(const struct transform *t, int w, int h, int *fw, int *fh)
{
    bool wide = (int64_t)t->w * h <= (int64_t)t->h * w;

    *fw = wide ? t->w : (int)rint((double)w * t->h / h);
    *fh = wide ? (int)rint((double)h * t->w / w) : t->h;
    *fw = *fw < 1 ? 1 : *fw;
    *fh = *fh < 1 ? 1 : *fh;
}

int transform_channels(const struct transform *t)
{
    return t->channels ? t->channels : IMAGE_RGB;
}

size_t transform_size(const struct transform *t)
{
    int channels = transform_channels(t);

    return t->resize_later ? (size_t)resize_place(t->w, t->h, channels)
                           : (size_t)t->w * (size_t)t->h * (size_t)channels;
}

bool transform_is_fixed(const struct transform *t)
{
    return (t->kind == TRANSFORM_CENTER || t->kind == TRANSFORM_STRETCH) &&
           !(t->flip.probability > 0) && !t->flip.alternate && !(t->vflip > 0) &&
           !t->policy.kind && !t->list.n &&
           !(t->jitter[0] > 0 || t->jitter[1] > 0 || t->jitter[2] > 0) &&
           !(t->erase.probability > 0) && !t->filter_random && !t->resize_later;
}

bool transform_segment_fits(const struct transform *t)
{
    return t->factor[0] == t->factor[1] && (t->factor[0] == 0 || t->factor[0] == 1);
}
