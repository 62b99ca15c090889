/*
 * The table of image formats: a row each, in the file that reads it with a library
 * (jpeg.c, png_plain.c and stb.c, webp.c, tiff.c, avif.c, jpeg2000.c) or with our own
 * code (bmp.c, gif.c, ico.c, pnm.c, tga.c). A new format is a file that defines
 * decoder_NAME and a word in DECODER_TABLE. Private to src/image.
 */
#ifndef IMAGE_DECODER_H
#define IMAGE_DECODER_H

#include <stdbool.h>

#include "image/image.h"

/* A file in memory, and the format's state, which is reused for later files. */
struct decoder_file {
    const void *data;
    size_t len;
    void *state;              /* from state_new; NULL if the format has none */
    bool truncated;           /* image_limits.truncated */
    struct value_range range; /* image_limits.range */
    struct strbuf *warning;   /* receives decoder_warn(); may be NULL */
};

/* Stores the first warning: damage that does not prevent reading. */
void decoder_warn(const struct decoder_file *f, const char *text);

/* Handles a file that is cut off: returns 0 and warns if such files are read (missing
 * pixels become black or the first color); otherwise FAILURE_DATA with the reason. */
int decoder_cut(const struct decoder_file *f, struct strbuf *why);

struct decoder {
    const char *name;         /* "JPEG", for messages */
    const char *extension[8]; /* of file names, lower case: ".jpg"; ended by NULL */
    bool lossy;               /* always lossy: such a file cannot store class indices */
    /* True if encoding this file lost information; NULL: same as `lossy`. */
    bool (*is_lossy)(const struct decoder_file *f);
    /* True if read() would reduce the samples of this file to 8 bits, because they have
     * more bits, a sign, or a fraction; NULL: never. */
    bool (*is_deep)(const struct decoder_file *f);
    bool device; /* struct jpeg_device reads it, too */
    /* The library may report a lack of memory as damage; decode.c then tests for memory. */
    bool hides_memory;
    bool shrinks; /* read() can decode at 1/2, 1/4, and 1/8 */

    /* Detects the format by its first bytes, which are unique. TGA, the last, has no
     * magic number: its header must be plausible. */
    bool (*is)(const void *data, size_t len);
    /* One state per image_decoder; both NULL if there is no state. */
    void *(*state_new)(void);
    void (*state_free)(void *state);
    /* Reads the size from the header, without allocating pixels. Returns a failure of
     * base/failure.h with a reason on errors. */
    int (*open)(const struct decoder_file *f, int *w, int *h, struct strbuf *why);
    /* Returns the orientation (exif.h) from EXIF or else XMP, or 0 if the file has none.
     * NULL if the format cannot store one. */
    int (*orientation)(const struct decoder_file *f);
    /* Returns the maximum memory of read() in bytes, without the file. */
    size_t (*memory)(const struct decoder_file *f, int w, int h);
    /* Reads a part inside the image, after open() of the same file, as
     * image_decoder_read. Returns a failure of base/failure.h with a reason on errors. */
    int (*read)(const struct decoder_file *f, const struct image_part *part,
                struct image *img, struct strbuf *why);
    /* Reads `channels` channels as stored (two, or more than three); fails if the file
     * has another number. NULL if the format has none. */
    int (*bands)(const struct decoder_file *f, const struct image_part *part,
                 int channels, struct image *img, struct strbuf *why);
};

/* All formats, in the order of detection and listing. */
#define DECODER_TABLE(ROW)                                                               \
    ROW(jpeg)                                                                            \
    ROW(png)                                                                             \
    ROW(webp)                                                                            \
    ROW(tiff) ROW(bmp) ROW(gif) ROW(pnm) ROW(avif) ROW(jpeg2000) ROW(ico) ROW(tga)
#define DECODER_DECLARE(name) extern const struct decoder decoder_##name;
DECODER_TABLE(DECODER_DECLARE)

/* Returns the format of a file that starts with these bytes, or NULL if it is unknown. */
const struct decoder *decoder_find(const void *data, size_t len);

/* For `bands`: appends the message for a file with other channels. Returns FAILURE_DATA. */
int decoder_other_channels(const char *what, int has, int wanted, struct strbuf *why);

/*
 * Returns white - ink white / 255, the brightness of one color, rounded as Pillow does;
 * both in [0, 255].
 */
static inline uint8_t decoder_ink(unsigned ink, unsigned white)
{
    unsigned t = ink * white + 128;

    return (uint8_t)(white - (((t >> 8) + t) >> 8));
}

#endif
