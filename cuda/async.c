/*
 * Copies and waits. Every call that makes the host wait for the device is in this file
 * and is counted, so tests can check that a step never waits.
 */
#include <cuda_runtime_api.h>
#include <string.h>

#include "base/error.h"
#include "cuda/nccl.h"
#include "cuda/parts.h"

static cudaStream_t stream_of(const struct device *dev, enum lane lane)
{
    return lane == LANE_COPY ? dev->copy_stream : dev->stream;
}

void cuda_sync(struct device *dev)
{
    dev->waits.sync++;
    nccl_host_waits(dev, true);
    CUDA_CHECK(dev, cudaStreamSynchronize(dev->copy_stream));
    CUDA_CHECK(dev, cudaStreamSynchronize(dev->stream));
    nccl_host_waits(dev, false);
}

/* Ordered by LANE_RUN: work launched earlier still sees the old bytes. */
void cuda_copy_in(struct device *dev, void *dst, const void *host, size_t size)
{
    CUDA_CHECK(dev,
               cudaMemcpyAsync(dst, host, size, cudaMemcpyHostToDevice, dev->stream));
    cuda_sync(dev);
}

void cuda_copy_out(struct device *dev, void *host, const void *src, size_t size)
{
    CUDA_CHECK(dev,
               cudaMemcpyAsync(host, src, size, cudaMemcpyDeviceToHost, dev->stream));
    cuda_sync(dev);
}

struct device_waits cuda_waits(struct device *dev)
{
    return dev->waits;
}

static void *async_host_alloc(struct device *dev, size_t size)
{
    void *p = NULL;

    CUDA_CHECK(dev, cudaHostAlloc(&p, size, cudaHostAllocDefault));
    return memset(p, 0, size);
}

static void async_host_free(struct device *dev, void *p)
{
    if (p)
        CUDA_CHECK(dev, cudaFreeHost(p));
}

/* A waiting host thread sleeps, because the loader needs its core. */
static void *async_event_new(struct device *dev)
{
    cudaEvent_t e = NULL;

    CUDA_CHECK(dev, cudaEventCreateWithFlags(&e, cudaEventBlockingSync));
    return e;
}

static double async_seconds(struct device *dev, void *src, void *dst)
{
    float ms = 0;

    CUDA_CHECK(dev, cudaEventElapsedTime(&ms, src, dst));
    return 1e-3 * (double)ms;
}

static void async_event_free(struct device *dev, void *event)
{
    if (event)
        CUDA_CHECK(dev, cudaEventDestroy(event));
}

static void async_record(struct device *dev, enum lane lane, void *event)
{
    CUDA_CHECK(dev, cudaEventRecord(event, stream_of(dev, lane)));
}

static void async_wait(struct device *dev, enum lane lane, void *event)
{
    CUDA_CHECK(dev, cudaStreamWaitEvent(stream_of(dev, lane), event, 0));
}

static bool async_done(struct device *dev, void *event)
{
    cudaError_t e = cudaEventQuery(event);

    if (e != cudaErrorNotReady)
        cuda_check(dev, (int)e, "cudaEventQuery");
    else
        (void)cudaGetLastError();
    return e == cudaSuccess;
}

static void async_await(struct device *dev, void *event)
{
    dev->waits.await++;
    nccl_host_waits(dev, true);
    CUDA_CHECK(dev, cudaEventSynchronize(event));
    nccl_host_waits(dev, false);
}

static void async_copy_in(struct device *dev, enum lane lane, void *dst, const void *host,
                          size_t size)
{
    CUDA_CHECK(dev, cudaMemcpyAsync(dst, host, size, cudaMemcpyHostToDevice,
                                    stream_of(dev, lane)));
}

static void async_copy_out(struct device *dev, enum lane lane, void *host,
                           const void *src, size_t size)
{
    CUDA_CHECK(dev, cudaMemcpyAsync(host, src, size, cudaMemcpyDeviceToHost,
                                    stream_of(dev, lane)));
}

static void async_copy(struct device *dev, enum lane lane, void *dst, const void *src,
                       size_t size)
{
    CUDA_CHECK(dev, cudaMemcpyAsync(dst, src, size, cudaMemcpyDeviceToDevice,
                                    stream_of(dev, lane)));
}

const struct backend_async cuda_async = {
    .host_alloc = async_host_alloc,
    .host_free = async_host_free,
    .event_new = async_event_new,
    .event_free = async_event_free,
    .seconds = async_seconds,
    .record = async_record,
    .wait = async_wait,
    .done = async_done,
    .await = async_await,
    .copy_in = async_copy_in,
    .copy_out = async_copy_out,
    .copy = async_copy,
};
