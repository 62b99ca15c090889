/* CUDNN.BENCHMARK: the candidates timed on the device, on buffers of the real sizes. */
#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/half.h"
#include "base/log.h"
#include "cuda/cudnn_engine.h"

/* Two rounds: in the first, the clocks of an idle GPU may still be rising. */
enum { ROUNDS = 2, WARM = 3, RUNS = 10, PATTERN = 1 << 20, ALIGN = 256 };

#define CHECK(dev, call) cuda_check((dev), (int)(call), #call)

struct bench {
    struct cudnn *c;
    const struct cudnn_plan *plan;
    char *memory;
    void *pointer[CUDNN_TENSORS], *workspace;
    cudaEvent_t began, ended;
};

static size_t tensor_bytes(const struct cudnn_tensor *t)
{
    size_t n = dtype_size(t->dtype);

    for (int i = 0; i < 4; i++)
        n *= (size_t)t->dim[i];
    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

/* Numbers in [-1, 1): tensor cores are slower on them than on zeros. */
static void fill(struct device *dev, char *dst, size_t bytes, enum dtype type)
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

/* Later programs are compiled beside those that hold most of the memory. */
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
        bytes += g->tensor[i].real ? tensor_bytes(&g->tensor[i]) : 0;
    if (!bench_alloc(b, bytes))
        return false;
    for (int i = 0; i < g->ntensor; i++) {
        const struct cudnn_tensor *t = &g->tensor[i];

        if (!t->real)
            continue;
        b->pointer[n++] = b->memory + at;
        fill(dev, b->memory + at, tensor_bytes(t), t->dtype);
        at += tensor_bytes(t);
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

/* Microseconds of one run; 0: cuDNN does not run it after all. */
static float bench_run(struct bench *b, const struct cudnn_candidate *k)
{
    struct device *dev = b->c->dev;
    struct cudnn_plan plan = *b->plan;
    struct cudnn_pack pack = {0};
    float ms = 0;
    int status = 0;

    plan.desc = k->plan;
    for (int i = 0; i < WARM + RUNS && !status; i++) {
        if (i == WARM)
            CHECK(dev, cudaEventRecord(b->began, dev->stream));
        status = cudnn_plan_try(b->c, &plan, &pack, b->pointer, b->workspace);
    }
    CHECK(dev, cudaEventRecord(b->ended, dev->stream));
    CHECK(dev, cudaEventSynchronize(b->ended));
    if (!status)
        CHECK(dev, cudaEventElapsedTime(&ms, b->began, b->ended));
    else
        log_info("cuDNN engine %d is passed over: %s", k->engine,
                 b->c->GetErrorString((cudnnStatus_t)status));
    cudnn_pack_release(&pack);
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
