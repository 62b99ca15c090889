/*
 * What decode.c knows of the file formats of images: a row each, in the file of the
 * library that reads it (jpeg.c, png_plain.c and stb.c, webp.c, tiff.c, avif.c,
 * jpeg2000.c) or of our own reader (bmp.c, gif.c, ico.c, pnm.c, tga.c). A new format is
 * its file, which defines decoder_NAME, and a word in DECODER_TABLE; nothing else names
 * it. Private to src/image.
 */
#ifndef IMAGE_DECODER_H
#define IMAGE_DECODER_H

#include <stdbool.h>

#include "image/image.h"

/* A file in memory, and what the format keeps from one file to the next. */
struct decoder_file {
    const void *data;
    size_t len;
    void *state;              /* of state_new; NULL: the format keeps nothing */
    bool truncated;           /* image_limits.truncated */
    struct value_range range; /* image_limits.range */
    struct strbuf *warning;   /* gets what decoder_warn() is told; NULL: nobody asks */
};

/* Keeps the first warning: damage in spite of which the image is read. */
void decoder_warn(const struct decoder_file *f, const char *text);

/* Of a file that is cut off: 0 and a warning where such are read, and what is missing is
 * to be black or the first color; else FAILURE_DATA and the reason. */
int decoder_cut(const struct decoder_file *f, struct strbuf *why);

struct decoder {
    const char *name;         /* "JPEG", for messages */
    const char *extension[8]; /* of file names, in lower case: ".jpg"; NULL ends them */
    bool lossy;               /* always: such a file cannot hold class values */
    /* Did encoding this file lose something? NULL: as `lossy` says. */
    bool (*is_lossy)(const struct decoder_file *f);
    bool device; /* a struct jpeg_device reads it, too */
    /* The library may report a lack of memory as damage; decode.c then looks whether
     * there is memory. */
    bool hides_memory;
    bool shrinks; /* read() can decode at 1/2, 1/4 and 1/8 */

    /* By the first bytes, which no two formats may share. TGA, the last, has no magic
     * number: its header must make sense. */
    bool (*is)(const void *data, size_t len);
    /* One for each image_decoder; both NULL: nothing is kept. */
    void *(*state_new)(void);
    void (*state_free)(void *state);
    /* The size in the header, without memory for pixels. A failure of base/failure.h,
     * with a reason. */
    int (*open)(const struct decoder_file *f, int *w, int *h, struct strbuf *why);
    /* The orientation of exif.h, from EXIF or else XMP; 0: the file has none. NULL: no
     * file of the format has. */
    int (*orientation)(const struct decoder_file *f);
    /* Bytes that read() may take at the most, beside the file. */
    size_t (*memory)(const struct decoder_file *f, int w, int h);
    /* After open() of the same file: a part that lies in the image, as
     * image_decoder_read. A failure of base/failure.h, with a reason. */
    int (*read)(const struct decoder_file *f, const struct image_part *part,
                struct image *img, struct strbuf *why);
    /* The same, but `channels` as they are stored, two or more than three: an error where
     * the file has others. NULL: the format has none. */
    int (*bands)(const struct decoder_file *f, const struct image_part *part,
                 int channels, struct image *img, struct strbuf *why);
};

/* All formats, in the order in which they are tried and listed. */
#define DECODER_TABLE(ROW)                                                               \
    ROW(jpeg)                                                                            \
    ROW(png)                                                                             \
    ROW(webp)                                                                            \
    ROW(tiff) ROW(bmp) ROW(gif) ROW(pnm) ROW(avif) ROW(jpeg2000) ROW(ico) ROW(tga)
#define DECODER_DECLARE(name) extern const struct decoder decoder_##name;
DECODER_TABLE(DECODER_DECLARE)

/* The format of a file that starts so; NULL: none of the table. */
const struct decoder *decoder_find(const void *data, size_t len);

/* For `bands`: what a file of other channels is told. Returns FAILURE_DATA. */
int decoder_other_channels(const char *what, int has, int wanted, struct strbuf *why);

/*
 * What is left of `white` in one colour by so much ink, both in [0, 255]:
 * white - ink white / 255, rounded as Pillow does it.
 */
static inline uint8_t decoder_ink(unsigned ink, unsigned white)
{
    unsigned t = ink * white + 128;

    return (uint8_t)(white - (((t >> 8) + t) >> 8));
}

#endif
