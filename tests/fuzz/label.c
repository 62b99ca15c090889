/* A label map. */
#include "fuzz.h"

#include "image/label.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct image_limits limits = {.max_pixels = 1 << 18,
                                               .max_bytes = 1 << 20};
    static struct label_reader r;
    struct strbuf why = STRBUF_INIT;
    unsigned sum = 0;

    if (!label_read(&r, data, size, &limits, &why))
        for (size_t i = 0; i < (size_t)r.w * (size_t)r.h; i++)
            sum += r.pixel[i];
    else
        fuzz_expect(why.len > 0, "a refusal has a reason");
    fuzz_expect(sum <= 255u << 18, "sums are small");
    strbuf_release(&why);
    return 0;
}
