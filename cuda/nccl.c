#include "cuda/nccl.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cuda/parts.h"

/* The communicator of a group on a lane. */
struct nccl_comm {
    struct nccl_comm *next;
    const struct collective *group;
    enum nccl_lane lane;
    void *comm;
};

struct nccl {
    const struct nccl_library *lib;
    struct {
        cudaStream_t stream;
        cudaEvent_t fork, join;
    } lane[NCCL_LANES];
    pthread_mutex_t lock; /* of the list, which the watching thread reads */
    struct nccl_comm *comm;
    bool recorded; /* the capture in progress has an operation */
    char error[160];
};

/* Returns NCCL's last message, or "" if this version keeps none. */
static const char *last_error(const struct nccl_library *lib)
{
    return lib->GetLastError ? lib->GetLastError(NULL) : "";
}

void nccl_check(struct device *dev, int code, const char *call)
{
    const struct nccl_library *lib;

    if (!code)
        return;
    lib = nccl_library(dev->text);
    if (cuda_spoils(dev, call, lib->GetErrorString(code)))
        return;
    cuda_fail(dev, call, lib->GetErrorString(code), last_error(lib),
              code == NCCL_INVALID_USAGE ? "each rank needs a GPU of its own"
                                         : "NCCL_DEBUG=INFO has NCCL say more");
}

/* Highest priority: otherwise a collective waits until convolutions leave room for its
 * blocks, and the other GPUs wait for it. */
static void open_lane(struct device *dev, struct nccl *n, enum nccl_lane lane)
{
    int lowest = 0, highest = 0;

    CUDA_CHECK(dev, cudaDeviceGetStreamPriorityRange(&lowest, &highest));
    CUDA_CHECK(dev, cudaStreamCreateWithPriority(&n->lane[lane].stream,
                                                 cudaStreamNonBlocking, highest));
    CUDA_CHECK(dev,
               cudaEventCreateWithFlags(&n->lane[lane].fork, cudaEventDisableTiming));
    CUDA_CHECK(dev,
               cudaEventCreateWithFlags(&n->lane[lane].join, cudaEventDisableTiming));
}

static struct nccl *nccl_open(struct device *dev)
{
    struct nccl *n = dev->nccl;

    if (n)
        return n;
    n = xcalloc(1, sizeof(*n));
    n->lib = nccl_library(dev->text);
    dev->nccl = n;
    if (pthread_mutex_init(&n->lock, NULL))
        die("%s: no lock", dev->text);
    for (int i = 0; i < NCCL_LANES; i++)
        open_lane(dev, n, (enum nccl_lane)i);
    return n;
}

/* For the watching thread: returns what NCCL has found wrong since, or NULL. */
static const char *async_error(void *arg)
{
    struct nccl *n = arg;
    int code = 0;

    (void)pthread_mutex_lock(&n->lock);
    for (struct nccl_comm *c = n->comm; c && !code; c = c->next)
        if (n->lib->CommGetAsyncError(c->comm, &code) || code == NCCL_IN_PROGRESS)
            code = 0;
    (void)pthread_mutex_unlock(&n->lock);
    if (!code)
        return NULL;
    (void)snprintf(n->error, sizeof(n->error), "NCCL has lost another GPU: %s",
                   n->lib->GetErrorString(code));
    return n->error;
}

/* For GPUs of one process: the first thread opens all communicators and hands them out. */
static void *join_threads(struct device *dev, const struct nccl *n,
                          const struct collective *group)
{
    void **all = xcalloc((size_t)group->world, sizeof(*all)), *comm;

    if (!group->rank)
        nccl_check(dev, n->lib->CommInitAll(all, group->world, group->devices),
                   "ncclCommInitAll");
    group->broadcast(group, all, group->world * (int)sizeof(*all));
    comm = all[group->rank];
    free(all);
    return comm;
}

static void *join_processes(struct device *dev, const struct nccl *n,
                            const struct collective *group)
{
    struct nccl_id id = {{0}};
    void *comm = NULL;

    if (!group->rank)
        nccl_check(dev, n->lib->GetUniqueId(&id), "ncclGetUniqueId");
    group->broadcast(group, &id, sizeof(id));
    nccl_check(dev, n->lib->CommInitRank(&comm, group->world, id, group->rank),
               "ncclCommInitRank");
    return comm;
}

static struct nccl_comm *comm_of(struct device *dev, struct nccl *n,
                                 const struct collective *group, enum nccl_lane lane);

/*
 * Splits the communicator of `parent` for the ranks with the same color; all its ranks call
 * it. For a part of a group, and for the second lane of a whole one.
 */
static void *split(struct device *dev, struct nccl *n, const struct collective *parent,
                   int color)
{
    void *comm = NULL, *src = comm_of(dev, n, parent, NCCL_BUCKETS)->comm;

    nccl_check(dev, n->lib->CommSplit(src, color, parent->rank, &comm, NULL),
               "ncclCommSplit");
    return comm;
}

static void *join(struct device *dev, struct nccl *n, const struct collective *group,
                  enum nccl_lane lane)
{
    if (group->parent && !n->lib->CommSplit)
        die("%s: groups of %d of %d GPUs (MODEL.SYNC_BN_GROUP) need NCCL 2.18 or later",
            dev->text, group->world, group->parent->world);
    if (group->parent)
        return split(dev, n, group->parent, group->parent->rank / group->world);
    if (lane != NCCL_BUCKETS)
        return split(dev, n, group, 0);
    return group->devices ? join_threads(dev, n, group) : join_processes(dev, n, group);
}

static struct nccl_comm *comm_of(struct device *dev, struct nccl *n,
                                 const struct collective *group, enum nccl_lane lane)
{
    struct nccl_comm *c = n->comm;
    bool was;

    while (c && (c->group != group || c->lane != lane))
        c = c->next;
    if (c)
        return c;
    was = alloc_forbid(false); /* only at a program's first run, never in a capture */
    c = xcalloc(1, sizeof(*c));
    c->group = group;
    c->lane = lane;
    c->comm = join(dev, n, group, lane);
    (void)pthread_mutex_lock(&n->lock);
    c->next = n->comm;
    n->comm = c;
    (void)pthread_mutex_unlock(&n->lock);
    if (group->watch)
        group->watch(async_error, n);
    (void)alloc_forbid(was);
    return c;
}

/*
 * For GPUs of one process, outside of captures: waits until all threads are here and their
 * GPUs idle. Each kernel of a program, and NCCL's, runs there for the first time: the driver
 * loads its code under a lock of the process and waits for that GPU. If it waited in a
 * collective for another thread's GPU, whose kernel has to be loaded first, both would wait
 * forever.
 */
static void meet(struct device *dev, const struct collective *group)
{
    const struct collective *all = group->parent ? group->parent : group;
    char nothing = 0;

    if (!all->devices || dev->recording)
        return;
    cuda_sync(dev);
    all->broadcast(all, &nothing, sizeof(nothing));
}

/* What one call needs of its lane. */
struct use {
    struct nccl *n;
    struct nccl_comm *c;
    cudaStream_t stream;
    bool was; /* alloc_forbid() */
};

/* Before NCCL is called: makes the lane wait for work launched on LANE_RUN. */
static struct use begin(struct device *dev, const struct collective *group,
                        enum nccl_lane lane)
{
    struct nccl *n = nccl_open(dev);
    struct use u = {.n = n};

    if (!n->lib->CommSplit)
        lane = NCCL_BUCKETS;
    u.c = comm_of(dev, n, group, lane);
    u.stream = n->lane[lane].stream;
    meet(dev, group);
    CUDA_CHECK(dev, cudaEventRecord(n->lane[lane].fork, dev->stream));
    CUDA_CHECK(dev, cudaStreamWaitEvent(u.stream, n->lane[lane].fork, 0));
    n->recorded |= dev->recording;
    u.was = alloc_forbid(false); /* the library allocates here */
    return u;
}

static void join_lane(struct device *dev, enum nccl_lane lane)
{
    struct nccl *n = dev->nccl;

    if (!n->lib->CommSplit)
        lane = NCCL_BUCKETS;
    CUDA_CHECK(dev, cudaEventRecord(n->lane[lane].join, n->lane[lane].stream));
    CUDA_CHECK(dev, cudaStreamWaitEvent(dev->stream, n->lane[lane].join, 0));
}

static void end(struct device *dev, const struct use *u)
{
    (void)alloc_forbid(u->was);
    if (!dev->recording)
        join_lane(dev, u->c->lane);
    meet(dev, u->c->group);
}

static void start(struct device *dev, const struct collective *group, enum nccl_lane lane,
                  const void *src, void *dst, int64_t len, int type, int op)
{
    struct use u = begin(dev, group, lane);

    nccl_check(dev,
               u.n->lib->AllReduce(src, dst, (size_t)len, type, op, u.c->comm, u.stream),
               "ncclAllReduce");
    end(dev, &u);
}

void nccl_start(struct device *dev, const struct collective *group, const void *src,
                void *dst, int64_t len, int type, int op)
{
    start(dev, group, NCCL_BUCKETS, src, dst, len, type, op);
}

void nccl_start_small(struct device *dev, const struct collective *group, const void *src,
                      void *dst, int64_t len, int type, int op)
{
    start(dev, group, NCCL_SMALL, src, dst, len, type, op);
}

void nccl_start_to(struct device *dev, const struct collective *group, void *x,
                   int64_t len, int type, int op, int root)
{
    struct use u = begin(dev, group, NCCL_BUCKETS);

    nccl_check(dev,
               u.n->lib->Reduce(x, x, (size_t)len, type, op, root, u.c->comm, u.stream),
               "ncclReduce");
    end(dev, &u);
}

void nccl_start_gather(struct device *dev, const struct collective *group, float *x,
                       const int64_t *first)
{
    struct use u = begin(dev, group, NCCL_BUCKETS);

    for (int rank = 0; rank < group->world; rank++) {
        float *part = x + first[rank];
        size_t len = (size_t)(first[rank + 1] - first[rank]);

        if (len)
            nccl_check(dev,
                       u.n->lib->Broadcast(part, part, len, NCCL_FP32, rank, u.c->comm,
                                           u.stream),
                       "ncclBroadcast");
    }
    end(dev, &u);
}

void nccl_start_exchange(struct device *dev, const struct collective *group,
                         const struct exchange *e, const void *src, void *dst,
                         enum dtype t)
{
    struct use u = begin(dev, group, NCCL_SMALL);
    const struct nccl_library *lib = u.n->lib;
    size_t size = dtype_size(t), len = (size_t)e->len;

    nccl_check(dev, lib->GroupStart(), "ncclGroupStart");
    for (int r = 0; r < group->world; r++)
        for (int p = 0; p < e->parts; p++) {
            size_t from = (size_t)exchange_offset(e, group->world, r, p, false);
            size_t to = (size_t)exchange_offset(e, group->world, r, p, true);

            nccl_check(dev,
                       lib->Send((const char *)src + from * size, len, nccl_type(t), r,
                                 u.c->comm, u.stream),
                       "ncclSend");
            nccl_check(dev,
                       lib->Recv((char *)dst + to * size, len, nccl_type(t), r, u.c->comm,
                                 u.stream),
                       "ncclRecv");
        }
    nccl_check(dev, lib->GroupEnd(), "ncclGroupEnd");
    end(dev, &u);
}

void nccl_join(struct device *dev)
{
    join_lane(dev, NCCL_BUCKETS);
}

void nccl_join_small(struct device *dev)
{
    join_lane(dev, NCCL_SMALL);
}

void nccl_reduce(struct device *dev, const struct collective *group, void *x, int64_t len,
                 int type, int op)
{
    nccl_start(dev, group, x, x, len, type, op);
    nccl_join(dev);
}

void nccl_captured(struct device *dev)
{
    struct nccl *n = dev->nccl;

    if (n && n->recorded)
        meet(dev, n->comm->group);
    if (n)
        n->recorded = false;
}

int nccl_type(enum dtype d)
{
    return d == DTYPE_F32 ? NCCL_FP32 : d == DTYPE_F16 ? NCCL_FP16 : NCCL_BF16;
}

static void close_lane(struct device *dev, struct nccl *n, enum nccl_lane lane)
{
    CUDA_CHECK(dev, cudaEventDestroy(n->lane[lane].fork));
    CUDA_CHECK(dev, cudaEventDestroy(n->lane[lane].join));
    CUDA_CHECK(dev, cudaStreamDestroy(n->lane[lane].stream));
}

/* Destroys the newest first: parts of a communicator before it. */
void nccl_close(struct device *dev)
{
    struct nccl *n = dev->nccl;

    if (!n)
        return;
    dev->nccl = NULL;
    if (n->comm && n->comm->group->watch)
        n->comm->group->watch(NULL, n);
    while (n->comm) {
        struct nccl_comm *c = n->comm;

        n->comm = c->next;
        nccl_check(dev, n->lib->CommDestroy(c->comm), "ncclCommDestroy");
        free(c);
    }
    for (int i = 0; i < NCCL_LANES; i++)
        close_lane(dev, n, (enum nccl_lane)i);
    (void)pthread_mutex_destroy(&n->lock);
    free(n);
}

void nccl_host_waits(const struct device *dev, bool waiting)
{
    const struct collective *group =
        dev->nccl && dev->nccl->comm ? dev->nccl->comm->group : NULL;

    if (group)
        group->waits(group, waiting);
}
