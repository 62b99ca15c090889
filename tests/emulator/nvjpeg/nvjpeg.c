/*
 * The emulated nvJPEG: libjpeg's pixels by its fast transform and with replicated chroma,
 * so they differ slightly from the host's, like NVIDIA's. The emulated device's memory is
 * host memory, but protected from the host: the work is queued on the stream, as in the
 * library.
 */
#include <cuda_runtime_api.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include "tests/emulator/host_node.h"

enum { SUCCESS, NOT_INITIALIZED, INVALID_PARAMETER, BAD_JPEG, NOT_SUPPORTED };
enum { RGBI = 5, COMPONENTS = 4 };

typedef struct {
    unsigned char *channel[COMPONENTS];
    size_t pitch[COMPONENTS];
} image;

struct failure {
    struct jpeg_error_mgr base;
    jmp_buf jump;
};

static void on_error(j_common_ptr c)
{
    longjmp(((struct failure *)c->err)->jump, 1);
}

static void on_message(j_common_ptr c, int level)
{
    (void)c, (void)level;
}

static void begin(struct jpeg_decompress_struct *c, struct failure *f)
{
    c->err = jpeg_std_error(&f->base);
    f->base.error_exit = on_error;
    f->base.emit_message = on_message;
    jpeg_create_decompress(c);
}

int nvjpegGetProperty(int type, int *value);
int nvjpegGetProperty(int type, int *value)
{
    *value = type == 0 ? 13 : 0;
    return SUCCESS;
}

int nvjpegCreateSimple(void **handle);
int nvjpegCreateSimple(void **handle)
{
    *handle = malloc(1);
    return getenv("EMULATED_NVJPEG_FAILS") ? NOT_INITIALIZED : SUCCESS;
}

int nvjpegDestroy(void *handle);
int nvjpegDestroy(void *handle)
{
    free(handle);
    return SUCCESS;
}

int nvjpegJpegStateCreate(void *handle, void **state);
int nvjpegJpegStateCreate(void *handle, void **state)
{
    *state = malloc(1);
    return handle ? SUCCESS : INVALID_PARAMETER;
}

int nvjpegJpegStateDestroy(void *state);
int nvjpegJpegStateDestroy(void *state)
{
    free(state);
    return SUCCESS;
}

int nvjpegGetImageInfo(void *handle, const unsigned char *data, size_t len,
                       int *components, int *subsampling, int *w, int *h);
int nvjpegGetImageInfo(void *handle, const unsigned char *data, size_t len,
                       int *components, int *subsampling, int *w, int *h)
{
    struct jpeg_decompress_struct c;
    struct failure f;

    if (!handle)
        return INVALID_PARAMETER;
    begin(&c, &f);
    if (setjmp(f.jump)) {
        jpeg_destroy_decompress(&c);
        return BAD_JPEG;
    }
    jpeg_mem_src(&c, data, (unsigned long)len);
    (void)jpeg_read_header(&c, TRUE);
    *components = c.num_components;
    *subsampling = 0;
    for (int i = 0; i < COMPONENTS; i++) {
        w[i] = (int)c.image_width;
        h[i] = (int)c.image_height;
    }
    jpeg_destroy_decompress(&c);
    return SUCCESS;
}

/* Work in the stream: copies the pixels to the device. */
struct work {
    unsigned char *src, *dst;
    size_t size;
};

static void run(void *arg)
{
    struct work *w = arg;

    memcpy(w->dst, w->src, w->size);
    free(w->src);
}

static int read_pixels(const unsigned char *data, size_t len, struct work *work,
                       size_t pitch)
{
    struct jpeg_decompress_struct c;
    struct failure f;

    begin(&c, &f);
    if (setjmp(f.jump)) {
        jpeg_destroy_decompress(&c);
        free(work->src);
        return BAD_JPEG;
    }
    jpeg_mem_src(&c, data, (unsigned long)len);
    (void)jpeg_read_header(&c, TRUE);
    if (c.num_components != 1 && c.num_components != 3)
        longjmp(f.jump, 1);
    c.out_color_space = JCS_RGB;
    c.do_fancy_upsampling = FALSE;
    c.dct_method = JDCT_IFAST;
    work->size = pitch * c.image_height;
    work->src = calloc(1, work->size);
    (void)jpeg_start_decompress(&c);
    while (c.output_scanline < c.output_height) {
        JSAMPROW row = work->src + c.output_scanline * pitch;

        (void)jpeg_read_scanlines(&c, &row, 1);
    }
    jpeg_destroy_decompress(&c);
    return SUCCESS;
}

int nvjpegDecode(void *handle, void *state, const unsigned char *data, size_t len,
                 int format, image *dst, struct CUstream_st *stream);
int nvjpegDecode(void *handle, void *state, const unsigned char *data, size_t len,
                 int format, image *dst, struct CUstream_st *stream)
{
    struct work work = {NULL, dst->channel[0], 0};
    int status;

    if (!handle || !state || format != RGBI || !dst->channel[0])
        return INVALID_PARAMETER;
    status = read_pixels(data, len, &work, dst->pitch[0]);
    if (status == SUCCESS)
        (void)emulator_enqueue(stream, "nvjpegDecode", run, &work, sizeof(work));
    return status;
}
