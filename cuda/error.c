/* Messages about errors of CUDA and its libraries: where, what, and what may help. */
#include <cuda_runtime_api.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "cuda/device.h"
#include "graph/graph.h"
#include "graph/kernel.h"

const char cuda_hint_late[] =
    "errors show up late: CUDA_LAUNCH_BLOCKING=1 with --no-graph names the step";
const char cuda_hint_memory[] =
    "a smaller DATA.BATCH_SIZE or TRAIN.USE_CHECKPOINT True needs less";

static const struct {
    cudaError_t error;
    const char *hint;
} hints[] = {
    {cudaErrorMemoryAllocation, cuda_hint_memory},
    {cudaErrorIllegalAddress, cuda_hint_late},
    {cudaErrorLaunchFailure, cuda_hint_late},
    {cudaErrorMisalignedAddress, cuda_hint_late},
    {cudaErrorLaunchTimeout, "a GPU that also drives a screen stops long kernels"},
    {cudaErrorNoKernelImageForDevice,
     "there is no code for this chip: build with NVARCH for it (cuda/cuda.mk)"},
    {cudaErrorUnsupportedPtxVersion, "the driver is older than the toolkit: update it"},
    {cudaErrorInsufficientDriver, "update the NVIDIA driver"},
    {cudaErrorDevicesUnavailable, "another process holds this GPU alone"},
    {cudaErrorECCUncorrectable, "the GPU's memory has a fault: restart it, then test it"},
    {cudaErrorStreamCaptureUnsupported, "--no-graph runs the steps one by one"},
    {cudaErrorStreamCaptureInvalidated, "--no-graph runs the steps one by one"},
};

static const char *hint_of(cudaError_t error)
{
    for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++)
        if (hints[i].error == error)
            return hints[i].hint;
    return NULL;
}

static void add_step(struct strbuf *s, const struct device *dev)
{
    const struct step *r = dev->running;
    char text[TENSOR_TEXT];

    if (!r)
        return;
    strbuf_addf(s, "; in step %d, %s of layer '%s' by %s:", dev->number,
                r->node->op->name, r->node->layer, r->kernel->name);
    for (int i = 0; i < r->nin; i++)
        strbuf_addf(s, " %s", tensor_text(r->in_tensor[i], text));
    strbuf_addstr(s, " ->");
    for (int i = 0; i < r->nout; i++)
        strbuf_addf(s, " %s", tensor_text(r->out_tensor[i], text));
}

/* After some errors the driver answers nothing any more. */
static void add_memory(struct strbuf *s, const struct device *dev)
{
    size_t free_ = 0, total = 0;

    if (dev->described || cudaMemGetInfo(&free_, &total) != cudaSuccess)
        return;
    strbuf_addstr(s, "; ");
    strbuf_add_bytes(s, (double)free_);
    strbuf_addstr(s, " of ");
    strbuf_add_bytes(s, (double)total);
    strbuf_addstr(s, " are free");
}

void cuda_fail(struct device *dev, const char *call, const char *error,
               const char *detail, const char *hint)
{
    struct strbuf s = STRBUF_INIT;

    strbuf_addf(&s, "%s: %s: %s", dev->text, call, error);
    if (detail && *detail)
        strbuf_addf(&s, ": %s", detail);
    add_step(&s, dev);
    add_memory(&s, dev);
    if (hint)
        strbuf_addf(&s, " (%s)", hint);
    die("%s", s.buf);
}

void cuda_check(struct device *dev, int error, const char *call)
{
    cudaError_t e = (cudaError_t)error;

    if (e != cudaSuccess)
        cuda_fail(dev, call, cudaGetErrorString(e), cudaGetErrorName(e), hint_of(e));
}

void cuda_launched(struct device *dev, const char *kernel)
{
    cuda_check(dev, (int)cudaGetLastError(), kernel);
}
