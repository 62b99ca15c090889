#include "cuda/backend.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cuda/cublaslt.h"
#include "cuda/cudnn.h"
#include "cuda/gpus.h"
#include "cuda/kernels.h"
#include "cuda/link.h"
#include "cuda/lower.h"
#include "cuda/nvjpeg.h"
#include "cuda/nccl.h"
#include "cuda/parts.h"

/*
 * The largest workspace of a fast engine among the networks in configs/ is 196 MiB (a
 * bf16 stem of three channels); most need less than 40 MiB. All engines share one block.
 */
static const size_t default_workspace = (size_t)256 << 20;

static void take_options(struct device *dev, const struct device_options *o)
{
    dev->world = o->world;
    dev->eager = o->eager;
    dev->options = (struct cuda_options){
        .tf32 = o->tf32,
        .deterministic = o->deterministic,
        .benchmark = o->benchmark && !o->deterministic,
        .apart = o->apart,
        .workspace = o->workspace ? o->workspace : default_workspace,
        .cache = o->cache ? o->cache : "",
    };
    dev->times = dev->options.benchmark;
}

static bool cuda_hurry(struct device *dev, bool enabled)
{
    if (!dev->times || dev->described)
        return false;
    dev->options.benchmark = !enabled;
    return true;
}

static void open_gpu(struct device *dev, int index)
{
    struct strbuf why = STRBUF_INIT;
    size_t total = 0;
    struct gpu g;

    if (!cuda_available(index, &why) || !gpu_read(&g, index, false, &why))
        die("cannot use cuda:%d: %s", index, why.buf);
    dev->what = g.what; /* takes ownership of its text */
    (void)snprintf(dev->text, sizeof(dev->text), "cuda:%d %s", index, dev->what.name);
    CUDA_CHECK(dev, cudaSetDevice(index));
    CUDA_CHECK(dev, cudaStreamCreateWithFlags(&dev->stream, cudaStreamNonBlocking));
    CUDA_CHECK(dev, cudaStreamCreateWithFlags(&dev->copy_stream, cudaStreamNonBlocking));
    CUDA_CHECK(dev, cudaMemGetInfo(&dev->free_at_open, &total));
    strbuf_release(&why);
}

static struct device *cuda_open(const struct device_options *o)
{
    struct device *dev = xcalloc(1, sizeof(*dev));

    dev->index = o->index;
    dev->described = o->description;
    take_options(dev, o);
    if (!dev->described) {
        open_gpu(dev, o->index);
        return dev;
    }
    description_read(&dev->what, o->description);
    (void)snprintf(dev->text, sizeof(dev->text), "%s, described", dev->what.name);
    return dev;
}

static void cuda_close(struct device *dev)
{
    if (!dev)
        return;
    cudnn_close(dev);
    cublaslt_close(dev);
    cuda_jpeg_close(dev);
    nccl_close(dev);
    cuda_free_all(dev);
    if (dev->copy_stream)
        CUDA_CHECK(dev, cudaStreamDestroy(dev->copy_stream));
    if (dev->stream)
        CUDA_CHECK(dev, cudaStreamDestroy(dev->stream));
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

const struct backend backend_cuda = {
    .name = "cuda",
    .help = "an NVIDIA GPU: cuDNN, cuBLASLt and our own kernels, fp32, TF32, fp16, bf16",
    .available = cuda_available,
    .report = cuda_report,
    .described = description_name,
    .open = cuda_open,
    .close = cuda_close,
    .has_dtype = cuda_has_dtype,
    .preferred_half = DTYPE_F16,
    .describe = cuda_describe,
    .jpeg = cuda_jpeg,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .copy_in = cuda_copy_in,
    .copy_out = cuda_copy_out,
    .sync = cuda_sync,
    .peak_memory = cuda_peak_memory,
    .memory = cuda_memory,
    .limits = cuda_limits,
    .hurry = cuda_hurry,
    .folds_norms = true,
    .lower = cuda_lower,
    .kernels = cuda_kernels,
    .capture_begin = cuda_capture_begin,
    .capture_end = cuda_capture_end,
    .replay = cuda_replay,
    .capture_free = cuda_capture_free,
    .mark = cuda_mark,
    .range = cuda_range,
    .async = &cuda_async,
    .link = &cuda_link,
    .waits = cuda_waits,
};
