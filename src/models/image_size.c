#include "models/image_size.h"

static const char *const keys[] = {"DATA.IMG_SIZE", "DATA.IMG_WIDTH", "DATA.IMG_HEIGHT",
                                   NULL};

const char *const *size_at_least(const struct model *m, int least, int height, int width,
                                 struct strbuf *why)
{
    if (height >= least && width >= least)
        return NULL;
    strbuf_addf(why, "%s needs images of at least %d x %d pixels, not %d x %d", m->name,
                least, least, width, height);
    return keys;
}

const char *const *size_for_halvings(const struct model *m, const struct model_options *o,
                                     int halvings, int height, int width,
                                     struct strbuf *why)
{
    int left = halvings > o->skip_strides ? halvings - (int)o->skip_strides : 0;

    return size_at_least(m, 1 << left, height, width, why);
}

const char *const *size_multiple_of(const struct model *m, int side, int height,
                                    int width, struct strbuf *why)
{
    if (height % side == 0 && width % side == 0)
        return NULL;
    strbuf_addf(why,
                "the input of %s is %d x %d pixels, width and height must be multiples "
                "of %d (DATA.IMG_WIDTH, DATA.IMG_HEIGHT)",
                m->name, width, height, side);
    return keys;
}

const char *const *size_in_patches(const struct model *m, int side, int height, int width,
                                   struct strbuf *why)
{
    static const char *const size[] = {"DATA.IMG_SIZE", "MODEL.NAME", NULL};

    if (height % side == 0 && width % side == 0)
        return NULL;
    strbuf_addf(why, "%s cuts images into patches of %d pixels, which do not divide %d",
                m->name, side, height % side ? height : width);
    return size;
}
