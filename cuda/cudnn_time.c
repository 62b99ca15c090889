/* CUDNN.BENCHMARK: times cuDNN's candidates on the device (cuda/timing.h). */
#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/log.h"
#include "cuda/cudnn_engine.h"
#include "cuda/timing.h"

#define CHECK(dev, call) cuda_check((dev), (int)(call), #call)

struct bench {
    struct cudnn *c;
    const struct cudnn_plan *plan;
    char *memory;
    void *pointer[CUDNN_TENSORS], *workspace;
};

static size_t tensor_bytes(const struct cudnn_graph *g, int i)
{
    return (cudnn_graph_bytes(g, i) + TIMING_ALIGN - 1) / TIMING_ALIGN * TIMING_ALIGN;
}

void *cudnn_tensor_at(const struct cudnn_tensor *t, void *ptr)
{
    return t->by_value ? (void *)(uintptr_t)&t->value : ptr;
}

void cudnn_fill(struct device *dev, const struct cudnn_tensor *t, void *ptr)
{
    int64_t n = t->dim[0] * t->dim[1] * t->dim[2] * t->dim[3];
    size_t bytes = (size_t)n * sizeof(int32_t);
    int32_t *host = xmalloc(bytes);

    for (int64_t i = 0; i < n; i++)
        host[i] = (int32_t)t->value;
    CHECK(dev, cudaMemcpyAsync(ptr, host, bytes, cudaMemcpyHostToDevice, dev->stream));
    CHECK(dev, cudaStreamSynchronize(dev->stream));
    free(host);
}

static bool bench_open(struct bench *b, const struct cudnn_graph *g, size_t workspace)
{
    struct device *dev = b->c->dev;
    size_t bytes = workspace;
    char *place;
    int n = 0;

    for (int i = 0; i < g->ntensor; i++)
        bytes += g->tensor[i].real ? tensor_bytes(g, i) : 0;
    b->memory = place = timing_alloc(dev, bytes, "cuDNN's engines");
    if (!place)
        return false;
    for (int i = 0; i < g->ntensor; i++) {
        const struct cudnn_tensor *t = &g->tensor[i];

        if (!t->real)
            continue;
        b->pointer[n++] = cudnn_tensor_at(t, place);
        if (t->filled)
            cudnn_fill(dev, t, place);
        else
            timing_fill(dev, place, tensor_bytes(g, i), t->dtype);
        place += tensor_bytes(g, i);
    }
    b->workspace = place;
    return true;
}

/* A candidate and what its runs share. */
struct trial {
    const struct bench *b;
    struct cudnn_plan plan;
    struct cudnn_pack pack;
};

static const char *submit(void *arg)
{
    struct trial *t = arg;
    struct cudnn *c = t->b->c;
    int status = cudnn_plan_try(c, &t->plan, &t->pack, t->b->pointer, t->b->workspace);

    return status ? c->GetErrorString((cudnnStatus_t)status) : NULL;
}

/* Returns microseconds per run, or 0 if cuDNN does not run the plan after all. */
static float bench_run(const struct bench *b, const struct cudnn_candidate *k)
{
    struct trial t = {.b = b, .plan = *b->plan};
    const char *why;
    float us;

    t.plan.desc = k->plan;
    us = timing_run(b->c->dev, submit, &t, &why);
    if (why)
        log_info("cuDNN engine %d is passed over: %s", k->engine, why);
    cudnn_pack_release(&t.pack);
    return us;
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
    for (int turn = 0; turn < TIMING_ROUNDS * n; turn++) {
        int i = turn % n;
        float us = bench_run(&b, &list[i]);

        log_debug("cuDNN engine %d: %.1f us, %zu bytes", list[i].engine, (double)us,
                  list[i].workspace);
        if (!(us > 0) || (*microseconds > 0 && us >= *microseconds))
            continue;
        *microseconds = us;
        best = i;
    }
    timing_free(c->dev, b.memory);
    return best;
}
