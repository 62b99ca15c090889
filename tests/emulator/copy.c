/*
 * Copies and fills. As on a GPU, a copy from pageable memory has read it when the call
 * returns, a copy to pageable memory is complete then, and only copies of pinned memory
 * run asynchronously in the stream.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "tests/emulator/host_node.h"
#include "tests/emulator/work.h"

struct copy {
    void *dst;
    const void *src;
    void *staged; /* owned; NULL: read `src` when the copy runs */
    size_t size;
    enum cudaMemcpyKind kind;
};

static void run_copy(void *arg)
{
    const struct copy *c = arg;
    const void *src = c->staged ? c->staged : c->src;

    if (c->kind == cudaMemcpyHostToDevice || c->kind == cudaMemcpyDeviceToDevice)
        emulator_expect_memory(c->dst, c->size, "target of a copy");
    if (c->kind == cudaMemcpyDeviceToHost || c->kind == cudaMemcpyDeviceToDevice)
        emulator_expect_memory(c->src, c->size, "source of a copy");
    memmove(c->dst, src, c->size);
    if (c->kind == cudaMemcpyHostToDevice)
        emulator_counters.bytes_in += (int64_t)c->size;
    else if (c->kind == cudaMemcpyDeviceToHost)
        emulator_counters.bytes_out += (int64_t)c->size;
    else
        emulator_counters.bytes_within += (int64_t)c->size;
}

static void release_copy(void *arg)
{
    free(((struct copy *)arg)->staged);
}

static cudaError_t find_kind(struct copy *c)
{
    bool dst_on_device = memory_device(c->dst) > 0,
         src_on_device = memory_device(c->src) > 0;

    if (c->kind == cudaMemcpyDefault)
        c->kind = dst_on_device
                      ? src_on_device ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice
                  : src_on_device ? cudaMemcpyDeviceToHost
                                  : cudaMemcpyHostToHost;
    if (dst_on_device !=
        (c->kind == cudaMemcpyHostToDevice || c->kind == cudaMemcpyDeviceToDevice))
        return cudaErrorInvalidValue;
    if (src_on_device !=
        (c->kind == cudaMemcpyDeviceToHost || c->kind == cudaMemcpyDeviceToDevice))
        return cudaErrorInvalidValue;
    if ((dst_on_device && memory_device(c->dst) < c->size) ||
        (src_on_device && memory_device(c->src) < c->size))
        return cudaErrorInvalidValue;
    return cudaSuccess;
}

static cudaError_t copy(struct copy *c, cudaStream_t s, bool wait)
{
    struct operation *o;
    cudaError_t e = c->size ? find_kind(c) : cudaSuccess;
    bool captured = stream_captures(s);

    if (e != cudaSuccess || !c->size)
        return e;
    if ((c->kind == cudaMemcpyHostToDevice && !memory_pinned(c->src)) ||
        (c->kind == cudaMemcpyDeviceToHost && !memory_pinned(c->dst)))
        emulator_counters.pageable++;
    if (c->kind == cudaMemcpyHostToDevice && !memory_pinned(c->src) && !captured)
        c->staged = xmemdup(c->src, c->size);
    if (c->kind == cudaMemcpyDeviceToHost && !memory_pinned(c->dst) && !captured)
        wait = true;
    o = operation_new("copy", run_copy, c, sizeof(*c));
    o->release = release_copy;
    e = stream_submit(s, o);
    if (e == cudaSuccess && wait) {
        stream_drain(s);
        emulator_counters.synchronisations++;
    }
    return e;
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t size,
                            enum cudaMemcpyKind kind, cudaStream_t s)
{
    struct copy c = {.dst = dst, .src = src, .size = size, .kind = kind};

    emulator_lock();
    if (!stream_valid(s))
        return emulator_return(cudaErrorInvalidResourceHandle);
    return emulator_return(copy(&c, s, false));
}

cudaError_t cudaMemcpy(void *dst, const void *src, size_t size, enum cudaMemcpyKind kind)
{
    struct copy c = {.dst = dst, .src = src, .size = size, .kind = kind};
    cudaError_t e;

    emulator_lock();
    e = capture_forbids();
    return emulator_return(e == cudaSuccess ? copy(&c, NULL, true) : e);
}

struct fill {
    void *dst;
    int value;
    size_t size;
};

static void run_fill(void *arg)
{
    const struct fill *f = arg;

    emulator_expect_memory(f->dst, f->size, "target of a fill");
    memset(f->dst, f->value, f->size);
}

cudaError_t cudaMemsetAsync(void *dst, int value, size_t size, cudaStream_t s)
{
    struct fill f = {dst, value, size};

    emulator_lock();
    if (!stream_valid(s))
        return emulator_return(cudaErrorInvalidResourceHandle);
    if (!size)
        return emulator_return(cudaSuccess);
    if (memory_device(dst) < size)
        return emulator_return(cudaErrorInvalidValue);
    return emulator_return(
        stream_submit(s, operation_new("fill", run_fill, &f, sizeof(f))));
}

cudaError_t cudaMemset(void *dst, int value, size_t size)
{
    cudaError_t e;

    emulator_lock();
    e = capture_forbids();
    if (e == cudaSuccess)
        e = cudaMemsetAsync(dst, value, size, NULL);
    return emulator_return(e);
}
