/*
 * Label maps: one class index per pixel, from the bytes of a PNG file, or of a PGM with
 * maximum 255, the form in which decoded images are stored.
 *
 *   struct label_reader r = {0};
 *   if (label_read(&r, data, len, &limits, &why) < 0)
 *      ... why.buf says why, without the file's name ...
 *   r.w, r.h, r.pixel                             until the next read
 *   label_reader_release(&r);
 *
 * Values are those stored in the file: gray levels of 1, 2, 4, or 8 bits, unscaled, and
 * palette indices (PASCAL VOC) regardless of their colors. All other files are refused
 * with a reason: colors and 16-bit grays are no class indices, and a JPEG changes them.
 */
#ifndef IMAGE_LABEL_H
#define IMAGE_LABEL_H

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "image/image.h"

/* Label of ignored pixels in every label map that is passed on. */
enum { LABEL_IGNORE = 255 };

/* Maximum number of classes of a label map: labels are bytes, and two values are
 * reserved. */
enum { LABEL_CLASSES = 254 };

/* Class indices of the colors in label files, in ascending order of `rgb`, 0xrrggbb. */
struct label_colors {
    struct label_color {
        uint32_t rgb;
        uint8_t value; /* or LABEL_IGNORE */
    } * item;
    int n;
    bool others; /* unlisted colors are LABEL_IGNORE instead of errors */
};

void label_colors_sort(struct label_colors *c);
const struct label_color *label_colors_find(const struct label_colors *c,
                                            uint32_t rgb); /* Returns NULL if the
                                                              * color is not listed. */

/* Initialize to {0}; one per thread, reused. */
struct label_reader {
    int w, h;
    uint8_t *pixel; /* [h, w] */
    size_t cap;
    struct png_plain *plain;       /* for the usual PNGs; allocated by the first one */
    struct image_decoder *decoder; /* for colors; allocated by the first file */
    struct image rgb;              /* the last file in colors */
};

int label_read(struct label_reader *r, const void *data, size_t len,
               const struct image_limits *limits, struct strbuf *why);
/* Same for a file of colors in any lossless format; palette colors are looked up, alpha
 * is dropped. The reason names the first unlisted color. */
int label_read_colors(struct label_reader *r, const struct label_colors *c,
                      const void *data, size_t len, const struct image_limits *limits,
                      struct strbuf *why);
/* Only decodes into r->rgb; sets w and h. */
int label_decode_colors(struct label_reader *r, const void *data, size_t len,
                        const struct image_limits *limits, struct strbuf *why);

/* Why a file of samples that are no unsigned numbers of 8 bits is no label map. */
extern const char label_deep_reason[];

/* Returns the format of a file name if it is always lossy, such as "JPEG", else NULL. */
const char *label_lossy_format(const char *path);

void label_reader_reserve(struct label_reader *r, int w, int h); /* uninitialized */
void label_reader_release(struct label_reader *r);

#endif
