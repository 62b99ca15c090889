/*
 * Images: from the bytes of a file to interleaved 8-bit RGB.
 *
 *   struct image_decoder *d = image_decoder_new(NULL);        one per thread, reused
 *   if (image_decoder_open(d, data, len, &w, &h, &why) < 0)   header only, limits checked
 *      ... why.buf says why ...
 *   image_decoder_read(d, NULL, &img, &why);                  or a part of the image
 *   image_release(&img);  image_decoder_free(d);
 *
 * `data` must stay valid until the read is done. Each open allows one read. After the
 * buffers have grown, our code allocates nothing per image.
 *
 * JPEG uses libjpeg-turbo through its libjpeg interface: TurboJPEG 2.1 cannot decode a
 * part of an image, and skipping the rows and columns outside the crop saves a third of
 * the time of a random resized crop. 8-bit PNGs without interlacing use libdeflate and
 * our own filters (png_plain.h), other PNGs stb_image, WebP (of an animation the first
 * frame, on black) libwebp, TIFF (the first image, 8 bits or less) libtiff, AVIF (the
 * first image) libavif, JPEG 2000 OpenJPEG; BMP, GIF (the first frame), PNM, TGA, and ICO
 * (the largest image) have our own readers. The first bytes decide the format, never the
 * file name.
 *
 * Every image becomes RGB, as in Pillow's convert("RGB"): gray is repeated, palettes are
 * looked up (also for transparent colors of a GIF), alpha is dropped without blending,
 * CMYK and YCCK are read as Adobe writes them in JPEGs (inverted) and become R = C K /
 * 255. 16-bit samples keep their high byte (Pillow clips 16-bit gray instead), unless
 * limits.range defines black and white. The EXIF orientation is ignored, as in
 * torchvision's and timm's loaders, with which published weights were trained and
 * evaluated; that of a TIFF is ignored, too, although Pillow applies it.
 * image_limits.rotate applies the orientation, as Pillow's ImageOps.exif_transpose does,
 * from EXIF or else XMP, in JPEG, PNG, WebP, TIFF, and AVIF: sizes and parts then refer
 * to the displayed image, and a rotated image is not shrunk.
 *
 * image_decoder_channels() selects another number of channels. One is gray, Pillow's
 * convert("L") of the above. Two, or more than three, are the channels that the file
 * stores, and the number must match: a PNG's gray and alpha or RGBA, the 8-bit samples of
 * a TIFF's pixels, or the pages of a TIFF that has several, which must be gray and of one
 * size.
 *
 * Damage that libjpeg and libtiff only warn about, such as a bad Huffman code, is decoded
 * as far as possible, as in Pillow, with image_decoder_warning(). Files that are cut off
 * and PNGs with a wrong checksum are errors; with limits.truncated they are decoded as
 * far as possible, too: JPEG, PNG, TIFF, BMP, GIF, PNM, TGA, and ICO. Missing pixels are
 * black, gray, or the first color of the palette.
 *
 * Data outside the part that is read are not checked, except that a JPEG without end
 * marker is always decoded whole, so that a truncated file is detected whichever part is
 * requested. A part has exactly the pixels that it has in the whole image.
 *
 * Limits against decompression bombs are checked before any pixel is decoded: the file's
 * size, the header's width times height, the memory of libjpeg and stb_image, and the
 * scans of a progressive JPEG. libwebp and libtiff take memory in proportion to pixels.
 */
#ifndef IMAGE_IMAGE_H
#define IMAGE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/jpeg_device.h"
#include "base/strbuf.h"
#include "base/value_range.h"

/* Readable bytes after the last pixel of every image, for loads wider than a pixel. */
enum { IMAGE_SLACK = 64 };

enum { IMAGE_RGB = 3, IMAGE_CHANNELS = 32 }; /* usual and maximum channels per pixel */

struct image {
    int x, y; /* position of pixel[0] in the whole image, at 1/shrink */
    int w, h;
    int channels;   /* per pixel, interleaved */
    size_t stride;  /* bytes from row to row, at least channels * w */
    uint8_t *pixel; /* R, G, B, R, G, B ...; owned */
    size_t cap;     /* bytes allocated */
};

/* Makes room for w x h uninitialized pixels of 3 or `channels` channels, with stride
 * channels * w and x = y = 0; grows, never shrinks. */
void image_resize_reserve(struct image *img, int w, int h);
void image_reserve(struct image *img, int w, int h, int channels);
void image_release(struct image *img);

struct image_limits {
    int64_t max_pixels; /* 0: 178,956,970, Pillow's limit */
    int64_t max_bytes;  /* of the file; 0: 256 MiB */
    /* An option: files that are cut off are read as far as possible, with a warning. */
    bool truncated;
    struct value_range range;       /* of samples with more than 8 bits: TIFF, PNG */
    bool rotate;                    /* applies the EXIF orientation */
    const struct jpeg_device *jpeg; /* decodes whole JPEGs with an end marker where it
                                     * can; NULL: libjpeg decodes all */
};

struct image_limits image_limits_or_default(const struct image_limits *limits);

/*
 * A part of the image, in pixels of the whole image, decoded at 1/shrink of its size.
 * shrink is 1, or 2, 4, or 8 if image_decoder_shrinks(). Shrunken pixels come from the
 * low frequencies of each 8x8 block: nearly the mean of shrink x shrink pixels, slightly
 * sharper.
 */
struct image_part {
    int x, y, w, h;
    int shrink;
};

/* True if the name ends with a readable format's extension, in upper or lower case. */
bool image_has_extension(const char *path);
/* Appends ".jpg, .jpeg, .png, ...": all extensions, for messages. */
void image_add_extensions(struct strbuf *s);

/* Returns the extension (".jpg") of a file that starts with these bytes, or NULL. */
const char *image_extension_of(const void *data, size_t len);

/* True if encoding these bytes of an image lost information (JPEG, AVIF, most WebPs). */
bool image_is_lossy(const void *data, size_t len);

/* True if these bytes of an image have samples of more than 8 bits, or with a sign or a
 * fraction, which reading reduces to 8 bits. */
bool image_is_deep(const void *data, size_t len);

struct image_decoder;

/* `limits` may be NULL (defaults). */
struct image_decoder *image_decoder_new(const struct image_limits *limits);
void image_decoder_free(struct image_decoder *d);

/* Reads the header: returns 0 and the size in pixels, or a failure of base/failure.h and
 * a reason without the file's name, which the caller adds. */
int image_decoder_open(struct image_decoder *d, const void *data, size_t len, int *w,
                       int *h, struct strbuf *why);
/* True if it can decode at 1/2 to 1/8. */
int image_decoder_shrinks(const struct image_decoder *d);

/* Sets the channels of later images; IMAGE_RGB initially. */
void image_decoder_channels(struct image_decoder *d, int channels);

/*
 * Reads `part` (NULL: the whole image, not shrunk). `img` covers at least the part: it
 * may be larger, and img->x, img->y give its position. At 1/shrink the part's edges are
 * rounded outwards. Returns a failure of base/failure.h with a reason on errors.
 * Memory follows the rules of image/gate.h.
 */
int image_decoder_read(struct image_decoder *d, const struct image_part *part,
                       struct image *img, struct strbuf *why);

/* Returns the decoder's warning of damage that did not prevent reading the last image,
 * such as a bad Huffman code or, with limits.truncated, a missing end; or NULL. */
const char *image_decoder_warning(const struct image_decoder *d);
/* Clears the warning. */
void image_decoder_forget(struct image_decoder *d);

#endif
