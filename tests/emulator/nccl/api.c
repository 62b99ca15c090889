/*
 * The emulated NCCL, as far as the program uses it. Collectives run in the order of their
 * streams, captured or not, and wait there for the other ranks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/emulator/host_node.h"
#include "tests/emulator/nccl/bootstrap.h"

#define EXPORT __attribute__((visibility("default")))

struct ncclComm {
    struct team *team;
    int rank, device;
};

/* Buffers of a communicator, in bytes. */
static const size_t takes = (size_t)64 << 20;

static _Thread_local char last[160];

static ncclResult_t refuse(ncclResult_t code, const char *why)
{
    (void)snprintf(last, sizeof(last), "%s", why);
    return code;
}

EXPORT ncclResult_t ncclGetVersion(int *version)
{
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
}

EXPORT const char *ncclGetErrorString(ncclResult_t r)
{
    static const char *const text[] = {
        "no error",
        "unhandled cuda error",
        "unhandled system error",
        "internal error",
        "invalid argument",
        "invalid usage",
        "remote process exited or there was a network error",
        "NCCL operation in progress"};

    return (unsigned)r < sizeof(text) / sizeof(*text) ? text[r] : "unknown result code";
}

EXPORT const char *ncclGetLastError(ncclComm_t c)
{
    (void)c;
    return last;
}

EXPORT ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    if (emulator_fails("nccl"))
        return refuse(ncclSystemError, "failed on purpose");
    bootstrap_id(id->internal, sizeof(id->internal));
    return ncclSuccess;
}

/* Registers the rank's GPU and machine; two ranks on one GPU are refused. */
static bool place(struct team *t, int rank, int device)
{
    char gpu[32];

    return cudaDeviceGetPCIBusId(gpu, sizeof(gpu), device) == cudaSuccess &&
           team_place(t, rank, gpu);
}

static ncclComm_t new_comm(struct team *t, int rank, int device)
{
    ncclComm_t c = calloc(1, sizeof(*c));

    if (!c)
        abort();
    *c = (struct ncclComm){t, rank, device};
    return c;
}

EXPORT ncclResult_t ncclCommInitRank(ncclComm_t *c, int world, ncclUniqueId id, int rank)
{
    const char *why = "";
    struct team *t;
    int device;

    if (world < 1 || world > TEAM_MAX || rank < 0 || rank >= world)
        return refuse(ncclInvalidArgument, "Invalid rank requested");
    if (emulator_fails("nccl"))
        return refuse(ncclSystemError, "failed on purpose");
    t = bootstrap_find(id.internal, world, rank, &why);
    if (!t)
        return refuse(ncclSystemError, why);
    (void)cudaGetDevice(&device);
    if (!place(t, rank, device))
        return refuse(ncclInvalidUsage, "Duplicate GPU detected");
    emulator_take_memory(takes);
    *c = new_comm(t, rank, device);
    team_meet(t);
    return ncclSuccess;
}

EXPORT ncclResult_t ncclCommInitAll(ncclComm_t *c, int n, const int *device)
{
    struct team *t = n < 1 || n > TEAM_MAX ? NULL : team_make(n, NULL);

    if (!t)
        return refuse(ncclInvalidArgument, "Invalid number of devices requested");
    for (int i = 0; i < n; i++) {
        int pos = device ? device[i] : i;

        if (!place(t, i, pos))
            return refuse(ncclInvalidUsage, "Duplicate GPU detected");
        c[i] = new_comm(t, i, pos);
    }
    return ncclSuccess;
}

EXPORT ncclResult_t ncclCommSplit(ncclComm_t all, int color, int key, ncclComm_t *c,
                                  ncclConfig_t *config)
{
    char path[BOOTSTRAP_PATH];
    struct team *t;
    int number;

    (void)config;
    if (color < 0 || key != all->rank)
        return refuse(ncclInvalidArgument, "parts in another order are not emulated");
    if (emulator_fails("nccl"))
        return refuse(ncclSystemError, "failed on purpose");
    bootstrap_path(path);
    t = team_split(all->team, all->rank, color, path, &number);
    if (!place(t, number, all->device))
        return refuse(ncclInvalidUsage, "Duplicate GPU detected");
    emulator_take_memory(takes);
    *c = new_comm(t, number, all->device);
    team_meet(t);
    return ncclSuccess;
}

EXPORT ncclResult_t ncclCommDestroy(ncclComm_t c)
{
    free(c);
    return ncclSuccess;
}

EXPORT ncclResult_t ncclCommAbort(ncclComm_t c)
{
    return ncclCommDestroy(c);
}

EXPORT ncclResult_t ncclCommGetAsyncError(ncclComm_t c, ncclResult_t *r)
{
    (void)c;
    *r = ncclSuccess;
    return ncclSuccess;
}

/* ---- collectives ---- */

struct work {
    struct team *team;
    int rank;
    struct team_call call;
    const void *src;
    void *dst;
    size_t bytes;
    struct team_messages messages; /* of a group call */
};

static void run_team(void *arg)
{
    const struct work *w = arg;

    team_run(w->team, w->rank, &w->call, w->src, w->dst);
}

static void run(void *arg)
{
    const struct work *w = arg;

    emulator_expect_memory(w->src, w->bytes, "sent by NCCL");
    emulator_expect_memory(w->dst, w->bytes, "received by NCCL");
    emulator_unlocked(run_team, arg);
}

static void fill(struct work *w, ncclComm_t c, const char *name, size_t n,
                 ncclDataType_t type, ncclRedOp_t op, int root)
{
    memset(w, 0, sizeof(*w)); /* calls are compared including their padding */
    w->team = c->team;
    w->rank = c->rank;
    (void)snprintf(w->call.name, sizeof(w->call.name), "%s", name);
    w->call.count = n;
    w->call.type = type;
    w->call.op = op;
    w->call.root = root;
    w->bytes = n * (type == ncclFloat64 || type == ncclInt64      ? 8
                    : type == ncclFloat32                         ? 4
                    : type == ncclFloat16 || type == ncclBfloat16 ? 2
                                                                  : 1);
}

static ncclResult_t enqueue(ncclComm_t c, const char *name, const void *src, void *dst,
                            size_t n, ncclDataType_t type, ncclRedOp_t op, int root,
                            cudaStream_t s)
{
    struct work w;
    int device;

    (void)cudaGetDevice(&device);
    if (device != c->device)
        return refuse(ncclInvalidUsage, "the communicator is of another device");
    if (emulator_fails("nccl"))
        return refuse(ncclUnhandledCudaError, "a launch failed on purpose");
    fill(&w, c, name, n, type, op, root);
    w.src = src;
    w.dst = dst;
    return emulator_enqueue(s, name, run, &w, sizeof(w))
               ? refuse(ncclUnhandledCudaError, "")
               : ncclSuccess;
}

EXPORT ncclResult_t ncclAllReduce(const void *src, void *dst, size_t n,
                                  ncclDataType_t type, ncclRedOp_t op, ncclComm_t c,
                                  cudaStream_t s)
{
    return enqueue(c, "AllReduce", src, dst, n, type, op, 0, s);
}

EXPORT ncclResult_t ncclReduce(const void *src, void *dst, size_t n, ncclDataType_t type,
                               ncclRedOp_t op, int root, ncclComm_t c, cudaStream_t s)
{
    return enqueue(c, "Reduce", src, dst, n, type, op, root, s);
}

EXPORT ncclResult_t ncclBroadcast(const void *src, void *dst, size_t n,
                                  ncclDataType_t type, int root, ncclComm_t c,
                                  cudaStream_t s)
{
    return enqueue(c, "Broadcast", src, dst, n, type, ncclSum, root, s);
}

/* ---- messages between two ranks, in groups ---- */

static _Thread_local struct {
    bool open;
    ncclComm_t comm; /* NULL: no message yet */
    cudaStream_t stream;
    struct work work;
} group;

static void exchange_team(void *arg)
{
    const struct work *w = arg;

    team_exchange(w->team, w->rank, &w->call, &w->messages);
}

static void exchange(void *arg)
{
    const struct work *w = arg;
    const struct team_messages *m = &w->messages;

    for (int r = 0; r < team_world(w->team); r++) {
        for (int i = 0; i < m->nsrc[r]; i++)
            emulator_expect_memory(m->src[r][i], w->bytes, "sent by NCCL");
        for (int i = 0; i < m->ndst[r]; i++)
            emulator_expect_memory(m->dst[r][i], w->bytes, "received by NCCL");
    }
    emulator_unlocked(exchange_team, arg);
}

/* nccl.h declares them without a prototype. */
ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);

EXPORT ncclResult_t ncclGroupStart(void)
{
    if (group.open)
        return refuse(ncclInvalidUsage, "a group within a group is not emulated");
    group.open = true;
    group.comm = NULL;
    return ncclSuccess;
}

/* Returns the group's messages, or NULL if this one does not belong to it. */
static struct team_messages *messages(size_t n, ncclDataType_t type, int peer,
                                      ncclComm_t c, cudaStream_t s)
{
    if (!group.open || peer < 0 || peer >= team_world(c->team))
        return NULL;
    if (!group.comm) {
        fill(&group.work, c, "Exchange", n, type, ncclSum, 0);
        group.comm = c;
        group.stream = s;
    }
    return group.comm == c && group.stream == s && group.work.call.count == n &&
                   group.work.call.type == type
               ? &group.work.messages
               : NULL;
}

EXPORT ncclResult_t ncclSend(const void *src, size_t n, ncclDataType_t type, int peer,
                             ncclComm_t c, cudaStream_t s)
{
    struct team_messages *m = messages(n, type, peer, c, s);

    if (!m || m->nsrc[peer] == TEAM_MESSAGES)
        return refuse(ncclInvalidUsage, "only groups of equal messages are emulated");
    m->src[peer][m->nsrc[peer]++] = src;
    return ncclSuccess;
}

EXPORT ncclResult_t ncclRecv(void *dst, size_t n, ncclDataType_t type, int peer,
                             ncclComm_t c, cudaStream_t s)
{
    struct team_messages *m = messages(n, type, peer, c, s);

    if (!m || m->ndst[peer] == TEAM_MESSAGES)
        return refuse(ncclInvalidUsage, "only groups of equal messages are emulated");
    m->dst[peer][m->ndst[peer]++] = dst;
    return ncclSuccess;
}

EXPORT ncclResult_t ncclGroupEnd(void)
{
    if (!group.open)
        return refuse(ncclInvalidUsage, "no group was started");
    group.open = false;
    if (emulator_fails("nccl"))
        return refuse(ncclUnhandledCudaError, "a launch failed on purpose");
    if (!group.comm)
        return ncclSuccess;
    return emulator_enqueue(group.stream, "Exchange", exchange, &group.work,
                            sizeof(group.work))
               ? refuse(ncclUnhandledCudaError, "")
               : ncclSuccess;
}
