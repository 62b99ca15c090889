/*
 * CUDNN.BENCHMARK: times the candidates on the device, with buffers of the real sizes and
 * within a CUDA graph, as they will run. Launched one by one, a small layer's kernel
 * takes less time than the host's call of cuDNN, and all candidates look equal.
 */
#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/half.h"
#include "base/log.h"
#include "cuda/cudnn_engine.h"

/* Two rounds, because the clocks of an idle GPU may still be rising in the first. */
enum { ROUNDS = 2, RUNS = 10, PATTERN = 1 << 20, ALIGN = 256 };

#define CHECK(dev, call) cuda_check((dev), (int)(call), #call)

struct bench {
    struct cudnn *c;
    const struct cudnn_plan *plan;
    char *memory;
    void *pointer[CUDNN_TENSORS], *workspace;
    cudaEvent_t began, ended;
};

static size_t tensor_bytes(const struct cudnn_graph *g, int i)
{
    return (cudnn_graph_bytes(g, i) + ALIGN - 1) / ALIGN * ALIGN;
}

void *cudnn_tensor_at(const struct cudnn_tensor *t, void *at)
{
    return t->by_value ? (void *)(uintptr_t)&t->value : at;
}

void cudnn_fill(struct device *dev, const struct cudnn_tensor *t, void *at)
{
    int64_t n = t->dim[0] * t->dim[1] * t->dim[2] * t->dim[3];
    size_t bytes = (size_t)n * sizeof(int32_t);
    int32_t *host = xmalloc(bytes);

    for (int64_t i = 0; i < n; i++)
        host[i] = (int32_t)t->value;
    CHECK(dev, cudaMemcpyAsync(at, host, bytes, cudaMemcpyHostToDevice, dev->stream));
    CHECK(dev, cudaStreamSynchronize(dev->stream));
    free(host);
}

/* Fills with numbers in [-1, 1): tensor cores are slower on them than on zeros. */
static void fill_pattern(struct device *dev, char *dst, size_t bytes, enum dtype type)
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

/* Later programs are compiled while earlier ones hold most of the memory. */
static bool bench_alloc(struct bench *b, size_t bytes)
{
    void *memory = NULL;
    cudaError_t e = cudaMalloc(&memory, bytes + ALIGN);

    b->memory = memory;
    if (e != cudaErrorMemoryAllocation) {
        cuda_check(b->c->dev, (int)e, "cudaMalloc");
        return true;
    }
    (void)cudaGetLastError();
    log_once("no room to time cuDNN's engines: the heuristic's first are taken");
    return false;
}

static bool bench_open(struct bench *b, const struct cudnn_graph *g, size_t workspace)
{
    struct device *dev = b->c->dev;
    size_t bytes = workspace, at = 0;
    int n = 0;

    for (int i = 0; i < g->ntensor; i++)
        bytes += g->tensor[i].real ? tensor_bytes(g, i) : 0;
    if (!bench_alloc(b, bytes))
        return false;
    for (int i = 0; i < g->ntensor; i++) {
        const struct cudnn_tensor *t = &g->tensor[i];

        if (!t->real)
            continue;
        b->pointer[n++] = cudnn_tensor_at(t, b->memory + at);
        if (t->filled)
            cudnn_fill(dev, t, b->memory + at);
        else
            fill_pattern(dev, b->memory + at, tensor_bytes(g, i), t->dtype);
        at += tensor_bytes(g, i);
    }
    b->workspace = b->memory + at;
    CHECK(dev, cudaEventCreate(&b->began));
    CHECK(dev, cudaEventCreate(&b->ended));
    return true;
}

static void bench_close(struct bench *b)
{
    struct device *dev = b->c->dev;

    CHECK(dev, cudaEventDestroy(b->began));
    CHECK(dev, cudaEventDestroy(b->ended));
    CHECK(dev, cudaFree(b->memory));
}

/* RUNS runs of a candidate and their CUDA graph; graph NULL: launched one by one. */
struct trial {
    struct bench *b;
    struct cudnn_plan plan;
    struct cudnn_pack pack;
    cudaGraphExec_t recorded;
};

/* Returns cuDNN's status. */
static int submit(struct trial *t, int runs)
{
    int status = 0;

    for (int i = 0; i < runs && !status; i++)
        status =
            cudnn_plan_try(t->b->c, &t->plan, &t->pack, t->b->pointer, t->b->workspace);
    return status;
}

/* Returns NULL, or why the candidate cannot be captured in a graph. */
static const char *record(struct trial *t)
{
    struct device *dev = t->b->c->dev;
    cudaGraph_t graph = NULL;
    cudaError_t e;
    int status;

    CHECK(dev, cudaStreamBeginCapture(dev->stream, cudaStreamCaptureModeThreadLocal));
    status = submit(t, RUNS);
    e = cudaStreamEndCapture(dev->stream, &graph);
    if (!status && !e)
        CHECK(dev, cudaGraphInstantiate(&t->recorded, graph, 0));
    if (graph)
        CHECK(dev, cudaGraphDestroy(graph));
    (void)cudaGetLastError();
    return e        ? cudaGetErrorString(e)
           : status ? t->b->c->GetErrorString((cudnnStatus_t)status)
                    : NULL;
}

/* Returns cuDNN's status. */
static int run(struct trial *t)
{
    struct device *dev = t->b->c->dev;

    if (!t->recorded)
        return submit(t, RUNS);
    CHECK(dev, cudaGraphLaunch(t->recorded, dev->stream));
    return 0;
}

/* The first run loads the kernels; the second keeps the GPU busy while the host launches
 * the third. Returns NULL, or why timing is not possible. */
static const char *time_trial(struct trial *t, float *ms)
{
    struct bench *b = t->b;
    struct device *dev = b->c->dev;
    int status = submit(t, 1);
    const char *why = status || dev->eager ? NULL : record(t);

    if (!status && !why)
        status = run(t);
    CHECK(dev, cudaEventRecord(b->began, dev->stream));
    if (!status && !why)
        status = run(t);
    CHECK(dev, cudaEventRecord(b->ended, dev->stream));
    CHECK(dev, cudaEventSynchronize(b->ended));
    if (status)
        return b->c->GetErrorString((cudnnStatus_t)status);
    if (!why)
        CHECK(dev, cudaEventElapsedTime(ms, b->began, b->ended));
    return why;
}

/* Returns microseconds per run, or 0 if cuDNN does not run the plan after all. */
static float bench_run(struct bench *b, const struct cudnn_candidate *k)
{
    struct trial t = {.b = b, .plan = *b->plan};
    const char *why;
    float ms = 0;

    t.plan.desc = k->plan;
    why = time_trial(&t, &ms);
    if (why)
        log_info("cuDNN engine %d is passed over: %s", k->engine, why);
    if (t.recorded)
        CHECK(b->c->dev, cudaGraphExecDestroy(t.recorded));
    cudnn_pack_release(&t.pack);
    return ms * 1000 / RUNS;
}

int cudnn_fastest(struct cudnn *c, const struct cudnn_graph *g,
                  const struct cudnn_plan *plan, const struct cudnn_candidate *list,
                  int n, float *microseconds)
{
    struct bench b = {.c = c, .plan = plan};
    size_t workspace = 0;
    int best = 0;

    for (int i = 0; i < n; i++)
        if (list[i].workspace > workspace)
            workspace = list[i].workspace;
    *microseconds = 0;
    if (!bench_open(&b, g, workspace))
        return 0;
    for (int at = 0; at < ROUNDS * n; at++) {
        int i = at % n;
        float us = bench_run(&b, &list[i]);

        log_debug("cuDNN engine %d: %.1f us, %zu bytes", list[i].engine, (double)us,
                  list[i].workspace);
        if (!(us > 0) || (*microseconds > 0 && us >= *microseconds))
            continue;
        *microseconds = us;
        best = i;
    }
    bench_close(&b);
    return best;
}
