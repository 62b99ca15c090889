/*
 * A program as one CUDA graph, and its names in a profiler. Only this thread's stream is
 * captured (thread-local mode): loader threads may do as they like meanwhile.
 */
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>

#include "cuda/parts.h"
#include "graph/kernel.h"

bool cuda_capture_begin(struct device *dev)
{
    if (dev->eager)
        return false;
    CUDA_CHECK(dev,
               cudaStreamBeginCapture(dev->stream, cudaStreamCaptureModeThreadLocal));
    return true;
}

void *cuda_capture_end(struct device *dev)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;

    CUDA_CHECK(dev, cudaStreamEndCapture(dev->stream, &graph));
    CUDA_CHECK(dev, cudaGraphInstantiate(&exec, graph, 0));
    CUDA_CHECK(dev, cudaGraphDestroy(graph));
    CUDA_CHECK(dev, cudaGraphUpload(exec, dev->stream));
    return exec;
}

void cuda_replay(struct device *dev, void *captured)
{
    CUDA_CHECK(dev, cudaGraphLaunch(captured, dev->stream));
}

/* One that is still running is freed by the driver when it is done. */
void cuda_capture_free(struct device *dev, void *captured)
{
    CUDA_CHECK(dev, cudaGraphExecDestroy(captured));
}

static void push_range(const struct step *s)
{
    bool was = alloc_forbid(false); /* the profiler's own business */
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
