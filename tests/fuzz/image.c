/* An image: a decoded part has the same pixels as in the whole image. */
#include "fuzz.h"

#include <string.h>

#include "image/image.h"

static int read_part(struct image_decoder *d, const uint8_t *data, size_t size,
                     const struct image_part *part, struct image *img)
{
    struct strbuf why = STRBUF_INIT;
    int w, h, bad;

    bad = image_decoder_open(d, data, size, &w, &h, &why) ||
          image_decoder_read(d, part, img, &why);
    fuzz_expect(!bad || why.len > 0, "a refusal has a reason");
    strbuf_release(&why);
    return bad;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct image_limits limits = {.max_pixels = 1 << 18,
                                               .max_bytes = 1 << 20};
    static struct image_decoder *d;
    static struct image whole, some;
    struct image_part part;

    if (!d)
        d = image_decoder_new(&limits);
    if (read_part(d, data, size, NULL, &whole))
        return 0;
    part = (struct image_part){whole.w / 3, whole.h / 3, (whole.w + 1) / 2,
                               (whole.h + 1) / 2, 1};
    fuzz_expect(!read_part(d, data, size, &part, &some),
                "a part of what is good is good");
    for (int y = part.y; y < part.y + part.h; y++)
        fuzz_expect(!memcmp(some.pixel + (size_t)(y - some.y) * some.stride +
                                3 * (size_t)(part.x - some.x),
                            whole.pixel + (size_t)y * whole.stride + 3 * (size_t)part.x,
                            3 * (size_t)part.w),
                    "a part has the pixels of the whole");
    return 0;
}
