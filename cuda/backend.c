#include "cuda/backend.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cuda/cudnn.h"
#include "cuda/device.h"
#include "cuda/kernels.h"
#include "cuda/lower.h"

struct cuda_block {
    struct cuda_block *next;
    void *p;
    size_t size;
};

#define CHECK(dev, call) cuda_check((dev), (int)(call), #call)

void cuda_check(struct device *dev, int error, const char *call)
{
    if (error == cudaSuccess)
        return;
    die("%s: %s: %s", dev->text, call, cudaGetErrorString((cudaError_t)error));
}

void cuda_launched(struct device *dev, const char *kernel)
{
    cuda_check(dev, (int)cudaGetLastError(), kernel);
}

static struct device *cuda_open(const struct device_options *o)
{
    struct device *dev = xcalloc(1, sizeof(*dev));

    dev->index = o->index;
    dev->described = o->description;
    if (dev->described) {
        description_read(&dev->what, o->description);
    } else {
        CHECK(dev, cudaSetDevice(dev->index));
        CHECK(dev, cudaStreamCreateWithFlags(&dev->stream, cudaStreamNonBlocking));
    }
    (void)snprintf(dev->text, sizeof(dev->text), "%s", dev->what.name);
    return dev;
}

static void cuda_free(struct device *dev, void *p)
{
    struct cuda_block **at = &dev->block, *b;

    if (!p)
        return;
    while (*at && (*at)->p != p)
        at = &(*at)->next;
    if (!*at)
        BUG("%p is not memory of this device", p);
    b = *at;
    *at = b->next;
    dev->bytes -= b->size;
    CHECK(dev, cudaFree(b->p));
    free(b);
}

static void cuda_close(struct device *dev)
{
    if (!dev)
        return;
    while (dev->block)
        cuda_free(dev, dev->block->p);
    cudnn_close(dev);
    if (dev->stream)
        CHECK(dev, cudaStreamDestroy(dev->stream));
    description_release(&dev->what);
    free(dev);
}

static bool cuda_has_dtype(struct device *dev, enum dtype d)
{
    return d != DTYPE_BF16 || dev->what.compute >= 800;
}

static const char *cuda_describe(struct device *dev)
{
    return dev->text;
}

static void *cuda_alloc(struct device *dev, size_t size)
{
    struct cuda_block *b = xcalloc(1, sizeof(*b));

    CHECK(dev, cudaMalloc(&b->p, size));
    CHECK(dev, cudaMemsetAsync(b->p, 0, size, dev->stream));
    b->size = size;
    b->next = dev->block;
    dev->block = b;
    dev->bytes += size;
    if (dev->bytes > dev->peak)
        dev->peak = dev->bytes;
    return b->p;
}

static void cuda_sync(struct device *dev)
{
    CHECK(dev, cudaStreamSynchronize(dev->stream));
}

static void cuda_copy_in(struct device *dev, void *dst, const void *host, size_t size)
{
    CHECK(dev, cudaMemcpyAsync(dst, host, size, cudaMemcpyHostToDevice, dev->stream));
    cuda_sync(dev);
}

static void cuda_copy_out(struct device *dev, void *host, const void *src, size_t size)
{
    CHECK(dev, cudaMemcpyAsync(host, src, size, cudaMemcpyDeviceToHost, dev->stream));
    cuda_sync(dev);
}

static size_t cuda_peak_memory(struct device *dev)
{
    return dev->peak;
}

const struct backend backend_cuda = {
    .name = "cuda",
    .help = "an NVIDIA GPU: cuDNN, cuBLASLt and our own kernels, fp32, TF32, fp16, bf16",
    .open = cuda_open,
    .close = cuda_close,
    .has_dtype = cuda_has_dtype,
    .preferred_half = DTYPE_F16,
    .describe = cuda_describe,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .copy_in = cuda_copy_in,
    .copy_out = cuda_copy_out,
    .sync = cuda_sync,
    .peak_memory = cuda_peak_memory,
    .lower = cuda_lower,
    .kernels = cuda_kernels,
};
