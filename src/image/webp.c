/*
 * The only user of libwebp: lossy and lossless WebP, and the first frame of an animation.
 *
 * Quirks: the decoder treats a file that is cut off as the start of a stream, so the
 * demuxer, which requires all chunks, checks it first; the decoder of a part reads the
 * chroma at its edges only from inside, so we request a margin, and an even corner, to
 * which lossy files are silently rounded.
 */
#include <stdbool.h>
#include <string.h>

#include <webp/decode.h>
#include <webp/demux.h>

#include "base/error.h"
#include "base/failure.h"
#include "image/bytes.h"
#include "image/decoder.h"
#include "image/exif.h"

enum { WEBP_MARGIN = 2 }; /* pixels: one chroma sample */

struct webp_box {
    int x0, y0, x1, y1;
};

static bool webp_is(const void *data, size_t len)
{
    const uint8_t *d = data;

    return len >= 12 && !memcmp(d, "RIFF", 4) && !memcmp(d + 8, "WEBP", 4);
}

static const char *webp_reason(VP8StatusCode status)
{
    switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY:
        return "no memory to decode it";
    case VP8_STATUS_UNSUPPORTED_FEATURE:
        return "a feature of WebP that libwebp does not know";
    case VP8_STATUS_SUSPENDED:
    case VP8_STATUS_NOT_ENOUGH_DATA:
        return "the file is cut off";
    default:
        return "damaged: not what a WebP file may hold";
    }
}

static int webp_fail(VP8StatusCode status, struct strbuf *why)
{
    strbuf_addstr(why, webp_reason(status));
    return status == VP8_STATUS_OUT_OF_MEMORY ? FAILURE_MACHINE : FAILURE_DATA;
}

/* True if the file is shorter than the length in its header, which covers "WEBP" and the
 * chunks. */
static bool webp_is_cut(const uint8_t *d, size_t len)
{
    uint32_t rest =
        d[4] | (uint32_t)d[5] << 8 | (uint32_t)d[6] << 16 | (uint32_t)d[7] << 24;

    return rest > len - 8;
}

/* The size of an animation is that of its canvas. */
static int webp_open(const struct decoder_file *file, int *w, int *h, struct strbuf *why)
{
    WebPBitstreamFeatures f;
    VP8StatusCode status;

    if (webp_is_cut(file->data, file->len))
        return webp_fail(VP8_STATUS_NOT_ENOUGH_DATA, why);
    status = WebPGetFeatures(file->data, file->len, &f);
    if (status != VP8_STATUS_OK)
        return webp_fail(status, why);
    *w = f.width;
    *h = f.height;
    return 0;
}

/* Decodes the pixels of the first frame from `src` on, in pixels of the frame. */
static int webp_decode(const WebPData *frame, struct webp_box src, uint8_t *dst,
                       size_t stride, struct strbuf *why)
{
    WebPDecoderConfig c;
    VP8StatusCode status;

    if (!WebPInitDecoderConfig(&c))
        die("libwebp cannot start: another version than at build time");
    c.options.use_cropping = 1;
    c.options.crop_left = src.x0;
    c.options.crop_top = src.y0;
    c.options.crop_width = src.x1 - src.x0;
    c.options.crop_height = src.y1 - src.y0;
    c.output.colorspace = MODE_RGB;
    c.output.is_external_memory = 1;
    c.output.u.RGBA.rgba = dst;
    c.output.u.RGBA.stride = (int)stride;
    c.output.u.RGBA.size = stride * (size_t)(src.y1 - src.y0);
    status = WebPDecode(frame->bytes, frame->size, &c);
    return status == VP8_STATUS_OK ? 0 : webp_fail(status, why);
}

static int webp_low(int pos)
{
    return pos > WEBP_MARGIN ? (pos - WEBP_MARGIN) & ~1 : 0;
}

static int webp_high(int pos, int size)
{
    return pos < size - WEBP_MARGIN ? pos + WEBP_MARGIN : size;
}

/*
 * Decodes the part with its margin; or, if the first frame of an animation does not fill
 * the canvas, the whole image: the frame on black, as in PIL, which blends only later
 * frames.
 */
static int webp_draw(const WebPIterator *f, const struct image_part *p, int w, int h,
                     struct image *img, struct strbuf *why)
{
    struct webp_box all = {0, 0, f->width, f->height};
    struct webp_box crop = {webp_low(p->x), webp_low(p->y), webp_high(p->x + p->w, w),
                            webp_high(p->y + p->h, h)};
    uint8_t *dst;

    if (f->width == w && f->height == h) {
        image_resize_reserve(img, crop.x1 - crop.x0, crop.y1 - crop.y0);
        img->x = crop.x0;
        img->y = crop.y0;
        return webp_decode(&f->fragment, crop, img->pixel, img->stride, why);
    }
    image_resize_reserve(img, w, h);
    memset(img->pixel, 0, img->stride * (size_t)h);
    dst = img->pixel + (size_t)f->y_offset * img->stride + 3 * (size_t)f->x_offset;
    return webp_decode(&f->fragment, all, dst, img->stride, why);
}

/* The demuxer has verified that the frames lie on the canvas and have their stated size. */
static int webp_read(const struct decoder_file *file, const struct image_part *part,
                     struct image *img, struct strbuf *why)
{
    WebPData all = {file->data, file->len};
    WebPDemuxer *demux = WebPDemux(&all);
    WebPIterator f;
    int rc = -1;

    if (!demux)
        return webp_fail(VP8_STATUS_BITSTREAM_ERROR, why);
    if (!WebPDemuxGetFrame(demux, 1, &f))
        webp_fail(VP8_STATUS_BITSTREAM_ERROR, why);
    else
        rc = webp_draw(&f, part, (int)WebPDemuxGetI(demux, WEBP_FF_CANVAS_WIDTH),
                       (int)WebPDemuxGetI(demux, WEBP_FF_CANVAS_HEIGHT), img, why);
    WebPDemuxReleaseIterator(&f);
    WebPDemuxDelete(demux);
    return rc;
}

/* Decides by the first frame: its chunk is "VP8L" or lossy. */
static bool webp_is_lossy(const struct decoder_file *file)
{
    WebPData all = {file->data, file->len};
    WebPDemuxer *demux = WebPDemux(&all);
    WebPBitstreamFeatures f = {0};
    WebPIterator frame;
    bool is = false;

    if (demux && WebPDemuxGetFrame(demux, 1, &frame)) {
        is = WebPGetFeatures(frame.fragment.bytes, frame.fragment.size, &f) ==
                 VP8_STATUS_OK &&
             f.format == 1;
        WebPDemuxReleaseIterator(&frame);
    }
    WebPDemuxDelete(demux);
    return is;
}

/* Lossless files are decoded to 32 bits per pixel, in addition to RGB. */
static size_t webp_memory(const struct decoder_file *f, int w, int h)
{
    (void)f;
    return (size_t)w * (size_t)h * 8;
}

/* Returns the data of a chunk of the file, or NULL if there is none. */
static const uint8_t *webp_chunk(const struct decoder_file *f, const char *name,
                                 size_t *len)
{
    const uint8_t *d = f->data;

    for (size_t pos = 12; pos + 8 <= f->len;) {
        uint32_t n = le32(d + pos + 4);

        if (n > f->len - pos - 8)
            return NULL;
        if (memcmp(d + pos, name, 4) == 0) {
            *len = n;
            return d + pos + 8;
        }
        pos += 8 + (size_t)n + (n & 1);
    }
    return NULL;
}

static int webp_orientation(const struct decoder_file *f)
{
    size_t len, skip;
    const uint8_t *data = webp_chunk(f, "EXIF", &len);
    int found = 0;

    if (data) {
        skip = len >= 6 && !memcmp(data, "Exif\0\0", 6) ? 6 : 0;
        found = exif_orientation(data + skip, len - skip);
    }
    if (found)
        return found;
    data = webp_chunk(f, "XMP ", &len);
    return data ? exif_orientation_xmp(data, len) : 0;
}

const struct decoder decoder_webp = {
    .name = "WebP",
    .extension = {".webp"},
    .hides_memory = true,
    .is = webp_is,
    .is_lossy = webp_is_lossy,
    .open = webp_open,
    .orientation = webp_orientation,
    .memory = webp_memory,
    .read = webp_read,
};
