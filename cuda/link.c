/*
 * Connects processes that a launcher started without MPI: they communicate over NCCL,
 * through a buffer on each one's GPU. They meet at an address, by NCCL's own bootstrap
 * (NCCL_COMM_ID).
 */
#include "cuda/link.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cuda/nccl.h"

enum { BUFFER = 1 << 20 };

struct link {
    struct device dev; /* for messages, and its stream */
    const struct nccl_library *lib;
    void *comm, *buffer;
};

static void *link_open(int index, int world, int rank, const char *address)
{
    struct link *l = xcalloc(1, sizeof(*l));
    struct device *dev = &l->dev;
    struct nccl_id id = {{0}};

    dev->index = index;
    (void)snprintf(dev->text, sizeof(dev->text), "cuda:%d, rank %d of %d at %s", index,
                   rank, world, address);
    l->lib = nccl_library(dev->text);
    CUDA_CHECK(dev, cudaSetDevice(index));
    CUDA_CHECK(dev, cudaStreamCreateWithFlags(&dev->stream, cudaStreamNonBlocking));
    CUDA_CHECK(dev, cudaMalloc(&l->buffer, BUFFER));
    if (setenv("NCCL_COMM_ID", address, 1))
        die("no memory for an environment variable");
    nccl_check(dev, l->lib->GetUniqueId(&id), "ncclGetUniqueId");
    nccl_check(dev, l->lib->CommInitRank(&l->comm, world, id, rank), "ncclCommInitRank");
    (void)unsetenv("NCCL_COMM_ID"); /* later communicators would use it, too */
    return l;
}

static void copy(struct link *l, void *dst, const void *src, size_t size,
                 enum cudaMemcpyKind kind)
{
    CUDA_CHECK(&l->dev, cudaMemcpyAsync(dst, src, size, kind, l->dev.stream));
}

/* Splits x into pieces of the buffer's size; `call` processes one piece there. */
static void in_pieces(struct link *l, void *x, int64_t bytes,
                      int (*call)(struct link *l, size_t size, int how), int how,
                      const char *name)
{
    for (int64_t pos = 0; pos < bytes; pos += BUFFER) {
        size_t size = (size_t)(bytes - pos < BUFFER ? bytes - pos : BUFFER);
        char *piece = (char *)x + pos;

        copy(l, l->buffer, piece, size, cudaMemcpyHostToDevice);
        nccl_check(&l->dev, call(l, size, how), name);
        copy(l, piece, l->buffer, size, cudaMemcpyDeviceToHost);
        CUDA_CHECK(&l->dev, cudaStreamSynchronize(l->dev.stream));
    }
}

static int broadcast(struct link *l, size_t size, int how)
{
    (void)how;
    return l->lib->Broadcast(l->buffer, l->buffer, size, NCCL_UINT8, 0, l->comm,
                             l->dev.stream);
}

static int reduce_counts(struct link *l, size_t size, int op)
{
    return l->lib->AllReduce(l->buffer, l->buffer, size / sizeof(int64_t), NCCL_INT64, op,
                             l->comm, l->dev.stream);
}

static int reduce_doubles(struct link *l, size_t size, int op)
{
    return l->lib->AllReduce(l->buffer, l->buffer, size / sizeof(double), NCCL_FP64, op,
                             l->comm, l->dev.stream);
}

static void link_broadcast(void *link, void *x, int64_t bytes)
{
    in_pieces(link, x, bytes, broadcast, 0, "ncclBroadcast");
}

static void link_reduce(void *link, void *x, int64_t n, bool doubles, bool largest)
{
    in_pieces(link, x, n * 8, doubles ? reduce_doubles : reduce_counts,
              largest ? NCCL_MAX : NCCL_SUM, "ncclAllReduce");
}

static void link_close(void *link)
{
    struct link *l = link;

    nccl_check(&l->dev, l->lib->CommDestroy(l->comm), "ncclCommDestroy");
    CUDA_CHECK(&l->dev, cudaFree(l->buffer));
    CUDA_CHECK(&l->dev, cudaStreamDestroy(l->dev.stream));
    free(l);
}

const struct backend_link cuda_link = {
    .name = "NCCL",
    .open = link_open,
    .broadcast = link_broadcast,
    .reduce = link_reduce,
    .close = link_close,
};
