#include "cuda/nccl.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"

/* The communicator of a group. */
struct nccl_comm {
    struct nccl_comm *next;
    const struct collective *group;
    void *comm;
};

struct nccl {
    const struct nccl_library *lib;
    cudaStream_t stream;
    cudaEvent_t fork, join;
    struct nccl_comm *comm;
};

void nccl_check(struct device *dev, int code, const char *call)
{
    const struct nccl_library *lib;

    if (!code)
        return;
    lib = nccl_library(dev->text);
    if (cuda_spoils(dev, call, lib->GetErrorString(code)))
        return;
    cuda_fail(dev, call, lib->GetErrorString(code), lib->GetLastError(NULL),
              code == NCCL_INVALID_USAGE ? "each rank needs a GPU of its own"
                                         : "NCCL_DEBUG=INFO has NCCL say more");
}

static struct nccl *nccl_open(struct device *dev)
{
    struct nccl *n = dev->nccl;

    if (n)
        return n;
    n = xcalloc(1, sizeof(*n));
    n->lib = nccl_library(dev->text);
    dev->nccl = n;
    CUDA_CHECK(dev, cudaStreamCreateWithFlags(&n->stream, cudaStreamNonBlocking));
    CUDA_CHECK(dev, cudaEventCreateWithFlags(&n->fork, cudaEventDisableTiming));
    CUDA_CHECK(dev, cudaEventCreateWithFlags(&n->join, cudaEventDisableTiming));
    return n;
}

/* For GPUs of one process: the first thread opens all communicators and hands them out. */
static void *join_threads(struct device *dev, const struct nccl *n,
                          const struct collective *group)
{
    void **all = xcalloc((size_t)group->world, sizeof(*all)), *own;

    if (!group->rank)
        nccl_check(dev, n->lib->CommInitAll(all, group->world, group->devices),
                   "ncclCommInitAll");
    group->broadcast(group, all, group->world * (int)sizeof(*all));
    own = all[group->rank];
    free(all);
    return own;
}

static void *join_processes(struct device *dev, const struct nccl *n,
                            const struct collective *group)
{
    struct nccl_id id = {{0}};
    void *own = NULL;

    if (!group->rank)
        nccl_check(dev, n->lib->GetUniqueId(&id), "ncclGetUniqueId");
    group->broadcast(group, &id, sizeof(id));
    nccl_check(dev, n->lib->CommInitRank(&own, group->world, id, group->rank),
               "ncclCommInitRank");
    return own;
}

static void *comm_of(struct device *dev, struct nccl *n, const struct collective *group);

/* Splits a communicator for a part of a group; all ranks of the part call it. */
static void *split(struct device *dev, struct nccl *n, const struct collective *group)
{
    int rank = group->of->rank;
    void *own = NULL, *all = comm_of(dev, n, group->of);

    if (!n->lib->CommSplit)
        die("%s: groups of %d of %d GPUs (MODEL.SYNC_BN_GROUP) need NCCL 2.18 or later",
            dev->text, group->world, group->of->world);
    nccl_check(dev, n->lib->CommSplit(all, rank / group->world, rank, &own, NULL),
               "ncclCommSplit");
    return own;
}

static void *join(struct device *dev, struct nccl *n, const struct collective *group)
{
    if (group->of)
        return split(dev, n, group);
    return group->devices ? join_threads(dev, n, group) : join_processes(dev, n, group);
}

static void *comm_of(struct device *dev, struct nccl *n, const struct collective *group)
{
    struct nccl_comm *c = n->comm;
    bool was;

    while (c && c->group != group)
        c = c->next;
    if (c)
        return c->comm;
    was = alloc_forbid(false); /* only at a program's first run, never in a capture */
    c = xcalloc(1, sizeof(*c));
    c->group = group;
    c->comm = join(dev, n, group);
    c->next = n->comm;
    n->comm = c;
    (void)alloc_forbid(was);
    return c->comm;
}

/* Makes NCCL's lane wait for work launched on LANE_RUN. */
static void fork_lane(struct device *dev, struct nccl *n)
{
    CUDA_CHECK(dev, cudaEventRecord(n->fork, dev->stream));
    CUDA_CHECK(dev, cudaStreamWaitEvent(n->stream, n->fork, 0));
}

void nccl_start(struct device *dev, const struct collective *group, const void *from,
                void *to, int64_t len, int type, int op)
{
    struct nccl *n = nccl_open(dev);
    void *comm = comm_of(dev, n, group);
    bool was;

    fork_lane(dev, n);
    was = alloc_forbid(false); /* the library allocates here */
    nccl_check(dev, n->lib->AllReduce(from, to, (size_t)len, type, op, comm, n->stream),
               "ncclAllReduce");
    (void)alloc_forbid(was);
}

void nccl_start_to(struct device *dev, const struct collective *group, void *x,
                   int64_t len, int type, int op, int root)
{
    struct nccl *n = nccl_open(dev);
    void *comm = comm_of(dev, n, group);
    bool was;

    fork_lane(dev, n);
    was = alloc_forbid(false);
    nccl_check(dev, n->lib->Reduce(x, x, (size_t)len, type, op, root, comm, n->stream),
               "ncclReduce");
    (void)alloc_forbid(was);
}

void nccl_start_gather(struct device *dev, const struct collective *group, float *x,
                       const int64_t *begin)
{
    struct nccl *n = nccl_open(dev);
    void *comm = comm_of(dev, n, group);
    bool was;

    fork_lane(dev, n);
    was = alloc_forbid(false);
    for (int rank = 0; rank < group->world; rank++) {
        float *part = x + begin[rank];
        size_t len = (size_t)(begin[rank + 1] - begin[rank]);

        if (len)
            nccl_check(
                dev, n->lib->Broadcast(part, part, len, NCCL_FP32, rank, comm, n->stream),
                "ncclBroadcast");
    }
    (void)alloc_forbid(was);
}

void nccl_join(struct device *dev)
{
    struct nccl *n = dev->nccl;

    CUDA_CHECK(dev, cudaEventRecord(n->join, n->stream));
    CUDA_CHECK(dev, cudaStreamWaitEvent(dev->stream, n->join, 0));
}

void nccl_reduce(struct device *dev, const struct collective *group, void *x, int64_t len,
                 int type, int op)
{
    nccl_start(dev, group, x, x, len, type, op);
    nccl_join(dev);
}

int nccl_type(enum dtype d)
{
    return d == DTYPE_F32 ? NCCL_FP32 : d == DTYPE_F16 ? NCCL_FP16 : NCCL_BF16;
}

void nccl_close(struct device *dev)
{
    struct nccl *n = dev->nccl;

    if (!n)
        return;
    dev->nccl = NULL;
    while (n->comm) {
        struct nccl_comm *c = n->comm;

        n->comm = c->next;
        nccl_check(dev, n->lib->CommDestroy(c->comm), "ncclCommDestroy");
        free(c);
    }
    CUDA_CHECK(dev, cudaEventDestroy(n->fork));
    CUDA_CHECK(dev, cudaEventDestroy(n->join));
    CUDA_CHECK(dev, cudaStreamDestroy(n->stream));
    free(n);
}

void nccl_host_waits(const struct device *dev, bool on)
{
    const struct collective *group =
        dev->nccl && dev->nccl->comm ? dev->nccl->comm->group : NULL;

    if (group)
        group->waits(group, on);
}
