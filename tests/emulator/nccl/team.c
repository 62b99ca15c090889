#include "tests/emulator/nccl/team.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PIECE = 1 << 16 }; /* bytes per rank reduced at once */

__extension__ typedef _Float16 fp16;

/* Memory shared by all ranks of a communicator. */
struct team {
    pthread_mutex_t lock;
    pthread_cond_t all_there;
    int world, waiting, meeting; /* ranks; ranks at the barrier; barriers passed */
    bool files;                  /* shared by processes through files */
    struct {
        int color;
        char path[128];
        struct team *made;
    } split[TEAM_MAX];
    struct team_call call;
    char gpu[TEAM_MAX][32];
    _Alignas(16) char data[TEAM_MAX][PIECE];
};

static __attribute__((noreturn)) void fail(const char *text)
{
    (void)fprintf(stderr, "emulated NCCL: %s\n", text);
    abort();
}

static struct team *map(int fd)
{
    struct team *t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE,
                          MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);

    if (t == MAP_FAILED)
        fail("no shared memory");
    if (fd >= 0)
        (void)close(fd);
    return t;
}

struct team *team_make(int world, const char *path)
{
    int fd = path ? open(path, O_RDWR | O_CREAT | O_EXCL, 0600) : -1;
    pthread_mutexattr_t m;
    pthread_condattr_t c;
    struct team *t;

    if (path && (fd < 0 || ftruncate(fd, sizeof(*t))))
        fail("no file for shared memory");
    t = map(fd);
    (void)pthread_mutexattr_init(&m);
    (void)pthread_mutexattr_setpshared(&m, PTHREAD_PROCESS_SHARED);
    (void)pthread_mutex_init(&t->lock, &m);
    (void)pthread_condattr_init(&c);
    (void)pthread_condattr_setpshared(&c, PTHREAD_PROCESS_SHARED);
    (void)pthread_cond_init(&t->all_there, &c);
    t->world = world;
    t->files = path != NULL;
    return t;
}

struct team *team_join(const char *path)
{
    int fd = open(path, O_RDWR);

    if (fd < 0)
        fail("the first rank's file is not there");
    return map(fd);
}

void team_leave(struct team *t)
{
    (void)munmap(t, sizeof(*t));
}

int team_world(const struct team *t)
{
    return t->world;
}

bool team_place(struct team *t, int rank, const char *gpu)
{
    bool free_ = true;

    (void)pthread_mutex_lock(&t->lock);
    for (int i = 0; i < t->world; i++)
        free_ = free_ && strcmp(t->gpu[i], gpu) != 0;
    (void)snprintf(t->gpu[rank], sizeof(t->gpu[rank]), "%s", gpu);
    (void)pthread_mutex_unlock(&t->lock);
    return free_;
}

void team_meet(struct team *t)
{
    int meeting;

    (void)pthread_mutex_lock(&t->lock);
    meeting = t->meeting;
    if (++t->waiting == t->world) {
        t->waiting = 0;
        t->meeting++;
        (void)pthread_cond_broadcast(&t->all_there);
    }
    while (t->meeting == meeting)
        (void)pthread_cond_wait(&t->all_there, &t->lock);
    (void)pthread_mutex_unlock(&t->lock);
}

struct team *team_split(struct team *t, int rank, int color, const char *path,
                        int *number)
{
    int first = TEAM_MAX, world = 0;
    struct team *part;

    t->split[rank].color = color;
    team_meet(t);
    *number = 0;
    for (int i = 0; i < t->world; i++) {
        if (t->split[i].color != color)
            continue;
        first = i < first ? i : first;
        *number += i < rank;
        world++;
    }
    if (rank == first) {
        (void)snprintf(t->split[rank].path, sizeof(t->split[rank].path), "%s", path);
        t->split[rank].made = team_make(world, t->files ? path : NULL);
    }
    team_meet(t);
    part = rank == first || !t->files ? t->split[first].made
                                      : team_join(t->split[first].path);
    team_meet(t);
    if (rank == first && t->files)
        (void)unlink(path);
    return part;
}

/* ---- reduction ---- */

static float of_bits(uint32_t bits)
{
    float v;

    memcpy(&v, &bits, sizeof(v));
    return v;
}

static uint32_t bits_of(float v)
{
    uint32_t bits;

    memcpy(&bits, &v, sizeof(bits));
    return bits;
}

static double load(const void *src, size_t i, ncclDataType_t type)
{
    switch (type) {
    case ncclFloat32:
        return ((const float *)src)[i];
    case ncclFloat16:
        return (double)((const fp16 *)src)[i];
    case ncclBfloat16:
        return (double)of_bits((uint32_t)((const uint16_t *)src)[i] << 16);
    case ncclFloat64:
        return ((const double *)src)[i];
    default:
        fail("a type that is not emulated");
    }
}

static void store(void *dst, size_t i, ncclDataType_t type, double v)
{
    uint32_t bits = bits_of((float)v);

    switch (type) {
    case ncclFloat32:
        ((float *)dst)[i] = (float)v;
        break;
    case ncclFloat16:
        ((fp16 *)dst)[i] = (fp16)v;
        break;
    case ncclBfloat16:
        ((uint16_t *)dst)[i] =
            (uint16_t)(v != v ? 0x7fc0 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
        break;
    default:
        ((double *)dst)[i] = v;
    }
}

static size_t size_of(ncclDataType_t type)
{
    return type == ncclFloat64 || type == ncclInt64      ? 8
           : type == ncclFloat32                         ? 4
           : type == ncclFloat16 || type == ncclBfloat16 ? 2
                                                         : 1;
}

/* Returns element i of a rank; for ncclAvg divided by the world size and rounded to the
 * type, because NCCL scales before it adds. */
static double given(const struct team *t, int rank, const struct team_call *c, size_t i,
                    void *scratch)
{
    double v = load(t->data[rank], i, c->type);

    if (c->op != ncclAvg)
        return v;
    store(scratch, i, c->type, v / t->world);
    return load(scratch, i, c->type);
}

/* Reduces rank after rank, rounding to the type after each. */
static void reduce_floats(const struct team *t, const struct team_call *c, size_t n,
                          void *dst)
{
    for (size_t i = 0; i < n; i++) {
        double v = given(t, 0, c, i, dst);

        for (int r = 1; r < t->world; r++) {
            double other = given(t, r, c, i, dst);

            if (c->op == ncclMax)
                v = other > v || other != other ? other : v;
            else
                v += other;
            store(dst, i, c->type, v);
            v = load(dst, i, c->type);
        }
        store(dst, i, c->type, v);
    }
}

static void reduce_integers(const struct team *t, const struct team_call *c, size_t n,
                            void *dst)
{
    for (size_t i = 0; i < n; i++) {
        int64_t v = ((const int64_t *)t->data[0])[i];

        for (int r = 1; r < t->world; r++) {
            int64_t other = ((const int64_t *)t->data[r])[i];

            v = c->op == ncclMax ? (other > v ? other : v) : v + other;
        }
        ((int64_t *)dst)[i] = v;
    }
}

/* Aborts unless all ranks make the same call. */
static void agree(struct team *t, const struct team_call *call)
{
    const struct team_call *c = &t->call;
    char text[200];

    (void)pthread_mutex_lock(&t->lock);
    if (!*c->name)
        t->call = *call;
    else if (memcmp(c, call, sizeof(*c)) != 0) {
        (void)snprintf(text, sizeof(text),
                       "one rank calls %s of %zu elements of type %d, another %s of %zu "
                       "of type %d",
                       c->name, c->count, (int)c->type, call->name, call->count,
                       (int)call->type);
        fail(text);
    }
    (void)pthread_mutex_unlock(&t->lock);
    team_meet(t);
    (void)pthread_mutex_lock(&t->lock);
    /* cleared by all ranks before the next meeting */
    memset(&t->call, 0, sizeof(t->call));
    (void)pthread_mutex_unlock(&t->lock);
}

static void piece(struct team *t, int rank, const struct team_call *c, size_t n,
                  const char *src, char *dst)
{
    size_t size = size_of(c->type);
    bool broadcast = !strcmp(c->name, "Broadcast");

    if (!broadcast || rank == c->root)
        memcpy(t->data[rank], src, n * size);
    team_meet(t);
    if (!strcmp(c->name, "Reduce") && rank != c->root)
        ; /* its buffer keeps its input */
    else if (broadcast)
        memcpy(dst, t->data[c->root], n * size);
    else if (c->type == ncclInt64)
        reduce_integers(t, c, n, dst);
    else
        reduce_floats(t, c, n, dst);
    team_meet(t);
}

void team_run(struct team *t, int rank, const struct team_call *call, const void *src,
              void *dst)
{
    size_t size = size_of(call->type), each = PIECE / size;

    agree(t, call);
    team_meet(t);
    for (size_t pos = 0; pos < call->count; pos += each) {
        size_t n = call->count - pos < each ? call->count - pos : each;

        piece(t, rank, call, n, (const char *)src + pos * size, (char *)dst + pos * size);
    }
}

static int messages_of(const struct team *t, const struct team_messages *m)
{
    for (int r = 0; r < t->world; r++)
        if (m->nsrc[r] != m->nsrc[0] || m->ndst[r] != m->nsrc[0])
            fail("a group call that is no exchange between all ranks is not emulated");
    return m->nsrc[0];
}

void team_exchange(struct team *t, int rank, const struct team_call *call,
                   const struct team_messages *m)
{
    size_t bytes = call->count * size_of(call->type);
    int n = messages_of(t, m);
    struct team_call all = *call;

    all.root = n; /* as many for all ranks */
    agree(t, &all);
    team_meet(t);
    for (int i = 0; i < n * t->world; i++)
        for (size_t pos = 0; pos < bytes; pos += PIECE) {
            size_t len = bytes - pos < PIECE ? bytes - pos : PIECE;
            int peer = i / n;

            memcpy(t->data[rank], (const char *)m->src[peer][i % n] + pos, len);
            team_meet(t);
            for (int r = 0; r < t->world && rank == peer; r++)
                memcpy((char *)m->dst[r][i % n] + pos, t->data[r], len);
            team_meet(t);
        }
}
