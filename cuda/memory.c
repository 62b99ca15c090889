/* Device memory: a few large blocks for the whole run, and the memory left over. */
#include <cuda_runtime_api.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cuda/parts.h"

/*
 * Estimated memory beyond our own allocations: kernels that cuDNN and cuBLASLt load when
 * they first run, their handles, NCCL's buffers, and the captured graphs. Memory they
 * have already allocated counts towards it, except for the graphs, which come last. The
 * driver's own share is subtracted only for a described GPU; on a real one, the driver
 * already has it.
 */
static const size_t reserve_alone = (size_t)768 << 20, graphs = (size_t)64 << 20;
/* Buffers of NCCL; from five GPUs on they include buffers for NVSwitch's multicast. */
static const size_t nccl_share = (size_t)512 << 20, nccl_share_many = (size_t)1280 << 20;
static const size_t driver_share = (size_t)640 << 20;
static const size_t slack = (size_t)16 << 20; /* memory that the driver may give back */

struct cuda_block {
    struct cuda_block *next;
    void *p;
    size_t size;
};

static size_t free_now(struct device *dev)
{
    size_t free_ = 0, total = 0;

    if (!dev->described)
        CUDA_CHECK(dev, cudaMemGetInfo(&free_, &total));
    else if (dev->what.memory > driver_share)
        free_ = dev->what.memory - driver_share;
    return free_;
}

void *cuda_alloc(struct device *dev, size_t size)
{
    struct cuda_block *b;

    if (dev->described)
        die("%s is the description of a GPU that is not here: nothing can run on it "
            "(trainc summary shows what would)",
            dev->text);
    if (!size)
        return NULL;
    b = xcalloc(1, sizeof(*b));
    CUDA_CHECK(dev, cudaMalloc(&b->p, size));
    CUDA_CHECK(dev, cudaMemsetAsync(b->p, 0, size, dev->stream));
    cuda_sync(dev); /* or it could zero bytes that LANE_COPY has copied */
    b->size = size;
    b->next = dev->block;
    dev->block = b;
    dev->bytes += size;
    if (dev->bytes > dev->peak)
        dev->peak = dev->bytes;
    return b->p;
}

void cuda_free(struct device *dev, void *p)
{
    struct cuda_block **ptr = &dev->block, *b;

    if (!p)
        return;
    while (*ptr && (*ptr)->p != p)
        ptr = &(*ptr)->next;
    if (!*ptr)
        BUG("%p is not memory of this device", p);
    b = *ptr;
    *ptr = b->next;
    dev->bytes -= b->size;
    CUDA_CHECK(dev, cudaFree(b->p));
    free(b);
}

void cuda_free_all(struct device *dev)
{
    while (dev->block)
        cuda_free(dev, dev->block->p);
}

size_t cuda_peak_memory(struct device *dev)
{
    return dev->peak;
}

bool cuda_memory(struct device *dev, struct device_memory *m)
{
    size_t now = free_now(dev);
    size_t nccl = dev->world > 4 ? nccl_share_many : dev->world > 1 ? nccl_share : 0;
    size_t reserve = reserve_alone + nccl;

    *m = (struct device_memory){
        .total = dev->what.memory,
        .free = now,
        .held = dev->bytes,
        .peak = dev->peak,
    };
    dev->shared |= !dev->described && now + dev->bytes > dev->free_at_open + slack;
    m->shared = dev->shared;
    if (!dev->shared && dev->free_at_open > now + dev->bytes)
        m->library = dev->free_at_open - now - dev->bytes;
    m->reserve = m->library + graphs < reserve ? reserve - m->library : graphs;
    return true;
}
