/* Label maps in colors; see image/label.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/failure.h"
#include "image/label.h"

const char label_deep_reason[] =
    "its samples have more than 8 bits, a sign, or a fraction, and classes have 8 bits";

/* Pixels with unlisted colors. */
struct unknown {
    uint32_t rgb; /* the first such color */
    int x, y;
    int64_t n, total; /* pixels of that color, and in total */
};

static int compare(const void *a, const void *b)
{
    const struct label_color *x = a, *y = b;

    return x->rgb < y->rgb ? -1 : x->rgb > y->rgb;
}

void label_colors_sort(struct label_colors *c)
{
    qsort(c->item, (size_t)c->n, sizeof(*c->item), compare);
}

const struct label_color *label_colors_find(const struct label_colors *c, uint32_t rgb)
{
    struct label_color key = {.rgb = rgb};

    return c->n ? bsearch(&key, c->item, (size_t)c->n, sizeof(key), compare) : NULL;
}

static void note_unknown(struct unknown *u, uint32_t rgb, int x, int y)
{
    if (!u->total++) {
        u->rgb = rgb;
        u->x = x;
        u->y = y;
    }
    u->n += rgb == u->rgb;
}

static void map_pixels(struct label_reader *r, const struct label_colors *c,
                       struct unknown *u)
{
    uint8_t value = LABEL_IGNORE, *dst = r->pixel;
    uint32_t last = UINT32_MAX; /* matches no color */

    for (int y = 0; y < r->h; y++) {
        const uint8_t *p = r->rgb.pixel + (size_t)y * r->rgb.stride;

        for (int x = 0; x < r->w; x++, p += 3, dst++) {
            uint32_t rgb = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];

            if (rgb != last) {
                const struct label_color *color = label_colors_find(c, rgb);

                value = color ? color->value : LABEL_IGNORE;
                last = color || c->others ? rgb : UINT32_MAX;
                if (!color && !c->others)
                    note_unknown(u, rgb, x, y);
            }
            *dst = value;
        }
    }
}

int label_decode_colors(struct label_reader *r, const void *data, size_t len,
                        const struct image_limits *limits, struct strbuf *why)
{
    struct image_limits l = image_limits_or_default(limits);
    int rc;

    l.rotate = false; /* label maps are read as they are stored */
    if (image_is_deep(data, len)) {
        strbuf_addstr(why, label_deep_reason);
        return FAILURE_DATA;
    }
    if (image_is_lossy(data, len)) {
        strbuf_addstr(why, "its compression changes colors: label maps must be "
                           "lossless, such as PNGs");
        return FAILURE_DATA;
    }
    if (!r->decoder)
        r->decoder = image_decoder_new(&l);
    rc = image_decoder_open(r->decoder, data, len, &r->w, &r->h, why);
    return rc < 0 ? rc : image_decoder_read(r->decoder, NULL, &r->rgb, why);
}

int label_read_colors(struct label_reader *r, const struct label_colors *c,
                      const void *data, size_t len, const struct image_limits *limits,
                      struct strbuf *why)
{
    struct unknown u = {0};
    int rc = label_decode_colors(r, data, len, limits, why);

    if (rc < 0)
        return rc;
    label_reader_reserve(r, r->w, r->h);
    map_pixels(r, c, &u);
    if (!u.total)
        return 0;
    strbuf_addf(why,
                "the color #%06x at pixel (x %d, y %d) is no class: %" PRId64
                " pixels have it",
                (unsigned)u.rgb, u.x, u.y, u.n);
    if (u.total > u.n)
        strbuf_addf(why, ", and %" PRId64 " other colors that are none", u.total - u.n);
    strbuf_addf(why, " (DATA.CLASS_COLORS and DATA.IGNORED_COLORS have %d colors)", c->n);
    return FAILURE_DATA;
}
