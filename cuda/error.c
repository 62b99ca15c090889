/* Messages about errors of CUDA and its libraries: where, what, and what may help. */
#include <cuda_runtime_api.h>
#include <stdio.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "cuda/device.h"
#include "graph/graph.h"
#include "graph/kernel.h"

const char cuda_hint_late[] =
    "errors show up late: CUDA_LAUNCH_BLOCKING=1 with --no-graph names the step";
const char cuda_hint_memory[] =
    "a smaller DATA.BATCH_SIZE or TRAIN.USE_CHECKPOINT True needs less";

static const char cuda_hint_graph[] = "--no-graph runs the steps one by one";
#define HINT_DRIVER                                                                      \
    (CUDART_VERSION < 13000 ? "CUDA 12 needs an NVIDIA driver from 550 on: update it"     \
                            : "CUDA 13 needs an NVIDIA driver from 580 on: update it")
static const char cuda_hint_fabric[] =
    "on machines whose GPUs NVSwitch connects, nvidia-fabricmanager has to run, in the "
    "driver's version: systemctl start nvidia-fabricmanager";
static const char cuda_hint_mismatch[] =
    "libcuda.so.1 and the kernel's driver differ in version: restart after an update; in "
    "a container, take the host's libcuda.so.1";
static const char cuda_hint_compat[] =
    "a libcuda.so.1 of CUDA's compatibility package comes first, and this GPU does not "
    "take it: remove its folder from LD_LIBRARY_PATH";

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
    {cudaErrorUnsupportedPtxVersion, HINT_DRIVER},
    {cudaErrorInsufficientDriver, HINT_DRIVER},
    {cudaErrorDevicesUnavailable, "another process has exclusive use of this GPU"},
    {cudaErrorSystemNotReady, cuda_hint_fabric},
    {cudaErrorSystemDriverMismatch, cuda_hint_mismatch},
    {cudaErrorCompatNotSupportedOnDevice, cuda_hint_compat},
    {cudaErrorLaunchOutOfResources,
     "a kernel wants more registers than a block may have: a defect of trainc"},
    {cudaErrorECCUncorrectable, "the GPU's memory has a fault: restart it, then test it"},
    {cudaErrorStreamCaptureUnsupported, cuda_hint_graph},
    {cudaErrorStreamCaptureInvalidated, cuda_hint_graph},
    {cudaErrorStreamCaptureIsolation, cuda_hint_graph},
    {cudaErrorStreamCaptureImplicit, cuda_hint_graph},
};

const char *cuda_hint(int error)
{
    for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++)
        if ((int)hints[i].error == error)
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
                node_title(r->node), r->node->layer, r->kernel->name);
    for (int i = 0; i < r->nin; i++)
        strbuf_addf(s, " %s", tensor_text(r->in_tensor[i], text));
    strbuf_addstr(s, " ->");
    for (int i = 0; i < r->nout; i++)
        strbuf_addf(s, " %s", tensor_text(r->out_tensor[i], text));
}

/* After some errors the driver no longer answers. */
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

bool cuda_spoils(struct device *dev, const char *call, const char *error)
{
    if (dev->recording && !*dev->spoiled)
        (void)snprintf(dev->spoiled, sizeof(dev->spoiled), "%s: %s%s%s", call, error,
                       dev->running ? " at layer " : "",
                       dev->running ? dev->running->node->layer : "");
    return dev->recording;
}

void cuda_check(struct device *dev, int error, const char *call)
{
    cudaError_t e = (cudaError_t)error;

    if (e != cudaSuccess && !cuda_spoils(dev, call, cudaGetErrorString(e)))
        cuda_fail(dev, call, cudaGetErrorString(e), cudaGetErrorName(e),
                  cuda_hint(error));
}

void cuda_launched(struct device *dev, const char *kernel)
{
    cuda_check(dev, (int)cudaGetLastError(), kernel);
}
