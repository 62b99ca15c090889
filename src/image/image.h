/*
 * Images: from the bytes of a file to interleaved 8-bit RGB.
 *
 *   struct image_decoder *d = image_decoder_new(NULL);        one per thread, reused
 *   if (image_decoder_open(d, data, len, &w, &h, &why) < 0)   header only, limits checked
 *       ... why.buf says why ...
 *   image_decoder_read(d, NULL, &img, &why);                  or a part of the image
 *   image_release(&img);  image_decoder_free(d);
 *
 * `data` must stay until the read is done. After open comes at most one read. Nothing is
 * allocated by us per image once the buffers have grown to their size.
 *
 * JPEG goes through libjpeg-turbo, and through its libjpeg interface: TurboJPEG 2.1
 * cannot decode a part of an image, and skipping the rows and columns outside the crop
 * saves a third of the time of a random resized crop. PNGs of 8 bits that are not
 * interlaced go through libdeflate and our own filters (png_plain.h), other PNGs through
 * stb_image, WebP (of an animation the first frame, on
 * black) through libwebp, TIFF (the first image, 8 bits or less) through libtiff, AVIF
 * (the first image) through libavif, JPEG 2000 through OpenJPEG; BMP, GIF (the first
 * frame), PNM, TGA, and ICO (the largest image) through readers of our own. The format is
 * told from the first bytes, never from the name.
 *
 * Every image becomes RGB, as in Pillow's convert("RGB"): grey is repeated, palettes are
 * looked up (also where a GIF says that a colour is transparent), alpha is dropped
 * without blending, CMYK and YCCK are read as Adobe writes them in JPEGs (inverted) and
 * become R = C K / 255. 16-bit samples keep their high byte (Pillow clips 16-bit grey
 * instead), unless limits.range says which values become black and white. The EXIF orientation is ignored, as
 * in torchvision's and timm's loaders: published weights were trained and measured so.
 * That of a TIFF is ignored, too, though Pillow applies it. With image_limits.rotate it
 * counts, as in Pillow's ImageOps.exif_transpose, from EXIF or else XMP, in JPEG, PNG,
 * WebP, TIFF, and AVIF: sizes and parts are then those of the image as it is shown, and a
 * rotated image is not shrunken.
 *
 * image_decoder_channels() asks for another number of channels: one is grey, Pillow's
 * convert("L") of the above; two, or more than three, are the channels that the file
 * stores, exactly so many: a PNG's grey and alpha or RGBA, the 8-bit samples of a TIFF's
 * pixels, or the pages of a TIFF that has several, which must be grey and of one size.
 *
 * Damage that libjpeg and libtiff only warn about, such as a bad Huffman code, is decoded
 * as far as it goes, as in Pillow, with image_decoder_warning(). Files that are cut off are
 * errors, and PNGs with a wrong checksum, unless limits.truncated says that they are to
 * be decoded in the same way: JPEG, PNG, TIFF, BMP, GIF, PNM, TGA, and ICO. What is
 * missing of them is black, grey, or the first color of the palette.
 *
 * What lies below or beside the part that is read is not looked at, except that a JPEG
 * that does not end with its end marker is always decoded whole, so that a truncated file
 * is found whatever part is wanted. A part has exactly the pixels that it has in the
 * whole image.
 *
 * Limits against decompression bombs are checked before any pixel is decoded: the file's
 * size, the header's width times height, the memory that libjpeg and stb_image may take,
 * the number of scans of a progressive JPEG. libwebp takes what the pixels justify, and
 * so does what a TIFF's strips or tiles may have.
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

enum { IMAGE_RGB = 3, IMAGE_CHANNELS = 32 }; /* of a pixel; at most */

struct image {
    int x, y; /* where pixel[0] lies in the whole image, at 1/shrink; 0 if this is it */
    int w, h;
    int channels;   /* of a pixel, interleaved */
    size_t stride;  /* bytes from row to row, >= channels w */
    uint8_t *pixel; /* R, G, B, R, G, B ...; owned */
    size_t cap;     /* bytes allocated */
};

/* Room for w x h pixels of unset content, of 3 or of `channels` channels, with stride
 * channels w and x = y = 0; grows, never shrinks. */
void image_resize_room(struct image *img, int w, int h);
void image_room(struct image *img, int w, int h, int channels);
void image_release(struct image *img);

struct image_limits {
    int64_t max_pixels; /* 0: 178,956,970, Pillow's limit */
    int64_t max_bytes;  /* of the file; 0: 256 MiB */
    /* Not limits: files that are cut off are read as far as they go, with a warning; */
    bool truncated;
    struct value_range range;       /* of samples of more than 8 bits: TIFF, PNG */
    bool rotate;                    /* images are read as their EXIF orientation says; */
    const struct jpeg_device *jpeg; /* decodes whole JPEGs that end with their end marker,
                                     * if it can; NULL: libjpeg does */
};

struct image_limits image_limits_or_default(const struct image_limits *limits);

/*
 * A part of the image, in pixels of the whole image, decoded at 1/shrink of its size.
 * shrink is 1, or 2, 4 or 8 where image_decoder_shrinks() says so. Shrunken pixels come
 * from the low frequencies of each 8x8 block: nearly the mean of shrink x shrink pixels,
 * a little sharper.
 */
struct image_part {
    int x, y, w, h;
    int shrink;
};

/* Has the name the extension of a format that can be read, in upper or lower case? */
bool image_has_extension(const char *path);
/* ".jpg, .jpeg, .png, ...": all of them, for messages. */
void image_add_extensions(struct strbuf *s);

/* The extension for a file that starts with these bytes, ".jpg"; NULL: no known
 * format. */
const char *image_extension_of(const void *data, size_t len);

/* Has encoding these bytes of an image lost something (JPEG, AVIF, most WebPs)? */
bool image_is_lossy(const void *data, size_t len);

struct image_decoder;

/* NULL: default limits. */
struct image_decoder *image_decoder_new(const struct image_limits *limits);
void image_decoder_free(struct image_decoder *d);

/* Reads the header: 0 and the size in pixels, or a failure of base/failure.h and a reason
 * without the file's name, which the caller knows. */
int image_decoder_open(struct image_decoder *d, const void *data, size_t len, int *w,
                       int *h, struct strbuf *why);
int image_decoder_shrinks(
    const struct image_decoder *d); /* 1: can decode at 1/2 .. 1/8 */

/* The channels of the images that are read from now on; IMAGE_RGB at first. */
void image_decoder_channels(struct image_decoder *d, int channels);

/*
 * Reads `part` (NULL: all, unshrunken). `img` covers at least the part: it may be larger,
 * and img->x, img->y say where it lies. At 1/shrink the part's edges are rounded
 * outwards. A failure of base/failure.h, with a reason.
 *
 * Memory is taken by the rules of image/gate.h.
 */
int image_decoder_read(struct image_decoder *d, const struct image_part *part,
                       struct image *img, struct strbuf *why);

/* Of the last image that was read: damage in spite of which it was, such as a bad Huffman
 * code or, with limits.truncated, an end that is missing. NULL: none. The decoder's. */
const char *image_decoder_warning(const struct image_decoder *d);
/* Forgets it, for callers that may read no image before they ask again. */
void image_decoder_forget(struct image_decoder *d);

#endif
