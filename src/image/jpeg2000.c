/*
 * The only user of OpenJPEG: JPEG 2000, with boxes (.jp2) or without (.j2k). The library
 * is opened for the first such file; without it the program ends, because no image of a
 * JPEG 2000 data set could be read.
 *
 * Components are converted to 8 bits as in Pillow: rounded, or shifted up; gray is
 * repeated, alpha is dropped, YCC becomes RGB. Subsampled components are repeated.
 */
#include <openjpeg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/dynlib.h"
#include "base/error.h"
#include "base/failure.h"
#include "image/decoder.h"
#include "image/jpeg2000_parts.h"

/* RGB and alpha, as in Pillow. A header may claim 16384, which would exhaust the memory. */
enum { COMPONENTS = 4 };

static struct jp2_library {
    __typeof__(&opj_create_decompress) create;
    __typeof__(&opj_destroy_codec) destroy;
    __typeof__(&opj_set_default_decoder_parameters) defaults;
    __typeof__(&opj_setup_decoder) setup;
    __typeof__(&opj_set_error_handler) set_error;
    __typeof__(&opj_stream_create) stream_create;
    __typeof__(&opj_stream_destroy) stream_destroy;
    __typeof__(&opj_stream_set_read_function) set_read;
    __typeof__(&opj_stream_set_skip_function) set_skip;
    __typeof__(&opj_stream_set_seek_function) set_seek;
    __typeof__(&opj_stream_set_user_data) set_data;
    __typeof__(&opj_stream_set_user_data_length) set_length;
    __typeof__(&opj_read_header) read_header;
    __typeof__(&opj_set_decode_area) set_area;
    __typeof__(&opj_decode) decode;
    __typeof__(&opj_end_decompress) end;
    __typeof__(&opj_image_destroy) image_destroy;
} lib;

#define SYMBOL(name, member)                                                             \
    {                                                                                    \
        "opj_" name, offsetof(struct jp2_library, member)                                \
    }

static void jp2_library(void)
{
    static const struct dynlib_symbol symbols[] = {
        SYMBOL("create_decompress", create),
        SYMBOL("destroy_codec", destroy),
        SYMBOL("set_default_decoder_parameters", defaults),
        SYMBOL("setup_decoder", setup),
        SYMBOL("set_error_handler", set_error),
        SYMBOL("stream_create", stream_create),
        SYMBOL("stream_destroy", stream_destroy),
        SYMBOL("stream_set_read_function", set_read),
        SYMBOL("stream_set_skip_function", set_skip),
        SYMBOL("stream_set_seek_function", set_seek),
        SYMBOL("stream_set_user_data", set_data),
        SYMBOL("stream_set_user_data_length", set_length),
        SYMBOL("read_header", read_header),
        SYMBOL("set_decode_area", set_area),
        SYMBOL("decode", decode),
        SYMBOL("end_decompress", end),
        SYMBOL("image_destroy", image_destroy),
        {0}};
    static const char *const names[] = {"libopenjp2.so.7", NULL};
    static struct dynlib row = {
        .names = names, .package = "libopenjp2-7", .symbols = symbols};

    dynlib_need(&row, &lib, "JPEG 2000");
}

static const uint8_t jp2_boxes[] = {0, 0, 0, 12, 'j', 'P', ' ', ' ', 13, 10, 0x87, 10};
static const uint8_t jp2_stream[] = {0xff, 0x4f, 0xff, 0x51};

static bool starts_with(const struct decoder_file *f, const uint8_t *magic, size_t n)
{
    return f->len >= n && memcmp(f->data, magic, n) == 0;
}

static bool jp2_is(const void *data, size_t len)
{
    struct decoder_file f = {.data = data, .len = len};

    return starts_with(&f, jp2_boxes, sizeof(jp2_boxes)) ||
           starts_with(&f, jp2_stream, sizeof(jp2_stream));
}

/* The file being read. */
struct jp2 {
    const uint8_t *data;
    size_t len, pos;
    struct strbuf *why; /* receives the first error */
    opj_codec_t *codec;
    opj_stream_t *stream;
    opj_image_t *image;
};

static OPJ_SIZE_T jp2_on_read(void *dst, OPJ_SIZE_T n, void *arg)
{
    struct jp2 *j = arg;
    size_t rest = j->len - j->pos;

    if (rest == 0)
        return (OPJ_SIZE_T)-1;
    n = n < rest ? n : rest;
    memcpy(dst, j->data + j->pos, n);
    j->pos += n;
    return n;
}

static OPJ_OFF_T jp2_on_skip(OPJ_OFF_T n, void *arg)
{
    struct jp2 *j = arg;

    if (n < 0 || (size_t)n > j->len - j->pos)
        return -1;
    j->pos += (size_t)n;
    return n;
}

static OPJ_BOOL jp2_on_seek(OPJ_OFF_T pos, void *arg)
{
    struct jp2 *j = arg;

    if (pos < 0 || (size_t)pos > j->len)
        return OPJ_FALSE;
    j->pos = (size_t)pos;
    return OPJ_TRUE;
}

static void jp2_on_error(const char *message, void *arg)
{
    struct jp2 *j = arg;

    if (j->why->len == 0)
        strbuf_addf(j->why, "damaged: %.*s", (int)strcspn(message, "\r\n"), message);
}

static void jp2_close(struct jp2 *j)
{
    if (j->image)
        lib.image_destroy(j->image);
    if (j->codec)
        lib.destroy(j->codec);
    if (j->stream)
        lib.stream_destroy(j->stream);
}

/* Reads the image's header; returns a failure of base/failure.h with a reason on errors.
 * Call jp2_close() in any case. */
static int jp2_begin(struct jp2 *j, const struct decoder_file *f, struct strbuf *why)
{
    bool boxes = starts_with(f, jp2_boxes, sizeof(jp2_boxes));
    opj_dparameters_t parameters;

    jp2_library();
    *j = (struct jp2){.data = f->data, .len = f->len, .why = why};
    j->codec = lib.create(boxes ? OPJ_CODEC_JP2 : OPJ_CODEC_J2K);
    j->stream = lib.stream_create(1 << 16, OPJ_TRUE);
    if (!j->codec || !j->stream)
        die("out of memory: no decoder of JPEG 2000");
    lib.set_read(j->stream, jp2_on_read);
    lib.set_skip(j->stream, jp2_on_skip);
    lib.set_seek(j->stream, jp2_on_seek);
    lib.set_data(j->stream, j, NULL);
    lib.set_length(j->stream, f->len);
    lib.defaults(&parameters);
    (void)lib.set_error(j->codec, jp2_on_error, j);
    if (lib.setup(j->codec, &parameters) &&
        lib.read_header(j->stream, j->codec, &j->image))
        return 0;
    if (why->len == 0)
        strbuf_addstr(why, "damaged: its header cannot be read");
    return FAILURE_DATA;
}

static int jp2_open(const struct decoder_file *f, int *w, int *h, struct strbuf *why)
{
    struct jp2 j;
    int rc = jp2_begin(&j, f, why);

    if (rc == 0 && j.image->numcomps > COMPONENTS) {
        strbuf_addf(why, "it has %u components, more than %d", j.image->numcomps,
                    COMPONENTS);
        rc = FAILURE_DATA;
    }
    if (rc == 0) {
        uint32_t width = j.image->x1 - j.image->x0, height = j.image->y1 - j.image->y0;

        *w = width > INT32_MAX ? INT32_MAX : (int)width;
        *h = height > INT32_MAX ? INT32_MAX : (int)height;
    }
    jp2_close(&j);
    return rc;
}

/* Returns component c at pixel (x, y) of the canvas, in 8 bits. */
static int jp2_sample(const opj_image_comp_t *c, uint32_t x, uint32_t y)
{
    uint32_t cx = x / c->dx, cy = y / c->dy;
    int shift = 8 - (int)c->prec, v = c->sgnd ? 1 << (c->prec - 1) : 0;

    cx = cx < c->x0 ? 0 : cx - c->x0;
    cy = cy < c->y0 ? 0 : cy - c->y0;
    cx = cx < c->w ? cx : c->w - 1;
    cy = cy < c->h ? cy : c->h - 1;
    v += c->data[(size_t)cy * c->w + cx];
    v = shift < 0 ? (v + (1 << (-shift - 1))) >> -shift : v << shift;
    return v < 0 ? 0 : v > 255 ? 255 : v;
}

static uint8_t clamp(double v)
{
    return v < 0 ? 0 : v > 255 ? 255 : (uint8_t)(v + 0.5);
}

static void jp2_from_ycc(uint8_t *rgb)
{
    double y = rgb[0], cb = rgb[1] - 128.0, cr = rgb[2] - 128.0;

    rgb[0] = clamp(y + 1.402 * cr);
    rgb[1] = clamp(y - 0.344136 * cb - 0.714136 * cr);
    rgb[2] = clamp(y + 1.772 * cb);
}

static bool jp2_is_subsampled(const opj_image_t *m)
{
    bool is = false;

    for (uint32_t c = 0; c < m->numcomps; c++)
        is |= m->comps[c].dx != 1 || m->comps[c].dy != 1;
    return is;
}

/* Returns why the decoded image cannot be converted to RGB, or NULL if it can. */
static const char *jp2_refuse(const opj_image_t *m)
{
    if (m->numcomps == 0 || m->color_space == OPJ_CLRSPC_CMYK)
        return m->numcomps ? "CMYK is not read" : "no components";
    for (uint32_t c = 0; c < m->numcomps && c < 3; c++) {
        const opj_image_comp_t *ptr = &m->comps[c];

        if (!ptr->data || ptr->w == 0 || ptr->h == 0 || ptr->dx == 0 || ptr->dy == 0)
            return "damaged: a component has no samples";
        if (ptr->prec < 1 || ptr->prec > 16)
            return "its components have more than 16 bits";
    }
    return NULL;
}

static void jp2_draw(const opj_image_t *m, struct image *img)
{
    bool gray = m->numcomps < 3, ycc;

    ycc = m->color_space == OPJ_CLRSPC_SYCC ||
          (m->color_space == OPJ_CLRSPC_UNSPECIFIED && jp2_is_subsampled(m));
    for (int y = 0; y < img->h; y++) {
        uint8_t *dst = img->pixel + (size_t)y * img->stride;

        for (int x = 0; x < img->w; x++, dst += 3) {
            for (int c = 0; c < 3; c++)
                dst[c] = (uint8_t)jp2_sample(&m->comps[gray ? 0 : c], m->x0 + (uint32_t)x,
                                             m->y0 + (uint32_t)y);
            if (ycc && !gray)
                jp2_from_ycc(dst);
        }
    }
}

/* Decodes the part or, if *whole or if components are subsampled, the whole image, and
 * sets *whole accordingly. */
static int jp2_decode(struct jp2 *j, const struct image_part *p, bool *whole,
                      struct image *img, struct strbuf *why)
{
    opj_image_t *m = j->image;
    int width = (int)(m->x1 - m->x0), height = (int)(m->y1 - m->y0);
    int x = p->x, y = p->y, w = p->w, h = p->h;
    const char *refused;

    *whole |= jp2_is_subsampled(m) || (w == width && h == height);
    if (*whole) {
        x = y = 0;
        w = width;
        h = height;
    }
    if (!lib.set_area(j->codec, m, (int)m->x0 + x, (int)m->y0 + y, (int)m->x0 + x + w,
                      (int)m->y0 + y + h) ||
        !lib.decode(j->codec, j->stream, m) || !lib.end(j->codec, j->stream)) {
        if (why->len == 0)
            strbuf_addstr(why, "damaged, or cut off");
        return FAILURE_DATA;
    }
    refused = jp2_refuse(m);
    if (refused) {
        strbuf_addstr(why, refused);
        return FAILURE_DATA;
    }
    image_resize_reserve(img, w, h);
    img->x = x;
    img->y = y;
    jp2_draw(m, img);
    return 0;
}

static int jp2_try(const struct decoder_file *f, const struct image_part *part,
                   bool *whole, struct image *img, struct strbuf *why)
{
    struct jp2 j;
    int rc = jp2_begin(&j, f, why);

    if (rc == 0)
        rc = jp2_decode(&j, part, whole, img, why);
    jp2_close(&j);
    return rc;
}

/* OpenJPEG reads some damaged files as a whole, but no parts of them. So that damage does
 * not depend on the crop, the whole image is tried if a part fails. */
static int jp2_read(const struct decoder_file *f, const struct image_part *part,
                    struct image *img, struct strbuf *why)
{
    bool whole = false;
    int rc;

    if (jpeg2000_parts_check(f->data, f->len, why) < 0)
        return FAILURE_DATA;
    rc = jp2_try(f, part, &whole, img, why);
    if (rc == 0 || whole)
        return rc;
    strbuf_reset(why);
    whole = true;
    return jp2_try(f, part, &whole, img, why);
}

static bool jp2_is_lossy(const struct decoder_file *f)
{
    return jpeg2000_parts_lossy(f->data, f->len);
}

static bool jp2_is_deep(const struct decoder_file *f)
{
    struct strbuf unused = STRBUF_INIT;
    bool is = false;
    struct jp2 j;

    if (jp2_begin(&j, f, &unused) == 0)
        for (uint32_t c = 0; c < j.image->numcomps; c++)
            is |= j.image->comps[c].prec > 8 || j.image->comps[c].sgnd;
    jp2_close(&j);
    strbuf_release(&unused);
    return is;
}

/* Bytes: 32 bits per sample of COMPONENTS, in the image and in its tiles. */
static size_t jp2_memory(const struct decoder_file *f, int w, int h)
{
    (void)f;
    return (size_t)w * (size_t)h * 32;
}

const struct decoder decoder_jpeg2000 = {
    .name = "JPEG 2000",
    .extension = {".jp2", ".j2k", ".j2c", ".jpc", ".jpf", ".jpx"},
    .hides_memory = true,
    .is = jp2_is,
    .is_lossy = jp2_is_lossy,
    .is_deep = jp2_is_deep,
    .open = jp2_open,
    .memory = jp2_memory,
    .read = jp2_read,
};
