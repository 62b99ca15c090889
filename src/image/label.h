/*
 * Label maps: one class value per pixel, from the bytes of a PNG file, or of a PGM
 * whose largest value is 255, which is what files of decoded images hold.
 *
 *   struct label_reader r = {0};
 *   if (label_read(&r, data, len, &limits, &why) < 0)
 *       ... why.buf says why, without the file's name ...
 *   r.w, r.h, r.pixel                             until the next read
 *   label_reader_release(&r);
 *
 * Values are what the file stores: grey levels of 1, 2, 4 or 8 bits unscaled, and the
 * indices of a palette (PASCAL VOC) without looking at its colours. Whatever else a file
 * may be is refused with a reason that says what it is: colours and 16-bit greys are no
 * class values, and a JPEG changes them.
 */
#ifndef IMAGE_LABEL_H
#define IMAGE_LABEL_H

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "image/image.h"

/* The label of pixels that do not count, in every label map that is handed on. */
enum { LABEL_IGNORE = 255 };

/* Classes of a label map, at most: labels are bytes, and two of them are reserved. */
enum { LABEL_CLASSES = 254 };

/* What the colours of label files mean, in ascending order of `rgb`, 0xrrggbb. */
struct label_colours {
    struct label_colour {
        uint32_t rgb;
        uint8_t value; /* or LABEL_IGNORE */
    } * at;
    int n;
    bool others; /* colours that are not listed are LABEL_IGNORE; else they are errors */
};

void label_colours_sort(struct label_colours *c);
const struct label_colour *label_colours_find(const struct label_colours *c,
                                              uint32_t rgb); /* NULL: not listed */

/* {0} is a valid one; one per thread, reused. */
struct label_reader {
    int w, h;
    uint8_t *pixel; /* [h, w] */
    size_t cap;
    struct png_plain *plain;       /* for the usual PNGs, from the first of them on */
    struct image_decoder *decoder; /* of colours, from the first file on */
    struct image rgb;              /* of the last file in colours */
};

int label_read(struct label_reader *r, const void *data, size_t len,
               const struct image_limits *limits, struct strbuf *why);
/* The same of a file of colours, in any lossless format; the colours of palettes are looked
 * up, alpha is dropped. The reason names the first colour that is not listed. */
int label_read_colours(struct label_reader *r, const struct label_colours *c,
                       const void *data, size_t len, const struct image_limits *limits,
                       struct strbuf *why);
/* Only decodes it, into r->rgb; w and h are set. */
int label_decode_colours(struct label_reader *r, const void *data, size_t len,
                         const struct image_limits *limits, struct strbuf *why);

/* The format of a file by its name, if that always changes values: "JPEG"; else NULL. */
const char *label_lossy_format(const char *path);

void label_reader_room(struct label_reader *r, int w, int h); /* of unset content */
void label_reader_release(struct label_reader *r);

#endif
