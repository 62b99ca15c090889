/*
 * The only user of libjpeg-turbo, through its libjpeg interface (image.h gives the
 * reason).
 *
 * Quirks: errors leave by longjmp, so everything that the guarded part uses is in the
 * struct; a cropped decode differs from the whole one in the outermost chroma sample, so
 * we request a margin; with damaged data it may differ anywhere, so those are decoded
 * whole; if the data end early, libjpeg invents an end and warns; tables survive an image
 * unless the object is recreated, and would be used for a later image without tables.
 */
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>

#include "base/alloc.h"
#include "base/failure.h"
#include "image/decoder.h"
#include "image/exif.h"

enum {
    JPEG_MAX_SCANS = 256, /* real progressive files have about 10 */
    JPEG_MARGIN = 4,      /* pixels: two chroma samples at half resolution */
    JPEG_ROWS = 8         /* per call of jpeg_read_scanlines */
};

struct jpeg {
    struct jpeg_decompress_struct c;
    struct jpeg_error_mgr error;
    struct jpeg_progress_mgr progress;
    jmp_buf jump;
    char reason[JMSG_LENGTH_MAX];

    const uint8_t *data;
    size_t len;
    bool in_header;                /* jpeg_header() is running */
    bool truncated;                /* data that end early are only a warning */
    bool started;                  /* `img` has pixels */
    char warning[JMSG_LENGTH_MAX]; /* the first since jpeg_open(); "": none */
    const struct image_part *part;
    struct image *img;
    uint8_t *row; /* of CMYK, or a skipped row */
    size_t row_cap;
};

static struct jpeg *jpeg_of(j_common_ptr c)
{
    return c->client_data;
}

static void jpeg_on_error(j_common_ptr c)
{
    struct jpeg *j = jpeg_of(c);

    c->err->format_message(c, j->reason);
    longjmp(j->jump, 1);
}

/* Warnings have level -1, traces 0 and up. Warnings that do not affect pixels are
 * ignored, such as bytes before the first block or after the last. The others are stored,
 * because libjpeg decodes as far as it can; a missing end is an error. */
static void jpeg_on_message(j_common_ptr c, int level)
{
    struct jpeg *j = jpeg_of(c);
    int code = c->err->msg_code;

    if (level >= 0 || code == JWRN_JFIF_MAJOR || code == JWRN_ADOBE_XFORM ||
        code == JWRN_NOT_SEQUENTIAL)
        return;
    if (code == JWRN_EXTRANEOUS_DATA &&
        (j->in_header || c->err->msg_parm.i[1] == JPEG_EOI))
        return;
    if (code == JWRN_JPEG_EOF && !j->truncated)
        jpeg_on_error(c);
    if (!*j->warning)
        c->err->format_message(c, j->warning);
}

static void jpeg_on_progress(j_common_ptr c)
{
    struct jpeg *j = jpeg_of(c);

    if (j->c.input_scan_number <= JPEG_MAX_SCANS)
        return;
    snprintf(j->reason, sizeof(j->reason), "more than %d scans", JPEG_MAX_SCANS);
    longjmp(j->jump, 1);
}

/* Runs fn; returns 0, or a failure of base/failure.h and a reason if libjpeg left it by
 * longjmp. */
static int jpeg_guard(struct jpeg *j, void (*fn)(struct jpeg *), struct strbuf *why)
{
    j->error.msg_code = 0;
    if (setjmp(j->jump)) {
        jpeg_abort_decompress(&j->c);
        strbuf_addstr(why, j->reason);
        return j->error.msg_code == JERR_OUT_OF_MEMORY ? FAILURE_MACHINE : FAILURE_DATA;
    }
    fn(j);
    return 0;
}

static void *jpeg_new(void)
{
    struct jpeg *j = xcalloc(1, sizeof(*j));

    j->c.err = jpeg_std_error(&j->error);
    j->error.error_exit = jpeg_on_error;
    j->error.emit_message = jpeg_on_message;
    j->progress.progress_monitor = jpeg_on_progress;
    jpeg_create_decompress(&j->c);
    j->c.client_data = j;
    return j;
}

static void jpeg_free(void *state)
{
    struct jpeg *j = state;

    jpeg_destroy_decompress(&j->c);
    free(j->row);
    free(j);
}

static bool jpeg_is(const void *data, size_t len)
{
    return len >= 3 && !memcmp(data, "\xff\xd8\xff", 3);
}

static void jpeg_header(struct jpeg *j)
{
    jpeg_destroy_decompress(&j->c); /* drops the tables of the previous image */
    jpeg_create_decompress(&j->c);
    j->c.progress = &j->progress;
    j->in_header = true;
    jpeg_mem_src(&j->c, j->data, (unsigned long)j->len);
    jpeg_read_header(&j->c, TRUE);
    j->in_header = false;
}

static int jpeg_open(const struct decoder_file *f, int *w, int *h, struct strbuf *why)
{
    struct jpeg *j = f->state;
    int rc;

    j->data = f->data;
    j->len = f->len;
    j->truncated = f->truncated;
    j->started = false;
    *j->warning = '\0';
    rc = jpeg_guard(j, jpeg_header, why);
    if (rc < 0)
        return rc;
    *w = (int)j->c.image_width;
    *h = (int)j->c.image_height;
    return 0;
}

static bool jpeg_is_cmyk(const struct jpeg *j)
{
    return j->c.jpeg_color_space == JCS_CMYK || j->c.jpeg_color_space == JCS_YCCK;
}

/* Adobe writes 255 - C and 255 - K: R = K' - (255 - C') K' / 255, as in Pillow. */
static void jpeg_from_cmyk(uint8_t *rgb, const uint8_t *cmyk, int w)
{
    for (int x = 0; x < w; x++, rgb += 3, cmyk += 4)
        for (int c = 0; c < 3; c++)
            rgb[c] = decoder_ink(255u - cmyk[c], cmyk[3]);
}

static uint8_t *jpeg_row(struct jpeg *j, size_t size)
{
    if (size > j->row_cap) {
        free(j->row);
        j->row = xmalloc(size);
        j->row_cap = size;
    }
    return j->row;
}

/* Decodes rows [output_scanline, end) into the image. */
static void jpeg_rows(struct jpeg *j, int end)
{
    struct image *img = j->img;

    while ((int)j->c.output_scanline < end) {
        uint8_t *dst =
            img->pixel + (size_t)((int)j->c.output_scanline - img->y) * img->stride;
        JSAMPROW row[JPEG_ROWS];
        int n = end - (int)j->c.output_scanline;

        if (jpeg_is_cmyk(j)) {
            row[0] = jpeg_row(j, (size_t)img->w * 4);
            jpeg_read_scanlines(&j->c, row, 1);
            jpeg_from_cmyk(dst, row[0], img->w);
            continue;
        }
        n = n < JPEG_ROWS ? n : JPEG_ROWS;
        for (int i = 0; i < n; i++)
            row[i] = dst + (size_t)i * img->stride;
        jpeg_read_scanlines(&j->c, row, (JDIMENSION)n);
    }
}

/* Decodes the remaining rows to detect errors. */
static void jpeg_drain(struct jpeg *j)
{
    JSAMPROW row[1] = {jpeg_row(j, (size_t)j->c.output_width * 4)};

    while (j->c.output_scanline < j->c.output_height)
        jpeg_read_scanlines(&j->c, row, 1);
}

static bool jpeg_has_end(const struct jpeg *j)
{
    return j->len >= 2 && j->data[j->len - 2] == 0xff && j->data[j->len - 1] == JPEG_EOI;
}

/* Narrows the decoder to columns [x0, x1), at 1/shrink; it decodes more: w from x on. */
static void jpeg_columns(struct jpeg *j, int x0, int x1, JDIMENSION *x, JDIMENSION *w)
{
    int full = (int)j->c.output_width;

    *x = (JDIMENSION)(x0 > JPEG_MARGIN ? x0 - JPEG_MARGIN : 0);
    x1 = x1 < full - JPEG_MARGIN ? x1 + JPEG_MARGIN : full;
    *w = (JDIMENSION)x1 - *x;
    if (j->c.max_h_samp_factor > 2) {
        *x = 0;
        *w = j->c.output_width;
    } else if (*x > 0 || (int)*w < full) {
        jpeg_crop_scanline(&j->c, x, w);
    }
}

static void jpeg_pixels(struct jpeg *j)
{
    const struct image_part *p = j->part;
    int s = p->shrink, y0 = p->y / s, y1 = (p->y + p->h + s - 1) / s;
    bool whole = !jpeg_has_end(j); /* decode to the end to detect a cut-off file */
    JDIMENSION x, w;

    j->c.out_color_space = jpeg_is_cmyk(j) ? JCS_CMYK : JCS_RGB;
    j->c.scale_num = 1;
    j->c.scale_denom = (unsigned)s;
    j->c.dct_method = JDCT_ISLOW;
    jpeg_start_decompress(&j->c);
    jpeg_columns(j, p->x / s, (p->x + p->w + s - 1) / s, &x, &w);
    image_resize_reserve(j->img, (int)w, y1 - y0);
    if (j->truncated)
        memset(j->img->pixel, 0, j->img->stride * (size_t)j->img->h);
    j->started = true;
    j->img->x = (int)x;
    j->img->y = y0;
    if (y0 > 0)
        jpeg_skip_scanlines(&j->c, (JDIMENSION)y0);
    jpeg_rows(j, y1);
    if (whole)
        jpeg_drain(j);
    jpeg_abort_decompress(&j->c);
}

/* Bytes: the pixels and, for a progressive file, all coefficients, 16 bits each. */
static size_t jpeg_memory(const struct decoder_file *f, int w, int h)
{
    const struct jpeg *j = f->state;

    return (size_t)w * (size_t)h * (j->c.progressive_mode ? 9 : 3);
}

/* Call after jpeg_open(). */
static int jpeg_part(struct jpeg *j, const struct image_part *part, struct strbuf *why)
{
    /* libjpeg's own memory: at most the coefficients of a progressive file, 16 bits each. */
    int64_t pixels = (int64_t)j->c.image_width * j->c.image_height;

    j->c.mem->max_memory_to_use = (long)(16 * pixels + (16 << 20));
    j->part = part;
    j->started = false;
    return jpeg_guard(j, jpeg_pixels, why);
}

/* Reads the header and then a part again. */
static int jpeg_restart(struct jpeg *j, const struct image_part *part, struct strbuf *why)
{
    int rc;

    strbuf_reset(why);
    rc = jpeg_guard(j, jpeg_header, why);
    return rc < 0 ? rc : jpeg_part(j, part, why);
}

/* Drops the last scan, whose header may be cut off; returns false if there is none. */
static bool jpeg_drop_scan(struct jpeg *j)
{
    size_t pos = j->len;

    while (pos >= 2 && (j->data[pos - 2] != 0xff || j->data[pos - 1] != 0xda))
        pos--;
    j->len = pos >= 2 ? pos - 2 : 0;
    return j->len > 0;
}

/* The pixels of a damaged image are those of the whole, whichever part is requested. */
static int jpeg_read(const struct decoder_file *f, const struct image_part *part,
                     struct image *img, struct strbuf *why)
{
    struct jpeg *j = f->state;
    struct image_part all = {0, 0, (int)j->c.image_width, (int)j->c.image_height,
                             part->shrink};
    bool some = part->w < all.w || part->h < all.h;
    int rc;

    j->img = img;
    rc = jpeg_part(j, part, why);
    if (some && (*j->warning || rc == FAILURE_DATA))
        rc = jpeg_restart(j, &all, why);
    if (rc == FAILURE_DATA && j->truncated && !j->started && jpeg_drop_scan(j))
        rc = jpeg_restart(j, &all, why);
    if (rc == FAILURE_DATA && j->truncated && j->started) {
        decoder_warn(f, why->buf);
        strbuf_reset(why);
        return 0;
    }
    if (rc == 0 && *j->warning)
        decoder_warn(f, j->warning);
    return rc;
}

/* Returns the data of the first APP1 segment before the scan that begins with `name`, or
 * NULL if there is none. */
static const uint8_t *jpeg_app1(const struct decoder_file *f, const char *name,
                                size_t name_len, size_t *len)
{
    const uint8_t *d = f->data;
    size_t pos = 2;

    while (pos + 4 < f->len && d[pos] == 0xff && d[pos + 1] != 0xda) {
        size_t n = (size_t)d[pos + 2] << 8 | d[pos + 3];

        if (d[pos + 1] == 0xff) { /* fill byte */
            pos++;
            continue;
        }
        if (n < 2 || n > f->len - pos - 2)
            return NULL;
        if (d[pos + 1] == 0xe1 && n >= 2 + name_len &&
            memcmp(d + pos + 4, name, name_len) == 0) {
            *len = n - 2 - name_len;
            return d + pos + 4 + name_len;
        }
        pos += 2 + n;
    }
    return NULL;
}

static int jpeg_orientation(const struct decoder_file *f)
{
    static const char exif[] = "Exif\0", xmp[] = "http://ns.adobe.com/xap/1.0/";
    size_t len;
    const uint8_t *data = jpeg_app1(f, exif, sizeof(exif), &len);
    int found = data ? exif_orientation(data, len) : 0;

    if (found)
        return found;
    data = jpeg_app1(f, xmp, sizeof(xmp), &len);
    return data ? exif_orientation_xmp(data, len) : 0;
}

const struct decoder decoder_jpeg = {
    .name = "JPEG",
    .extension = {".jpg", ".jpeg", ".jpe", ".jfif", ".mpo"},
    .lossy = true,
    .device = true,
    .shrinks = true,
    .is = jpeg_is,
    .state_new = jpeg_new,
    .state_free = jpeg_free,
    .open = jpeg_open,
    .orientation = jpeg_orientation,
    .memory = jpeg_memory,
    .read = jpeg_read,
};
