/*
 * Captures a program as one CUDA graph, and its names for a profiler. Only this thread's
 * stream is captured (thread-local mode), so loader threads are not restricted.
 */
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>

#include "base/log.h"
#include "cuda/nccl.h"
#include "cuda/parts.h"
#include "graph/kernel.h"

/* A graph only saves time: without one, steps run one by one, and the log says so once. */
static void go_on_eagerly(struct device *dev, const char *why)
{
    bool was = alloc_forbid(false);

    (void)cudaGetLastError();
    dev->eager = true;
    log_info("%s: no CUDA graph (%s): steps are launched kernel by kernel", dev->text,
             why);
    (void)alloc_forbid(was);
}

bool cuda_capture_begin(struct device *dev)
{
    cudaError_t e;
    bool was;

    if (dev->eager)
        return false;
    was = alloc_forbid(false); /* the runtime allocates here */
    e = cudaStreamBeginCapture(dev->stream, cudaStreamCaptureModeThreadLocal);
    (void)alloc_forbid(was);
    if (e != cudaSuccess) {
        go_on_eagerly(dev, cudaGetErrorString(e));
        return false;
    }
    dev->recording = true;
    dev->spoiled[0] = '\0';
    return true;
}

void *cuda_capture_end(struct device *dev)
{
    bool was = alloc_forbid(false); /* the runtime allocates here */
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;

    CUDA_CHECK(dev, cudaStreamEndCapture(dev->stream, &graph));
    if (!*dev->spoiled)
        CUDA_CHECK(dev, cudaGraphInstantiate(&exec, graph, 0));
    if (!*dev->spoiled)
        CUDA_CHECK(dev, cudaGraphUpload(exec, dev->stream));
    if (graph)
        CUDA_CHECK(dev, cudaGraphDestroy(graph));
    if (*dev->spoiled && exec)
        (void)cudaGraphExecDestroy(exec);
    dev->recording = false;
    nccl_captured(dev);
    (void)alloc_forbid(was);
    if (!*dev->spoiled)
        return exec;
    go_on_eagerly(dev, dev->spoiled);
    return NULL;
}

void cuda_replay(struct device *dev, void *captured)
{
    CUDA_CHECK(dev, cudaGraphLaunch(captured, dev->stream));
}

/* If a graph is still running, the driver frees it when it is done. */
void cuda_capture_free(struct device *dev, void *captured)
{
    CUDA_CHECK(dev, cudaGraphExecDestroy(captured));
}

static void push_range(const struct step *s)
{
    bool was = alloc_forbid(false); /* the profiler allocates here */
    char name[160];

    (void)snprintf(name, sizeof(name), "%s %s", s->kernel->name, s->node->layer);
    (void)nvtxRangePushA(name);
    (void)alloc_forbid(was);
}

void cuda_mark(struct device *dev, const struct step *s, int number)
{
    if (dev->running)
        (void)nvtxRangePop();
    dev->running = s;
    dev->number = number;
    if (s)
        push_range(s);
}

void cuda_range(struct device *dev, const char *name)
{
    (void)dev;
    if (name)
        (void)nvtxRangePushA(name);
    else
        (void)nvtxRangePop();
}
