/* CUDNN.BENCHMARK: the candidates timed on the device, on buffers of the real sizes. */
#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/half.h"
#include "base/log.h"
#include "cuda/cudnn_engine.h"

enum { WARM = 3, RUNS = 10, PATTERN = 1 << 20, ALIGN = 256 };

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
    for (size_t at = 0; at < bytes; at += PATTERN)
        CHECK(dev,
              cudaMemcpyAsync(dst + at, host, bytes - at < PATTERN ? bytes - at : PATTERN,
                              cudaMemcpyHostToDevice, dev->stream));
    CHECK(dev, cudaStreamSynchronize(dev->stream));
    free(host);
}

static void bench_open(struct bench *b, const struct cudnn_graph *g, size_t workspace)
{
    struct device *dev = b->c->dev;
    size_t bytes = workspace, at = 0;
    void *memory;
    int n = 0;

    for (int i = 0; i < g->ntensor; i++)
        bytes += g->tensor[i].real ? tensor_bytes(&g->tensor[i]) : 0;
    CHECK(dev, cudaMalloc(&memory, bytes + ALIGN));
    b->memory = memory;
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
}

static void bench_close(struct bench *b)
{
    struct device *dev = b->c->dev;

    CHECK(dev, cudaEventDestroy(b->began));
    CHECK(dev, cudaEventDestroy(b->ended));
    CHECK(dev, cudaFree(b->memory));
}

/* Microseconds of one run. */
static float bench_run(struct bench *b, const struct cudnn_candidate *k)
{
    struct device *dev = b->c->dev;
    struct cudnn_plan plan = *b->plan;
    struct cudnn_pack pack = {0};
    float ms = 0;

    plan.desc = k->plan;
    for (int i = 0; i < WARM + RUNS; i++) {
        if (i == WARM)
            CHECK(dev, cudaEventRecord(b->began, dev->stream));
        cudnn_plan_run(b->c, &plan, &pack, b->pointer, b->workspace);
    }
    CHECK(dev, cudaEventRecord(b->ended, dev->stream));
    CHECK(dev, cudaEventSynchronize(b->ended));
    CHECK(dev, cudaEventElapsedTime(&ms, b->began, b->ended));
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
    bench_open(&b, g, workspace);
    for (int i = 0; i < n; i++) {
        float us = bench_run(&b, &list[i]);

        log_debug("cuDNN engine %d: %.1f us, %zu bytes", list[i].engine, (double)us,
                  list[i].workspace);
        if (i && us >= *microseconds)
            continue;
        *microseconds = us;
        best = i;
    }
    bench_close(&b);
    return best;
}
