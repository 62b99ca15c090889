#include "cuda/timing.h"

#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/half.h"
#include "base/log.h"

enum { RUNS = 10, PATTERN = 1 << 20 };

#define CHECK(dev, call) cuda_check((dev), (int)(call), #call)

char *timing_alloc(struct device *dev, size_t bytes, const char *what)
{
    void *memory = NULL;
    cudaError_t e = cudaMalloc(&memory, bytes + TIMING_ALIGN);

    if (e != cudaErrorMemoryAllocation) {
        cuda_check(dev, (int)e, "cudaMalloc");
        return memory;
    }
    (void)cudaGetLastError();
    log_once("no room to time %s: the heuristic's first are taken", what);
    return NULL;
}

void timing_free(struct device *dev, char *memory)
{
    CHECK(dev, cudaFree(memory));
}

void timing_fill(struct device *dev, char *dst, size_t bytes, enum dtype type)
{
    size_t each = dtype_size(type), n = PATTERN / each;
    char *host = xmalloc(PATTERN);
    uint32_t seed = 1;

    for (size_t i = 0; i < n; i++) {
        float x;

        seed = seed * 1664525 + 1013904223;
        x = (float)(seed >> 8) * 0x1p-23f - 1;
        if (type == DTYPE_F32)
            ((float *)(void *)host)[i] = x;
        else if (type == DTYPE_U8)
            host[i] = (char)(127 * x);
        else if (type == DTYPE_I32)
            ((int32_t *)(void *)host)[i] = (int32_t)(127 * x);
        else
            ((uint16_t *)(void *)host)[i] =
                type == DTYPE_F16 ? fp16_from_float(x) : bf16_from_float(x);
    }
    CHECK(dev, cudaMemcpyAsync(dst, host, bytes < PATTERN ? bytes : PATTERN,
                               cudaMemcpyHostToDevice, dev->stream));
    for (size_t done = PATTERN; done < bytes; done *= 2)
        CHECK(dev,
              cudaMemcpyAsync(dst + done, dst, bytes - done < done ? bytes - done : done,
                              cudaMemcpyDeviceToDevice, dev->stream));
    CHECK(dev, cudaStreamSynchronize(dev->stream));
    free(host);
}

/* RUNS runs and their CUDA graph, or NULL if they are launched one by one. */
struct trial {
    struct device *dev;
    timing_submit *submit;
    void *arg;
    cudaGraphExec_t recorded;
};

static const char *submit(const struct trial *t, int runs)
{
    const char *why = NULL;

    for (int i = 0; i < runs && !why; i++)
        why = t->submit(t->arg);
    return why;
}

/* Returns NULL, or why the work cannot be captured in a graph. */
static const char *record(struct trial *t)
{
    struct device *dev = t->dev;
    cudaGraph_t graph = NULL;
    const char *why;
    cudaError_t e;

    CHECK(dev, cudaStreamBeginCapture(dev->stream, cudaStreamCaptureModeThreadLocal));
    why = submit(t, RUNS);
    e = cudaStreamEndCapture(dev->stream, &graph);
    if (!why && !e)
        CHECK(dev, cudaGraphInstantiate(&t->recorded, graph, 0));
    if (graph)
        CHECK(dev, cudaGraphDestroy(graph));
    (void)cudaGetLastError();
    return e ? cudaGetErrorString(e) : why;
}

static const char *run(const struct trial *t)
{
    if (!t->recorded)
        return submit(t, RUNS);
    CHECK(t->dev, cudaGraphLaunch(t->recorded, t->dev->stream));
    return NULL;
}

/* The first run loads the kernels; the second keeps the GPU busy while the host launches
 * the third, which is timed. */
static const char *time_trial(struct trial *t, cudaEvent_t began, cudaEvent_t ended,
                              float *ms)
{
    struct device *dev = t->dev;
    const char *why = submit(t, 1);

    if (!why && !dev->eager)
        why = record(t);
    if (!why)
        why = run(t);
    CHECK(dev, cudaEventRecord(began, dev->stream));
    if (!why)
        why = run(t);
    CHECK(dev, cudaEventRecord(ended, dev->stream));
    CHECK(dev, cudaEventSynchronize(ended));
    if (!why)
        CHECK(dev, cudaEventElapsedTime(ms, began, ended));
    return why;
}

float timing_run(struct device *dev, timing_submit *work, void *arg, const char **why)
{
    struct trial t = {.dev = dev, .submit = work, .arg = arg};
    cudaEvent_t began, ended;
    float ms = 0;

    CHECK(dev, cudaEventCreate(&began));
    CHECK(dev, cudaEventCreate(&ended));
    *why = time_trial(&t, began, ended, &ms);
    if (t.recorded)
        CHECK(dev, cudaGraphExecDestroy(t.recorded));
    CHECK(dev, cudaEventDestroy(began));
    CHECK(dev, cudaEventDestroy(ended));
    return ms * 1000 / RUNS;
}
