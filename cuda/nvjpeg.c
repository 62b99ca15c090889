#include "cuda/nvjpeg.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "cuda/library.h"

typedef struct nvjpegHandle *nvjpegHandle_t;
typedef struct nvjpegJpegState *nvjpegJpegState_t;

enum { NVJPEG_STATUS_SUCCESS = 0, NVJPEG_OUTPUT_RGBI = 5, NVJPEG_MAX_COMPONENT = 4 };

typedef struct {
    unsigned char *channel[NVJPEG_MAX_COMPONENT];
    size_t pitch[NVJPEG_MAX_COMPONENT];
} nvjpegImage_t;

struct nvjpeg {
    int device; /* index of the CUDA runtime */
    nvjpegHandle_t handle;
    int (*create)(nvjpegHandle_t *handle);
    int (*destroy)(nvjpegHandle_t handle);
    int (*state_create)(nvjpegHandle_t handle, nvjpegJpegState_t *state);
    int (*state_destroy)(nvjpegJpegState_t state);
    int (*info)(nvjpegHandle_t handle, const unsigned char *data, size_t len,
                int *components, int *subsampling, int *widths, int *heights);
    int (*decode)(nvjpegHandle_t handle, nvjpegJpegState_t state,
                  const unsigned char *data, size_t len, int format, nvjpegImage_t *dst,
                  cudaStream_t stream);
};

/* The state of one thread. */
struct jpeg_state {
    const struct nvjpeg *lib;
    nvjpegJpegState_t state;
    cudaStream_t stream;
    unsigned char *pixel; /* on the device */
    size_t room;
};

static void find_symbol(const struct cuda_library *l, const char *name, void *dst)
{
    void *ptr = cuda_library_symbol(l, name);

    memcpy(dst, &ptr, sizeof(ptr));
}

static struct nvjpeg *start(const struct cuda_library *l, int device, struct strbuf *why)
{
    struct nvjpeg *n = xcalloc(1, sizeof(*n));
    int status;

    n->device = device;
    find_symbol(l, "nvjpegCreateSimple", &n->create);
    find_symbol(l, "nvjpegDestroy", &n->destroy);
    find_symbol(l, "nvjpegJpegStateCreate", &n->state_create);
    find_symbol(l, "nvjpegJpegStateDestroy", &n->state_destroy);
    find_symbol(l, "nvjpegGetImageInfo", &n->info);
    find_symbol(l, "nvjpegDecode", &n->decode);
    status = n->create(&n->handle);
    if (status == NVJPEG_STATUS_SUCCESS)
        return n;
    strbuf_addf(why, "nvjpegCreateSimple failed with status %d (%s)", status, l->text);
    free(n);
    return NULL;
}

static void jpeg_close(void *state)
{
    struct jpeg_state *s = state;

    if (!s)
        return;
    if (s->pixel)
        (void)cudaFree(s->pixel);
    if (s->stream)
        (void)cudaStreamDestroy(s->stream);
    if (s->state)
        (void)s->lib->state_destroy(s->state);
    free(s);
}

static void *jpeg_open(void *device)
{
    const struct nvjpeg *n = device;
    struct jpeg_state *s = xcalloc(1, sizeof(*s));

    s->lib = n;
    if (cudaSetDevice(n->device) == cudaSuccess &&
        cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking) == cudaSuccess &&
        n->state_create(n->handle, &s->state) == NVJPEG_STATUS_SUCCESS)
        return s;
    (void)cudaGetLastError();
    jpeg_close(s);
    return NULL;
}

/* Returns false if the GPU is out of memory; the host then decodes the image. */
static bool make_room(struct jpeg_state *s, size_t need)
{
    if (need <= s->room)
        return true;
    (void)cudaFree(s->pixel);
    s->pixel = NULL;
    s->room = 0;
    if (cudaMalloc((void **)&s->pixel, need) != cudaSuccess) {
        (void)cudaGetLastError();
        return false;
    }
    s->room = need;
    return true;
}

/* True if nvJPEG reads the same size from the header as libjpeg. */
static bool is_known(const struct jpeg_state *s, const void *data, size_t len, int w,
                     int h)
{
    int width[NVJPEG_MAX_COMPONENT], height[NVJPEG_MAX_COMPONENT], n = 0, subsampling;

    return s->lib->info(s->lib->handle, data, len, &n, &subsampling, width, height) ==
               NVJPEG_STATUS_SUCCESS &&
           (n == 1 || n == 3) && width[0] == w && height[0] == h;
}

static bool jpeg_read(void *state, const void *data, size_t len, int w, int h,
                      uint8_t *rgb)
{
    struct jpeg_state *s = state;
    size_t row = 3 * (size_t)w, size = row * (size_t)h;
    nvjpegImage_t dst = {{NULL}, {0}};

    if (!is_known(s, data, len, w, h) || !make_room(s, size))
        return false;
    dst.channel[0] = s->pixel;
    dst.pitch[0] = row;
    if (s->lib->decode(s->lib->handle, s->state, data, len, NVJPEG_OUTPUT_RGBI, &dst,
                       s->stream) != NVJPEG_STATUS_SUCCESS) {
        (void)cudaStreamSynchronize(s->stream);
        (void)cudaGetLastError();
        return false;
    }
    if (cudaMemcpyAsync(rgb, s->pixel, size, cudaMemcpyDeviceToHost, s->stream) ==
            cudaSuccess &&
        cudaStreamSynchronize(s->stream) == cudaSuccess)
        return true;
    (void)cudaGetLastError();
    return false;
}

bool cuda_jpeg(struct device *dev, struct jpeg_device *dst, struct strbuf *why)
{
    const struct cuda_library *l;

    if (!dev->nvjpeg) {
        l = cuda_library_open(CUDA_LIBRARY_NVJPEG, why);
        dev->nvjpeg = l ? start(l, dev->index, why) : NULL;
        if (dev->nvjpeg)
            log_info("%s decodes JPEGs", l->text);
    }
    *dst = (struct jpeg_device){dev->nvjpeg, jpeg_open, jpeg_close, jpeg_read};
    return dev->nvjpeg != NULL;
}

void cuda_jpeg_close(struct device *dev)
{
    if (!dev->nvjpeg)
        return;
    (void)dev->nvjpeg->destroy(dev->nvjpeg->handle);
    free(dev->nvjpeg);
    dev->nvjpeg = NULL;
}
