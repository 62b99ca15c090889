/*
 * Binary PGM and PPM (netpbm's pgm(5) and ppm(5)): P5 or P6, width, height, the largest
 * value, one white space, then the samples, of two bytes, the high one first, if that
 * value is above 255. stb_image does not look whether a file ends early, reads 16-bit
 * ones past their end, and takes no notice of a largest value below 255.
 */
#include <ctype.h>
#include <string.h>

#include "image/decoder.h"
#include "image/label.h"
#include "image/pnm.h"

struct pnm {
    int w, h, most; /* the largest value */
    int channels, bytes;
    const uint8_t *sample;
};

static bool pnm_is(const void *data, size_t len)
{
    return len >= 2 && (!memcmp(data, "P5", 2) || !memcmp(data, "P6", 2));
}

/* The next number of the header, after white space and comments; -1: there is none. */
static int pnm_number(const uint8_t *d, size_t len, size_t *at)
{
    int v = -1;

    while (*at < len && (isspace(d[*at]) || d[*at] == '#')) {
        if (d[*at] == '#')
            while (*at < len && d[*at] != '\n')
                ++*at;
        else
            ++*at;
    }
    for (; *at < len && isdigit(d[*at]) && v < 100000000; ++*at)
        v = (v < 0 ? 0 : 10 * v) + d[*at] - '0';
    return v;
}

static int pnm_header(struct pnm *p, const uint8_t *d, size_t len, struct strbuf *why)
{
    size_t at = 2;

    p->channels = d[1] == '6' ? 3 : 1;
    p->w = pnm_number(d, len, &at);
    p->h = pnm_number(d, len, &at);
    p->most = pnm_number(d, len, &at);
    p->bytes = p->most > 255 ? 2 : 1;
    if (p->w < 0 || p->h < 0 || p->most < 1 || p->most > 65535 || at >= len ||
        !isspace(d[at])) {
        strbuf_addf(why, "not a header of a P%c file", d[1]);
        return -1;
    }
    p->sample = d + at + 1;
    return 0;
}

static int pnm_open(const struct decoder_file *f, int *w, int *h, struct strbuf *why)
{
    struct pnm p;

    if (pnm_header(&p, f->data, f->len, why) < 0)
        return -1;
    *w = p.w;
    *h = p.h;
    return 0;
}

/* In [0, 255], rounded, as Pillow reads PPM. */
static uint8_t pnm_value(const struct pnm *p, const uint8_t *s)
{
    int v = p->bytes == 2 ? s[0] << 8 | s[1] : s[0];

    v = v < p->most ? v : p->most;
    return (uint8_t)((v * 255 + p->most / 2) / p->most);
}

static void pnm_row(const struct pnm *p, const uint8_t *s, int w, uint8_t *to)
{
    int step = p->channels * p->bytes;

    if (p->channels == 3 && p->most == 255) {
        memcpy(to, s, (size_t)w * 3);
        return;
    }
    for (int x = 0; x < w; x++, s += step, to += 3)
        for (int c = 0; c < 3; c++)
            to[c] = pnm_value(p, s + (p->channels == 3 ? c * p->bytes : 0));
}

static int pnm_read(const struct decoder_file *f, const struct image_part *part,
                    struct image *img, struct strbuf *why)
{
    const uint8_t *d = f->data;
    struct pnm p;
    size_t size;

    if (pnm_header(&p, d, f->len, why) < 0)
        return -1;
    size = (size_t)p.channels * (size_t)p.bytes;
    if ((size_t)p.w * (size_t)p.h > (size_t)(d + f->len - p.sample) / size) {
        strbuf_addstr(why, "the file is cut off");
        return -1;
    }
    image_resize_room(img, part->w, part->h);
    img->x = part->x;
    img->y = part->y;
    for (int y = 0; y < part->h; y++)
        pnm_row(&p,
                p.sample + ((size_t)(part->y + y) * (size_t)p.w + (size_t)part->x) * size,
                part->w, img->pixel + (size_t)y * img->stride);
    return 0;
}

int pnm_label(struct label_reader *r, const void *data, size_t len, int64_t max_pixels,
              struct strbuf *why)
{
    struct pnm p;
    int64_t n;

    if (pnm_header(&p, data, len, why) < 0)
        return -1;
    n = (int64_t)p.w * p.h;
    if (p.most != 255 || p.w < 1 || p.h < 1 || p.w > 1 << 20 || p.h > 1 << 20 ||
        n > max_pixels) {
        strbuf_addf(why, "a PGM of %d x %d values up to %d is no label map", p.w, p.h,
                    p.most);
        return -1;
    }
    if (n > (const uint8_t *)data + len - p.sample) {
        strbuf_addstr(why, "the file is cut off");
        return -1;
    }
    label_reader_room(r, p.w, p.h);
    memcpy(r->pixel, p.sample, (size_t)n);
    return 0;
}

static size_t pnm_memory(const struct decoder_file *f, int w, int h)
{
    (void)f;
    return (size_t)w * (size_t)h * 3;
}

const struct decoder decoder_pnm = {
    .name = "PPM",
    .extension = {".ppm", ".pgm"},
    .is = pnm_is,
    .open = pnm_open,
    .memory = pnm_memory,
    .read = pnm_read,
};
