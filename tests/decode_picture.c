#include "decode_picture.h"

int decode_picture(struct image_decoder *d, const void *data, size_t len,
                   const struct image_part *part, struct image *img, struct strbuf *why)
{
    int w, h;

    strbuf_reset(why);
    if (image_decoder_open(d, data, len, &w, &h, why) < 0)
        return -1;
    return image_decoder_read(d, part, img, why);
}
